"""Training log: lines for the terminal, `log.jsonl` for plots, a progress bar, and trackers."""

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

from polyglot.core.atomic_files import append, replace_file
from polyglot.core.console import stderr_console
from polyglot.core.errors import CheckpointError, ConfigError
from polyglot.core.stored_json import parse_json
from polyglot.training.back_translation import Generation

logger = logging.getLogger("polyglot")

LISTED_TASKS = 8
"""With more tasks than this, the progress bar shows only the mean loss."""


class LogWindow:
    """Sums of losses and tokens since the last line of the log, by task."""

    def __init__(self, seconds: float, *, processes: int = 1) -> None:
        """seconds: training time until the window begins. processes: number that train."""
        self.started = seconds
        self.processes = processes
        self.generation = Generation()
        self.steps = 0
        self.tokens: defaultdict[str, int] = defaultdict(int)
        self.losses: dict[str, defaultdict[str, float]] = {}

    def add(self, task: str, losses: Mapping[str, float], tokens: int) -> None:
        """Add one batch; losses are means per target token."""
        self.tokens[task] += tokens
        sums = self.losses.setdefault(task, defaultdict(float))
        for name, value in losses.items():
            sums[name] += value * tokens

    def add_generation(self, generation: Generation) -> None:
        """Add the cost of the generated source of one batch."""
        self.generation += generation

    def summary(self, seconds: float) -> dict[str, Any]:
        """Mean losses, tokens and speed of the window. seconds: training time until now."""
        total_tokens = sum(self.tokens.values())
        elapsed = seconds - self.started
        translation_sum = sum(self.losses[task]["translation"] for task in self.tokens)

        tasks = {}
        for task, tokens in sorted(self.tokens.items()):
            tasks[task] = {"tokens": tokens}
            for name, loss_sum in self.losses[task].items():
                tasks[task][name] = loss_sum / tokens

        summary = {
            "loss": translation_sum / max(total_tokens, 1),
            "tokens_per_second": total_tokens / elapsed,
            "steps_per_second": self.steps / elapsed,
            "tasks": tasks,
        }
        if self.generation.tokens:
            summary["back_translation"] = {
                "time_share": self.generation.seconds / (elapsed * self.processes),
                "tokens_per_second": self.generation.tokens / self.generation.seconds,
            }
        return summary


class RemainingTime:
    """Estimate of the time until the last step, from the wall clock; does not wait for the device.

    A step is expected to take as long as the steps of the current window. The time of validations
    and checkpoints since this start of the run is divided evenly over its steps, and added.
    """

    def __init__(self, *, steps: int, start: int, seconds: float) -> None:
        """start, seconds: steps and training time before this start of the run."""
        self._steps = steps
        self._first_step = start
        self._first_seconds = seconds
        self._started = time.perf_counter()

    def estimate(self, step: int, *, seconds: float, steps_per_second: float) -> float:
        """Return the remaining seconds after a step. seconds: training time until now."""
        elapsed = time.perf_counter() - self._started
        other_time = max(0.0, elapsed - (seconds - self._first_seconds))
        per_step = 1 / steps_per_second + other_time / (step - self._first_step)
        return (self._steps - step) * per_step


