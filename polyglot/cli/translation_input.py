"""Lines that `translate` reads: runs and files among its arguments, and portions of their lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Optional

from polyglot.cli.lines import read_lines
from polyglot.core.errors import ConfigError, DataError
from polyglot.core.hub_address import is_run_location

Files = dict[str, Optional[Path]]
"""File of each source language; None is standard input."""


@dataclass(frozen=True)
class Portion:
    """Lines that are translated together."""

    lines: list[str] | dict[str, list[str]]
    """by language if there are several source languages"""

    source: str | None
    """None if there are several source languages"""

    def lines_in(self, language: str) -> list[str]:
        if isinstance(self.lines, dict):
            return self.lines[language]
        return self.lines


def split_runs_and_files(
    paths: Sequence[Path],
    sources: Sequence[str],
) -> tuple[list[Path], Files]:
    """Return the runs among the paths, and the file of each source language.

    The last of several paths is a file if it is not a folder. Raises ConfigError for a missing
    file and for two files of one language.
    """
    files: Files = {}
    for argument in sources:
        language, _, file = argument.partition("=")
        files[language] = Path(file) if file else None
    if len(files) < len(sources):
        raise ConfigError("--from: a language is named twice; each has one file")

    runs = list(paths)
    if len(paths) > 1 and not is_run_location(paths[-1]):
        text = runs.pop()
        if any(files.values()):
            raise ConfigError(f"{text}: --from names a file as well; give the text in one place")
        files = dict.fromkeys(files, text)
    has_one_text = len(runs) < len(paths)
    if len(files) > 1 and (has_one_text or not all(files.values())):
        languages = " and ".join(files)
        options = " ".join(f"--from {language}=FILE" for language in files)
        raise ConfigError(f"--from: {languages} need a file each: {options}")
    return runs, files


def read_portions(files: Files) -> tuple[int | None, Iterator[Portion]]:
    """Return the number of lines, None if it is unknown, and the lines in portions."""
    if len(files) > 1:
        return _read_parallel_portions(files)

    from polyglot.data.text_files import portions

    [(language, file)] = files.items()
    total, blocks = read_lines(file)
    return total, (Portion(lines, language) for lines in portions(blocks))


def _read_parallel_portions(files: Files) -> tuple[int | None, Iterator[Portion]]:
    """Read several files in parallel. Raises DataError if their numbers of lines differ."""
    from polyglot.data.text_files import PORTION

    totals = {}
    lines = {}
    for language, file in files.items():
        totals[language], blocks = read_lines(file)
        lines[language] = chain.from_iterable(blocks)
    if len(set(totals.values())) > 1:
        counts = ", ".join(f"{files[language]} {total}" for language, total in totals.items())
        raise DataError(
            f"--from: the files have different numbers of lines: {counts}; "
            "line n of each is the same sentence"
        )
    total = next(iter(totals.values()))
    return total, _parallel_portions(lines, size=PORTION)


def _parallel_portions(lines: Mapping[str, Iterator[str]], *, size: int) -> Iterator[Portion]:
    """Yield the next `size` lines of all languages until they end."""
    while True:
        next_lines = {language: list(islice(source, size)) for language, source in lines.items()}
        if not any(next_lines.values()):
            return
        yield Portion(next_lines, None)
