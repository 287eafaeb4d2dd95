"""Parts of a streamed corpus; each is read from any row on and is not cached."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from polyglot.core.errors import DataError
from polyglot.data.text_files import SMALL_BLOCK, estimate_line_count, line_blocks

if TYPE_CHECKING:
    from datasets import Dataset

SAMPLE = 2_000_000
"""Sentences that represent a streamed corpus where reading all would take too long: the first ones
of every file."""

ROWS = 1 << 12
"""Rows of a table that are in memory together."""

MIN_ROWS_PER_FILE = 128
"""Sentence pairs of a sample for which it is worth opening a file."""

Pair = tuple[str, str]
"""Source and target line of a sentence pair."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Part of a corpus for one language pair: a file, two parallel files, or a shard on the hub."""

    name: str
    rows: Callable[[int], Iterator[Pair]]
    """Yields the sentence pairs from a row on, from 0. Raises DataError naming file and line."""
    label: str
    """Its name in a checkpoint: the path relative to the folder of the corpus."""
    size: int
    """Bytes or rows; a change shows that the content has changed."""
    estimate_rows: Callable[[], int | None]
    """Estimated number of sentence pairs; None if unknown."""
    first_line: int = 1
    """Line of row 0, for messages."""


@dataclass(frozen=True)
class StreamedText:
    """Text of one corpus for one language pair, in shards."""

    name: str
    shards: Sequence[Shard]
    weight: float

    def estimate_rows(self) -> int | None:
        """Number of sentence pairs, estimated from the first shard; None if unknown."""
        first_shard = self.shards[0]
        first_rows = first_shard.estimate_rows()
        if first_rows is None:
            return None
        total_size = sum(shard.size for shard in self.shards)
        return round(first_rows * total_size / max(1, first_shard.size))

    def first_pairs(self, count: int) -> Iterator[Pair]:
        """Yield the first sentence pairs of every shard, at most `count` in total.

        For a small count, only some of the shards are opened.
        """
        step = -(-len(self.shards) * MIN_ROWS_PER_FILE // count)
        opened = self.shards[::step]
        pairs_per_shard = -(-count // len(opened))
        pairs = (islice(shard.rows(0), pairs_per_shard) for shard in opened)
        return islice(chain.from_iterable(pairs), count)


def match_files(folder: Path, pattern: str) -> dict[tuple[str, ...], Path]:
    """Files that match a pattern, in the order of their names.

    The key of a file is the texts that the stars stand for. A pattern without a star gives the file
    itself with an empty key, also if there is no such file.
    """
    parts = (folder / pattern).as_posix().split("*")
    if len(parts) == 1:
        return {(): folder / pattern}

    expression = re.compile("([^/]*)".join(map(re.escape, parts)))
    escaped_pattern = "*".join(map(glob.escape, parts))
    files = {}
    for path in sorted(glob.glob(escaped_pattern)):
        match = expression.fullmatch(path)
        if match:
            files[match.groups()] = Path(path)
    return files


def text_shard(source: Path, target: Path, *, folder: Path) -> Shard:
    """Shard of two parallel text files, or of one file for a monolingual copy."""
    is_copy = source == target
    files = [source] if is_copy else [source, target]

    def rows(start: int) -> Iterator[Pair]:
        if is_copy:
            for line in _lines(source, start):
                yield line, line
        else:
            yield from _parallel_lines(source, target, start)

    return Shard(
        name=" + ".join(map(str, files)),
        rows=rows,
        label=" ".join(os.path.relpath(path, folder) for path in files),
        size=sum(path.stat().st_size for path in files),
        estimate_rows=lambda: estimate_line_count(source),
    )


def table_shard(name: str, text: tuple[Dataset, Dataset], *, label: str, first_line: int) -> Shard:
    """Shard of a cached text that is used together with streamed text."""
    source, target = text

    def rows(start: int) -> Iterator[Pair]:
        for begin in range(start, len(source), ROWS):
            block = slice(begin, begin + ROWS)
            yield from zip(source[block]["text"], target[block]["text"], strict=True)

    return Shard(
        name=name,
        rows=rows,
        label=label,
        size=len(source),
        estimate_rows=lambda: len(source),
        first_line=first_line,
    )


def _lines(path: Path, start: int) -> Iterator[str]:
    return chain.from_iterable(line_blocks(path, start=start, block=SMALL_BLOCK))


def _parallel_lines(source: Path, target: Path, start: int) -> Iterator[Pair]:
    """Yield the pairs of two files from a row on; raises DataError if one file is shorter."""
    source_lines = _lines(source, start)
    target_lines = _lines(target, start)
    lines = zip_longest(source_lines, target_lines)
    for row, (source_line, target_line) in enumerate(lines, start):
        if source_line is None:
            raise DataError(_length_message(source, target, row, target_lines))
        if target_line is None:
            raise DataError(_length_message(target, source, row, source_lines))
        yield source_line, target_line


def _length_message(shorter: Path, longer: Path, row: int, rest: Iterator[str]) -> str:
    """Message for parallel files of different lengths. rest: unread lines of the longer one."""
    lines = row + 1 + sum(1 for _ in rest)
    return (
        f"{shorter} ends after line {row}, but {longer} has {lines} lines; "
        "line n of both must be one sentence pair"
    )
