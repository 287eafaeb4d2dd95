"""The files of a streamed corpus: each is read from its first line to its last, or from any line on, and never kept."""

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
"""The first sentences of a streamed corpus, evenly from all its files, that stand for all of them where all would be too many."""
ROWS = 1 << 12  # of a table in memory at once
MIN_ROWS_PER_FILE = 128  # sentence pairs for which a file of a sample is opened

Pair = tuple[str, str]
"""The two lines of a sentence pair."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of a corpus for one language pair: a file, two that belong together, or a piece of a data set of the hub."""

    name: str
    rows: Callable[[int], Iterator[Pair]]
    """The sentence pairs from a row on, counted from 0. Raises DataError naming file and line."""
    label: str
    """What a checkpoint calls it, wherever the text stands: its name below the folder of the text."""
    size: int
    """Bytes or rows: whether it is what it was."""
    about: Callable[[], int | None]
    """How many sentence pairs it has, about; None where nobody knows."""
    first_line: int = 1
    """The line of row 0, for messages."""


@dataclass(frozen=True)
class StreamedText:
    """What one corpus has for one pair, to be read part by part."""

    name: str
    shards: Sequence[Shard]
    weight: float

    def estimate_rows(self) -> int | None:
        """How many sentence pairs it has, about: as many to the byte as the first shard. None where nobody knows."""
        first = self.shards[0]
        known = first.about()
        return (
            None
            if known is None
            else round(known * sum(shard.size for shard in self.shards) / max(1, first.size))
        )

    def first_pairs(self, count: int) -> Iterator[Pair]:
        """At most so many sentence pairs, the first of every shard, or of some of them where few pairs of many are wanted."""
        opened = self.shards[:: -(-len(self.shards) * MIN_ROWS_PER_FILE // count)]
        return islice(
            chain.from_iterable(
                islice(shard.rows(0), -(-count // len(opened))) for shard in opened
            ),
            count,
        )


def match_files(folder: Path, pattern: str) -> dict[tuple[str, ...], Path]:
    """The files of a pattern, in the order of their names, by what stands for each `*` of it; without a star the file itself."""
    parts = (folder / pattern).as_posix().split("*")
    if len(parts) == 1:
        return {(): folder / pattern}
    stars = re.compile("([^/]*)".join(map(re.escape, parts)))
    found = sorted(glob.glob("*".join(map(glob.escape, parts))))
    return {match.groups(): Path(path) for path in found if (match := stars.fullmatch(path))}


def text_shard(source: Path, target: Path, *, folder: Path) -> Shard:
    """Two files of text, or for a copy one."""
    files = dict.fromkeys((source, target))
    return Shard(
        name=" + ".join(map(str, files)),
        rows=lambda start: (
            _together(source, target, start)
            if len(files) > 1
            else ((line, line) for line in _lines(source, start))
        ),
        label=" ".join(os.path.relpath(path, folder) for path in files),
        size=sum(path.stat().st_size for path in files),
        about=lambda: estimate_line_count(source),
    )


def table_shard(name: str, text: tuple[Dataset, Dataset], *, label: str, first_line: int) -> Shard:
    """Text that is cached already, beside streams."""
    source, target = text

    def rows(start: int) -> Iterator[Pair]:
        for begin in range(start, len(source), ROWS):
            chosen = slice(begin, begin + ROWS)
            yield from zip(source[chosen]["text"], target[chosen]["text"], strict=True)

    return Shard(name, rows, label, len(source), lambda: len(source), first_line)


def _lines(path: Path, start: int) -> Iterator[str]:
    return chain.from_iterable(line_blocks(path, start=start, block=SMALL_BLOCK))


def _together(source: Path, target: Path, start: int) -> Iterator[Pair]:
    for row, (line, other) in enumerate(
        zip_longest(own := _lines(source, start), others := _lines(target, start)), start
    ):
        if line is None or other is None:
            shorter, longer, rest = (
                (source, target, others) if line is None else (target, source, own)
            )
            raise DataError(
                f"{shorter} ends after line {row}, but {longer} has {row + 1 + sum(1 for _ in rest)} lines; "
                "line n of both must be one sentence pair"
            )
        yield line, other