def format_duration(seconds: float) -> str:
    """Write a duration as `1:02:03`; with days as `2 d 1:02:03`."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    clock = f"{hour}:{minute:02}:{second:02}"
    if days:
        return f"{days} d {clock}"
    return clock


def start_trackers(accelerator: Accelerator) -> None:
    """Start the trackers of the accelerator, to which the log sends its numbers.

    Raises ConfigError for a tracker that cannot be started, for example without an account.
    """
    try:
        accelerator.init_trackers("polyglot", init_kwargs={})
    except Exception as error:  # noqa: BLE001 - each tracker has its own exceptions
        names = ", ".join(str(tracker) for tracker in accelerator.log_with)
        reason = str(error).strip() or type(error).__name__
        raise ConfigError(
            f"training.trackers: {names} cannot be started: {reason.splitlines()[0]}; "
            "set it up as its documentation says, or remove it from the list"
        ) from None


class TrainingLog(AbstractContextManager):
    """Log of a training run; only the main process writes."""

    def __init__(
        self,
        path: Path,
        *,
        accelerator: Accelerator,
        steps: int,
        start: int,
        seconds: float,
    ) -> None:
        """start, seconds: steps and training time before this start of the run."""
        self.path = path
        self.accelerator = accelerator
        self.is_main = accelerator.is_main_process
        self.window = LogWindow(seconds, processes=accelerator.num_processes)
        self.remaining = RemainingTime(steps=steps, start=start, seconds=seconds)
        self.bar = Progress(
            TextColumn("{task.description}", style="bold", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            TimeRemainingColumn(),
            console=stderr_console,
            transient=True,
            disable=not (self.is_main and stderr_console.is_terminal),
        )
        self.bar_row = self.bar.add_task("training", total=steps, completed=start, state="")
        if self.is_main:
            _remove_lines_after(path, start)

    def __enter__(self) -> TrainingLog:
        self.bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.bar.stop()
        for tracker in self.accelerator.trackers:
            tracker.finish()

    def advance(self, step: int) -> None:
        """Move the progress bar to this step."""
        self.window.steps += 1
        self.bar.update(self.bar_row, completed=step)

    def write_training(self, step: int, *, seconds: float, **values: Any) -> None:
        """Write a line about the window, and begin a new window.

        seconds: training time over all starts of the run. values: further numbers for `log.jsonl`.
        """
        summary = self.window.summary(seconds)
        summary.update(values)
        summary["seconds"] = round(seconds, 2)
        remaining = self.remaining.estimate(
            step,
            seconds=seconds,
            steps_per_second=summary["steps_per_second"],
        )
        summary["remaining_seconds"] = round(remaining, 1)
        self.window = LogWindow(seconds, processes=self.window.processes)

        losses = []
        for name, task in summary["tasks"].items():
            loss = task["translation"]
            losses.append(f"{name} {loss:.2f}")
        task_losses = " ".join(losses)
        mean_loss = f"loss {summary['loss']:.3f}"
        speed = f"{summary['tokens_per_second']:,.0f} tokens/s"

        shown = task_losses if len(losses) <= LISTED_TASKS else mean_loss
        cost = _back_translation_cost(summary)
        self.bar.update(self.bar_row, state=" · ".join([speed, *cost, shown]))
        parts = [f"step {step}", mean_loss, speed, *cost]
        if remaining:
            parts.append(f"{format_duration(remaining)} left")
        parts.append(task_losses)
        self.write(
            " · ".join(parts),
            step=step,
            kind="training",
            **summary,
        )

    def write_validation(
        self,
        step: int,
        *,
        by: str,
        value: float,
        is_best: bool,
        losses: Mapping[str, float],
        bleu: Mapping[str, float],
    ) -> None:
        """Write a line about a validation. by, value: metric of the best checkpoint, its value."""
        line = f"step {step} · validation · {by} {value:.3f}"
        if is_best:
            line += " (best so far)"
        if bleu:
            line += " · BLEU"
            for pair, score in bleu.items():
                line += f" {pair} {score:.1f}"

        self.write(
            line,
            step=step,
            kind="validation",
            value=value,
            by=by,
            best=is_best,
            losses=dict(losses),
            bleu=dict(bleu),
        )

    def write(self, line: str, *, step: int, kind: str, **values: Any) -> None:
        """Write a line for the terminal; write its values to `log.jsonl` and to the trackers."""
        if not self.is_main:
            return
        logger.info(line)

        record = {
            "kind": kind,
            "step": step,
            "time": round(time.time(), 3),
            **_replace_not_finite(values),
        }
        try:
            append(self.path, json.dumps(record, allow_nan=False).encode() + b"\n")
        except OSError as error:
            raise CheckpointError(
                f"{self.path}: the log cannot be written: {error.strerror}"
            ) from None

        self.accelerator.log(_flatten(values, prefix=f"{kind}/"), step=step)


def _back_translation_cost(summary: Mapping[str, Any]) -> list[str]:
    """Share of the time and speed of back-translation, in words; empty without any."""
    generation = summary.get("back_translation")
    if generation is None:
        return []
    share = f"{generation['time_share']:.0%}"
    speed = f"{generation['tokens_per_second']:,.0f} tokens/s"
    return [f"back-translation {share} of the time, {speed}"]


def _replace_not_finite(value: Any) -> Any:
    """Replace NaN and infinity in nested values by None, since JSON has neither."""
    if isinstance(value, Mapping):
        return {name: _replace_not_finite(item) for name, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Numbers of nested values by their path, `tasks/de-en/tokens`, as trackers need them."""
    numbers: dict[str, float] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            numbers.update(_flatten(value, f"{prefix}{name}/"))
        elif isinstance(value, (int, float)):
            numbers[f"{prefix}{name}"] = float(value)
    return numbers


def _remove_lines_after(path: Path, step: int) -> None:
    """Remove the lines of later steps, which a resumed run trains and logs again."""
    if not path.is_file():
        return
    try:
        # Damaged lines, also invalid UTF-8, have no step and are removed.
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise CheckpointError(f"{path}: the log cannot be read: {error.strerror}") from None

    kept = []
    for line in lines:
        line_step = _step_of(line)
        if line_step is not None and line_step <= step:
            kept.append(line)
    if len(kept) < len(lines):
        lines_with_ends = [f"{line}\n" for line in kept]
        replace_file(path, "".join(lines_with_ends))


def _step_of(line: str) -> int | None:
    """Step of a line of `log.jsonl`; None for an incomplete line."""
    try:
        step = parse_json(line)["step"]
    except (ValueError, KeyError, TypeError):
        return None
    return step if isinstance(step, int) else None
