"""Shell completion: runs, presets, checkpoints and languages.

It reads folders and small files, never a model, so that the tab key answers at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from polyglot.core import presets
from polyglot.core.errors import PolyglotError
from polyglot.core.yaml import read_yaml
from polyglot.runs.detection import is_run
from polyglot.runs.steps import steps

YAML_SUFFIXES = (".yaml", ".yml")
RUN_PARAMETERS = ("run", "paths", "arguments")
"""Names of the command arguments that hold runs."""

Complete = Callable[[str], list[str]]


def runs(incomplete: str) -> list[str]:
    """Complete run directories, and folders that contain some."""
    return _matching(incomplete, _run_directories(incomplete))


def configurations(incomplete: str) -> list[str]:
    """Complete preset configurations, YAML files, and runs (for `--resume`)."""
    candidates = [
        *presets.names("configs"),
        *_yaml_files(incomplete),
        *_run_directories(incomplete),
    ]
    return _matching(incomplete, candidates)


def presets_of(category: str) -> Complete:
    """Return a function that completes the presets of a category, and YAML files."""

    def complete(incomplete: str) -> list[str]:
        return _matching(incomplete, [*presets.names(category), *_yaml_files(incomplete)])

    return complete


def choices(values: Sequence[str]) -> Complete:
    """Return a function that completes the values of an option."""

    def complete(incomplete: str) -> list[str]:
        return _matching(incomplete, values)

    return complete


def showable(incomplete: str) -> list[str]:
    """Complete the argument of `show`: presets, YAML files and runs."""
    names = []
    qualified_names = []
    for category in presets.CATEGORIES:
        for name in presets.names(category):
            names.append(name)
            qualified_names.append(f"{category}/{name}")

    candidates = list(names)
    if "/" in incomplete:
        candidates += qualified_names
    candidates += _yaml_files(incomplete)
    candidates += _run_directories(incomplete)
    return _matching(incomplete, candidates)


def checkpoints(context: typer.Context, incomplete: str) -> list[str]:
    """Complete checkpoints of the first run on the command line: `best`, `last`, its steps."""
    run_steps = steps(_first_run(context) / "checkpoints")
    keep = _setting(context, "training", "checkpoint", "keep")
    candidates = ["best", "last", *map(str, run_steps)]
    if isinstance(keep, int):
        # An older checkpoint may be there because it is the best; it is not averaged.
        newest = run_steps[-keep:]
        if newest:
            candidates.append(f"average:{len(newest)}")
    return _matching(incomplete, candidates)


def languages(context: typer.Context, incomplete: str) -> list[str]:
    """Complete the languages of the first run on the command line."""
    names = _setting(context, "languages")
    if not isinstance(names, list):
        return []
    return _matching(incomplete, map(str, names))


def devices(incomplete: str) -> list[str]:
    """Complete the kinds of devices. To count them, PyTorch would have to load for seconds."""
    return _matching(incomplete, ["cpu", "cuda", "mps"])


def _first_run(context: typer.Context) -> Path:
    """First run on the command line.

    If an option still lacks its value, the arguments have no names yet.
    """
    for name in RUN_PARAMETERS:
        value = context.params.get(name)
        if isinstance(value, (str, Path)):
            return Path(value)
        if value:
            return Path(value[0])
    if context.args:
        return Path(context.args[0])
    return Path()


def _setting(context: typer.Context, *keys: str) -> Any:
    """Read a setting of the first run on the command line; None without a run or a setting."""
    try:
        value = read_yaml(_first_run(context) / "config.yaml")
    except PolyglotError:  # not a run; the command itself will report it
        return None
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def _run_directories(incomplete: str) -> Iterator[str]:
    for folder in _entries(incomplete):
        if is_run(folder):
            yield str(folder)
            continue
        runs_inside = [path.parent for path in sorted(folder.glob("*/config.yaml"))]
        if runs_inside:
            yield f"{folder}/"
            yield from map(str, runs_inside)


def _yaml_files(incomplete: str) -> Iterator[str]:
    """YAML files, and folders that contain some."""
    for path in _entries(incomplete):
        if path.is_dir() and not is_run(path) and _contains_yaml(path):
            yield f"{path}/"
        elif path.suffix in YAML_SUFFIXES:
            yield str(path)


def _contains_yaml(folder: Path) -> bool:
    return any(path.suffix in YAML_SUFFIXES for path in _entries(f"{folder}/"))


def _entries(incomplete: str) -> list[Path]:
    """Visible entries of the folder in an incomplete path; none if it cannot be read."""
    folder = Path(incomplete)
    if not incomplete.endswith("/"):
        folder = folder.parent
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError:
        return []


def _matching(incomplete: str, candidates: Iterable[str]) -> list[str]:
    """Different candidates that begin with the incomplete word, in their order."""
    matches = [candidate for candidate in candidates if candidate.startswith(incomplete)]
    return list(dict.fromkeys(matches))
