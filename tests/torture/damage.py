"""Flipped bits, cut-off files, zeros and missing files in a run directory and in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.torture.trial import CORRECT, Finding, Outcome, Trial
from tests.torture.workplace import COMMANDS, RUN, Workplace, call, files_below

KINDS = ("flipped bit", "flipped bit", "cut off", "zeros", "missing", "empty")

NO_RESULTS = ("log.jsonl", "report.html")
"""Files that no command computes from; a changed number in them can only be looked at."""


def damages(workplace: Workplace, random: Random, count: int) -> Iterator[Trial]:
    """Damage one file, and run one command.

    It must give the results of the intact run, or refuse and leave all other files as they are.
    """
    run_files = files_below(workplace.intact / RUN)
    cache_files = files_below(workplace.intact / "cache")
    for _ in range(count):
        in_cache = bool(cache_files) and random.random() < 0.2
        path = random.choice(cache_files if in_cache else run_files)
        kind = random.choice(KINDS)
        name = random.choice(("resume", "evaluate") if in_cache else tuple(COMMANDS))
        position = random.random()
        bit = random.randrange(8)

        def attempt(
            folder: Path,
            path: Path = path,
            kind: str = kind,
            name: str = name,
            position: float = position,
            bit: int = bit,
        ) -> Finding:
            workplace.copy(folder)
            damaged = folder / path.relative_to(workplace.intact)
            damage(damaged, kind, position, bit)
            return check_command(workplace, folder, name, damaged)

        area = "damaged cache" if in_cache else "damaged run directory"
        place = path.relative_to(workplace.intact)
        yield Trial(area, f"{kind} in {place} at {position:.3f}, then {name}", attempt)


def damage(path: Path, kind: str, position: float, bit: int) -> None:
    """Damage a file. position: from 0, the first byte, to 1."""
    content = bytearray(path.read_bytes())
    index = min(int(position * len(content)), max(0, len(content) - 1))
    if kind == "missing":
        path.unlink()
        return
    if kind == "empty" or not content:
        content.clear()
    elif kind == "flipped bit":
        content[index] ^= 1 << bit
    elif kind == "cut off":
        del content[index:]
    else:
        end = min(len(content), index + 64)
        content[index:end] = bytes(end - index)
    path.write_bytes(content)


def check_command(workplace: Workplace, folder: Path, name: str, damaged: Path) -> Finding:
    """Run a command on a run with a damaged file."""
    before = _contents(folder)
    result = call(folder, *COMMANDS[name])
    problem = result.problem()
    if problem:
        return problem
    if result.status:
        return _check_untouched(folder, before, damaged)
    if name == "check":
        return _check_promise(workplace, folder, damaged)
    return workplace.results.comparison(name, result, folder)


def _check_promise(workplace: Workplace, folder: Path, damaged: Path) -> Finding:
    """What `check` calls intact must give the results of the intact run."""
    result = call(folder, *COMMANDS["translate"])
    problem = result.problem()
    if problem:
        return problem
    if result.status:
        return Finding(Outcome.SILENT_ERROR, f"check found nothing wrong in {damaged.name}")
    return workplace.results.comparison("translate", result, folder)


def _contents(folder: Path) -> dict[Path, bytes]:
    contents = {}
    for path in files_below(folder / RUN):
        contents[path] = path.read_bytes()
    return contents


def _check_untouched(folder: Path, before: dict[Path, bytes], damaged: Path) -> Finding:
    """A command that refuses leaves every other file of the run as it was."""
    for path, content in before.items():
        may_change = path == damaged or path.name in NO_RESULTS
        if not may_change and (not path.is_file() or path.read_bytes() != content):
            return Finding(Outcome.LOST_DATA, f"refused, but changed {path.relative_to(folder)}")
    return CORRECT
