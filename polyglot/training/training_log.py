"""What a run says while it trains: lines for people, `log.jsonl` for plots, a progress bar, trackers."""

from __future__ import annotations

import json
import logging
import math
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from polyglot.core.atomic_files import replace_file
from polyglot.core.console import stderr_console
from polyglot.core.errors import CheckpointError, ConfigError

logger = logging.getLogger("polyglot")


class LogWindow:
    """Sums since the last line of the log, by task."""

    def __init__(self, seconds: float) -> None:
        """seconds: of training until here."""
        self.started = seconds
        self.steps = 0
        self.tokens: defaultdict[str, int] = defaultdict(int)
        self.losses: defaultdict[str, defaultdict[str, float]] = defaultdict(
            lambda: defaultdict(float)
        )

    def add(self, task: str, losses: Mapping[str, float], tokens: int) -> None:
        """One batch; losses are means per target token."""
        self.tokens[task] += tokens
        for name, value in losses.items():
            self.losses[task][name] += value * tokens

    def summary(self, seconds: float) -> dict[str, Any]:
        """Mean losses by task, tokens, and what was done in a second of training; what else took time does not count."""
        tasks = {
            task: {
                "tokens": tokens,
                **{name: value / tokens for name, value in self.losses[task].items()},
            }
            for task, tokens in sorted(self.tokens.items())
        }
        total, spent = sum(self.tokens.values()), seconds - self.started
        mean = sum(self.losses[task]["translation"] for task in self.tokens) / max(total, 1)
        return {
            "loss": mean,
            "tokens_per_second": total / spent,
            "steps_per_second": self.steps / spent,
            "tasks": tasks,
        }


def start_trackers(accelerator: Accelerator) -> None:
    """Those that it was made with; the log sends them its numbers. Raises ConfigError where one cannot be started, as without an
    account."""
    try:
        accelerator.init_trackers("polyglot", init_kwargs={})
    except Exception as error:  # noqa: BLE001 - trackers fail in as many ways as they have authors
        names, reason = (
            ", ".join(map(str, accelerator.log_with)),
            str(error).strip() or type(error).__name__,
        )
        what_to_do = "set it up as its own documentation says, or leave it out"
        raise ConfigError(
            f"training.trackers: {names} cannot be started: {reason.splitlines()[0]}; {what_to_do}"
        ) from None


class TrainingLog(AbstractContextManager):
    """Everything a run says, also to trackers that were started. Only the main process speaks."""

    def __init__(
        self, path: Path, *, accelerator: Accelerator, steps: int, start: int, seconds: float
    ) -> None:
        """start, seconds: steps done and time spent training before."""
        self.path, self.accelerator, self.speaks = path, accelerator, accelerator.is_main_process
        name, state = TextColumn("[bold]{task.description}"), TextColumn("{task.fields[state]}")
        columns = name, BarColumn(), MofNCompleteColumn(), state, TimeRemainingColumn()
        self.bar = Progress(
            *columns, console=stderr_console, transient=True, disable=not (self.speaks and stderr_console.is_terminal)
        )
        self.row = self.bar.add_task("training", total=steps, completed=start, state="")
        self.window = LogWindow(seconds)
        if self.speaks:
            _drop_lines_after(path, start)

    def __enter__(self) -> TrainingLog:
        self.bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.bar.stop()
        for tracker in self.accelerator.trackers:
            tracker.finish()

    def advance(self, step: int) -> None:
        self.window.steps += 1
        self.bar.update(self.row, completed=step)

    def training(self, step: int, *, seconds: float, **values: Any) -> None:
        """One line about the window since the last, which starts anew; seconds: of training, over all starts."""
        summary = {**self.window.summary(seconds), **values, "seconds": round(seconds, 2)}
        self.window = LogWindow(seconds)
        tasks = " ".join(
            f"{name} {each['translation']:.2f}" for name, each in summary["tasks"].items()
        )
        speed = f"{summary['tokens_per_second']:,.0f} tokens/s"
        self.bar.update(
            self.row,
            state=f"{speed} · {tasks if len(summary['tasks']) <= 8 else 'loss ' + format(summary['loss'], '.3f')}",
        )
        self.write(
            f"step {step} · loss {summary['loss']:.3f} · {speed} · {tasks}",
            step=step,
            kind="training",
            **summary,
        )

    def write(self, line: str, *, step: int, kind: str, **values: Any) -> None:
        """A line for people, its values for `log.jsonl` and the trackers."""
        if not self.speaks:
            return
        logger.info(line)
        record = {"kind": kind, "step": step, "time": round(time.time(), 3), **_or_null(values)}
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record, allow_nan=False) + "\n")
        except OSError as error:
            raise CheckpointError(
                f"{self.path}: the log cannot be written: {error.strerror}"
            ) from None
        self.accelerator.log({f"{kind}/{name}": value for name, value in _flat(values)}, step=step)


def _or_null(value: Any) -> Any:
    """Nested values, with null for what is no finite number: JSON knows no other way to say so."""
    if isinstance(value, Mapping):
        return {name: _or_null(each) for name, each in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, float]]:
    """Nested numbers with their paths, which is what trackers take."""
    pairs: list[tuple[str, float]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            pairs += _flat(value, f"{prefix}{name}/")
        elif isinstance(value, (int, float)):
            pairs.append((f"{prefix}{name}", float(value)))
    return pairs


def _drop_lines_after(path: Path, step: int) -> None:
    """After a resume the steps beyond the checkpoint are trained again: their old lines would stand there twice."""
    if not path.is_file():
        return
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise CheckpointError(f"{path}: the log cannot be read: {error.strerror}") from None
    kept = [line for line in lines if (own := _step_of(line)) is not None and own <= step]
    if len(kept) < len(lines):
        replace_file(path, "".join(f"{line}\n" for line in kept))


def _step_of(line: str) -> int | None:
    """None for a line that was cut off."""
    try:
        return json.loads(line)["step"]
    except (ValueError, KeyError, TypeError):
        return None
