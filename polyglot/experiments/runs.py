"""Runs of an experiment: their configurations, their folders, and whether they are complete."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyglot.config.loading import load_config
from polyglot.config.schema import Config
from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import ConfigError, PolyglotError, abbreviate
from polyglot.core.stored_json import parse_json, read_json
from polyglot.experiments.config import Experiment, slug
from polyglot.experiments.settings import SystemConfig
from polyglot.runs.checkpoint import steps
from polyglot.runs.detection import is_run
from polyglot.runs.run import Run
from polyglot.tasks.named_pairs import CENTER
from polyglot.tasks.pairs import LanguagePair

LOG_TAIL = 1 << 18  # bytes; the end of a log, with at least one line about training
COMPLETE = ".complete"
"""File in a run whose training reached its last step, or stopped early as configured."""
LARGEST_RECORD = 1 << 16
"""Bytes of this file that are read at most."""


@dataclass(frozen=True)
class ExperimentRun:
    """Run directory of an experiment, and the settings of its training."""

    system: str
    """name of its system"""
    name: str
    """name of its folders"""
    path: Path
    seed: int | str
    """seed, or path of an existing run; runs of a system with equal seeds share a matrix"""
    config: Config | None = None
    """configuration of the training; None for an existing run"""
    arguments: Sequence[str] = ()
    """arguments of `polyglot train`"""

    @property
    def initialized_from(self) -> set[Path]:
        """Runs that must be complete before this one can be trained."""
        if self.config is None:
            return set()
        return {Path(initial.run) for initial in self.config.initialize.values()}

    @property
    def training_config(self) -> Config:
        """Configuration of the training, also of an existing run."""
        return self.config or Run.open(self.path).config

    @property
    def is_started(self) -> bool:
        return is_run(self.path)

    @property
    def is_complete(self) -> bool:
        """True if no training is necessary.

        Raise ConfigError for a run that was started with other settings.
        """
        if self.config is None:
            return True
        if self.is_started:
            self._check_settings(Run.open(self.path).config)
        last_step = _last_step(self.path)
        if last_step is None:
            return False
        return _completed_step(self.path, last_step=last_step) == last_step

    def _check_settings(self, started: Config) -> None:
        """Raise ConfigError if the run was started with other settings."""
        old = _comparable_settings(started)
        new = _comparable_settings(self.config)
        if old == new:
            return
        changes = []
        for key in old | new:
            old_value = old.get(key, "missing")
            new_value = new.get(key, "missing")
            if old_value != new_value:
                changes.append(f"{key}: {old_value} in the run, {new_value} in the experiment")
        raise ConfigError(
            f"{self.path}: was started with other settings than the experiment has now "
            f"({abbreviate(changes, shown=3)}); restore the old settings, or name another "
            "--folder; `systems.NAME.run` uses an existing run"
        )

    def mark_complete(self) -> None:
        """Record that the training is complete."""
        record = json.dumps({"step": _last_step(self.path)})
        replace_file(self.path / COMPLETE, f"{record}\n")


def _comparable_settings(config: Config) -> dict[str, str]:
    """All settings by key, with the name of the central language in the pairs of the schedule.

    If the length of a run is given in epochs, its number of steps is not compared. Runs of older
    versions store `en-*`, where the same schedule now has `{center}-*`.
    """
    settings = dict(flatten_settings(config.model_dump(mode="json")))
    if config.training.epochs is not None:
        settings.pop("training.steps")
    for key, value in settings.items():
        if key.startswith("schedule."):
            settings[key] = value.replace(CENTER, config.schedule.center)
    return settings


def experiment_runs(experiment: Experiment, folder: Path) -> list[ExperimentRun]:
    """Return every run of an experiment at one size, in the order of its systems.

    Raise ConfigError with the problems of all configurations and of all existing runs.
    """
    runs: list[ExperimentRun] = []
    problems: list[str] = []
    systems_by_problem: dict[str, dict[str, None]] = {}  # several systems can have one problem
    for name, system in experiment.systems.items():
        for run in _existing_runs(name, system):
            runs.append(run)
            try:
                Run.open(run.path)
            except PolyglotError as error:
                problems.append(f"systems.{name}.run: {error}")

        for seed, pair in _planned_trainings(system, experiment.seeds):
            try:
                run = _run_to_train(
                    name,
                    system,
                    seed=seed,
                    pair=pair,
                    folder=folder,
                )
            except PolyglotError as error:
                systems_by_problem.setdefault(str(error), {})[name] = None
                continue
            runs.append(run)
            problems += _problems_of_pair(run, pair)

    for problem, names in systems_by_problem.items():
        problems.append(f"systems.{abbreviate(names)}: {problem}")
    if problems:
        raise ConfigError(problems, where=experiment.source)
    return runs


def _existing_runs(name: str, system: SystemConfig) -> Iterator[ExperimentRun]:
    folder_names = [Path(path).resolve().name for path in system.run]
    for number, path in enumerate(system.run, start=1):
        folder_name = folder_names[number - 1]
        if folder_names.count(folder_name) > 1:  # each needs its own folder for its evaluation
            folder_name = f"{folder_name}-{number}"
        yield ExperimentRun(name, f"{slug(name)}-{folder_name}", Path(path), path)


def _planned_trainings(
    system: SystemConfig,
    default_seeds: Sequence[int],
) -> Iterator[tuple[int, LanguagePair | None]]:
    """Yield the seed of each run to train, with its pair if each pair has a separate model."""
    if not system.is_trained:
        return
    pairs = [LanguagePair.parse(pair) for pair in system.separately]
    for seed in system.seeds or default_seeds:
        for pair in pairs or [None]:
            yield seed, pair


def _run_to_train(
    name: str,
    system: SystemConfig,
    *,
    seed: int,
    pair: LanguagePair | None,
    folder: Path,
) -> ExperimentRun:
    folder_name = f"{slug(name)}-seed{seed}"
    if pair:
        folder_name = f"{slug(name)}-{pair}-seed{seed}"
    path = folder / "runs" / folder_name

    placeholders = {"SEED": str(seed), "RUNS": str(path.parent)}
    if pair:
        placeholders["SOURCE"] = pair.source
        placeholders["TARGET"] = pair.target
    settings = [fill_placeholders(setting, placeholders) for setting in system.set]
    settings += [f"seed={seed}", f"run={path}"]
    config = load_config(system.config, settings)
    return ExperimentRun(name, path.name, path, seed, config, [system.config, *settings])


def _problems_of_pair(run: ExperimentRun, pair: LanguagePair | None) -> list[str]:
    """Return a problem if the separate model of a pair trains other pairs."""
    trained = [trained_pair for trained_pair in run.config.pairs if not trained_pair.is_copy]
    if pair is None or trained == [pair]:
        return []
    return [
        f"systems.{run.system}.separately: {pair}: the model trains {abbreviate(trained)}; "
        "restrict it to the pair in `set`, for example with schedule.pairs=[SOURCE-TARGET]"
    ]


def fill_placeholders(setting: str, placeholders: Mapping[str, str]) -> str:
    """Replace whole words in capitals, such as the `SEED` of `seedSEED`, by their values.

    The `SOURCE` of `RESOURCES` stays, and so do placeholders within the values.
    """
    names = "|".join(placeholders)
    return re.sub(rf"(?<![A-Z])({names})(?![A-Z])", lambda match: placeholders[match[0]], setting)


def flatten_settings(values: Mapping[str, Any], *, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield every key with its path, `model.encoder.size`, and its value as JSON."""
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from flatten_settings(value, prefix=f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", json.dumps(value, ensure_ascii=False)


def _last_step(path: Path) -> int | None:
    """Step of the newest checkpoint of a run; None without checkpoints."""
    return next(reversed(steps(path / "checkpoints")), None)


def _completed_step(path: Path, *, last_step: int) -> int | None:
    """Last step of a complete training; None if the training is not complete.

    If the checkpoint of this step was removed, the training has to continue.

    last_step: step of the newest checkpoint, for a file that does not name the step.
    """
    try:
        record = read_json(path / COMPLETE, largest=LARGEST_RECORD)
    except OSError:
        return None
    except ValueError:  # older runs have an empty file
        return last_step
    step = record.get("step") if isinstance(record, dict) else None
    return step if type(step) is int else last_step


def last_training_record(path: Path) -> dict[str, float] | None:
    """Last line about training in the log of a run: step, loss, seconds, time; None without one."""
    log = path / "log.jsonl"
    if not log.is_file():
        return None
    with log.open("rb") as file:  # only the end: progress reads it every second
        file.seek(max(0, log.stat().st_size - LOG_TAIL))
        lines = file.read().decode(errors="replace").splitlines()
    for line in reversed(lines):
        if line.startswith('{"kind": "training"') and line.endswith("}"):
            try:
                return parse_json(line)
            except ValueError:  # damaged; the line before it is as good
                continue
    return None
