"""Where a process is in a streamed text: an epoch, the files of it that are still to come, and a row.

Each of the processes that read a text has files of its own, or where there are fewer files than processes, lines of its own of every
file: the lines of one epoch are divided, none is left out and none comes twice. Which they are, and in which order, is a function of seed,
task, text, epoch and of how many read; so a position is a few numbers, and a jump costs passing over the lines of one file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TypedDict

import numpy

from polyglot.core.errors import DataError
from polyglot.data.corpora.shards import StreamedText

ShardPart = tuple[int, int, int, int]
"""A shard by its number, the row to go on from, and which of how many parts of its rows: those whose number leaves that rest."""

Row = tuple[int, int, str, str]
"""Shard, row, and the two lines of a sentence pair."""


MAX_EMPTY_EPOCHS = 100  # epochs without a row for a process: by then it has had each of several files, and some of them are not empty


class Position(TypedDict):
    """As a checkpoint holds it."""

    epoch: int
    left: list[ShardPart]
    """of the epoch, the piece that is being read first"""


class StreamReader:
    """The sentence pairs of one corpus for one task without end, as one of several processes reads them."""

    def __init__(
        self, text: StreamedText, *, seed: str, key: str, reader: int = 0, readers: int = 1
    ) -> None:
        """seed, key: what the order of the files depends on."""
        self.text, self.reader, self.readers = text, reader, readers
        self._key = f"{seed}/{key}"
        self.epoch, self._left = 0, self._dealt(0)
        self._rows = self._read()

    @property
    def position(self) -> Position:
        return {"epoch": self.epoch, "left": list(self._left)}

    def seek(self, positions: Sequence[Position]) -> None:
        """Go on where the processes were that read the text before: as many as now, or more or fewer.

        In the latter case all that they had still to read, up to the end of the latest epoch that one of them is in, is divided anew.
        """
        if len(positions) == self.readers:
            own = positions[self.reader]
            self.epoch, left = own["epoch"], own["left"]
        else:
            self.epoch, left = max(one["epoch"] for one in positions), []
            for reader, one in enumerate(positions):
                later = (
                    _share(self._order(epoch), reader, len(positions))
                    for epoch in range(one["epoch"] + 1, self.epoch + 1)
                )
                left += [*one["left"], *chain.from_iterable(later)]
            left = _share(left, self.reader, self.readers)
        self._left = list(map(tuple, left))
        self._rows = self._read()

    def take(self, number: int) -> Iterator[Row]:
        """The next rows. Raises DataError as the corpus does, and where an epoch has none for this process."""
        return islice(self._rows, number)

    def _read(self) -> Iterator[Row]:
        fruitless = 0
        while fruitless < MAX_EMPTY_EPOCHS:
            fruitless += 1
            while self._left:
                shard, start, part, parts = self._left[0]
                for row, (source, target) in enumerate(self.text.shards[shard].rows(start), start):
                    self._left[0] = shard, row + 1, part, parts
                    if row % parts == part:
                        fruitless = 0
                        yield shard, row, source, target
                del self._left[0]
            self.epoch += 1
            self._left = self._dealt(self.epoch)
        which = f" for process {self.reader} of {self.readers}" if self.readers > 1 else ""
        raise DataError(f"{self.text.name}: no sentences{which}")

    def _dealt(self, epoch: int) -> list[ShardPart]:
        """What this process reads in an epoch."""
        return _share(self._order(epoch), self.reader, self.readers)

    def _order(self, epoch: int) -> list[ShardPart]:
        """The shards of an epoch, shuffled."""
        key = int.from_bytes(
            hashlib.sha256(f"{self._key}/{epoch}".encode()).digest()[:16], "little"
        )
        random = numpy.random.Generator(numpy.random.Philox(key=key))
        return [(shard, 0, 0, 1) for shard in random.permutation(len(self.text.shards)).tolist()]


def _share(pieces: Sequence[ShardPart], reader: int, readers: int) -> list[ShardPart]:
    """What one of several reads: whole pieces in turns, or where there are too few, its part of each."""
    if len(pieces) >= readers:
        return list(pieces[reader::readers])
    return [
        (shard, row, part + parts * reader, parts * readers) for shard, row, part, parts in pieces
    ]
