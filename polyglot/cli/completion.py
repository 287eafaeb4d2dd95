"""What the shell offers behind a verb: runs, shipped names, checkpoints, languages. Folders and small files are read, never a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import typer

from polyglot.core import presets
from polyglot.core.errors import PolyglotError
from polyglot.core.yaml import read_yaml
from polyglot.runs.steps import steps

Complete = Callable[[str], list[str]]


def runs(incomplete: str) -> list[str]:
    """Run directories below what is written so far, and the folders that lead to some."""
    return _beginning(incomplete, _runs(incomplete))


def configurations(incomplete: str) -> list[str]:
    """Shipped configurations, YAML files, and runs, which `--resume` continues."""
    return _beginning(
        incomplete,
        [*presets.names("configs"), *_files(incomplete, ".yaml", ".yml"), *_runs(incomplete)],
    )


def shipped_in(room: str) -> Complete:
    """What is shipped in a room, and YAML files."""
    return lambda incomplete: _beginning(
        incomplete, [*presets.names(room), *_files(incomplete, ".yaml", ".yml")]
    )


def shown(incomplete: str) -> list[str]:
    """All that `show` takes."""
    named = [f"{room}/{name}" for room in presets.CATEGORIES for name in presets.names(room)]
    plain = [name for room in presets.CATEGORIES for name in presets.names(room)]
    return _beginning(
        incomplete,
        [
            *plain,
            *(named if "/" in incomplete else ()),
            *_files(incomplete, ".yaml", ".yml"),
            *_runs(incomplete),
        ],
    )


def checkpoints(context: typer.Context, incomplete: str) -> list[str]:
    """`best`, `last`, and the steps of the run that is named before; of several the first."""
    there, keep = (
        steps(_run(context) / "checkpoints"),
        _setting(context, "training", "checkpoint", "keep"),
    )
    newest = (
        there[-keep:] if isinstance(keep, int) else []
    )  # what is there besides may be a best one of long ago
    return _beginning(
        incomplete,
        ["best", "last", *map(str, there), *([f"average:{len(newest)}"] if newest else [])],
    )


def languages(context: typer.Context, incomplete: str) -> list[str]:
    """Those of the run that is named before."""
    found = _setting(context, "languages")
    return _beginning(incomplete, map(str, found if isinstance(found, list) else ()))


def devices(incomplete: str) -> list[str]:
    """The kinds; how many there are only PyTorch knows, which would take seconds to ask."""
    return _beginning(incomplete, ["cpu", "cuda", "mps"])


def _run(context: typer.Context) -> Path:
    """The run among what is written already; before an option that lacks its value nothing has got its name yet."""
    given = context.params.get("run") or context.params.get("runs") or context.args
    return Path(given if isinstance(given, (str, Path)) else next(iter(given), ""))


def _setting(context: typer.Context, *path: str) -> Any:
    """A setting of that run."""
    try:
        found = read_yaml(_run(context) / "config.yaml")
    except (
        PolyglotError
    ):  # no run, or none yet: there is nothing to offer, and the verb itself will say why
        return None
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _runs(incomplete: str) -> Iterator[str]:
    for folder in _entries(incomplete):
        if (folder / "config.yaml").is_file():
            yield str(folder)
        elif folder.is_dir() and any(folder.glob("*/config.yaml")):
            yield f"{folder}/"
            yield from (str(path.parent) for path in sorted(folder.glob("*/config.yaml")))


def _files(incomplete: str, *endings: str) -> Iterator[str]:
    for path in _entries(incomplete):
        if (
            path.is_dir()
            and not (path / "config.yaml").is_file()
            and any(each.suffix in endings for each in _entries(f"{path}/"))
        ):
            yield f"{path}/"
        elif path.suffix in endings:
            yield str(path)


def _entries(incomplete: str) -> list[Path]:
    """What lies in the folder that is written so far."""
    folder = Path(incomplete) if incomplete.endswith("/") else Path(incomplete).parent
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError:  # a folder that is not there, or that nobody may read, has nothing to offer
        return []


def _beginning(incomplete: str, found: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(one for one in found if one.startswith(incomplete)))
