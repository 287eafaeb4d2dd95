"""Reader of a streamed text in one of several processes; a checkpoint can hold its position.

Each process that reads a text has its own files or, if there are fewer files than processes, its
own lines of every file. The lines of an epoch are divided among the processes: every line is read
once. The order is a function of seed, task, text, epoch and number of readers. A position is
therefore a few numbers, and a jump only skips lines of one file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypedDict

import numpy

from polyglot.core.errors import DataError
from polyglot.data.corpora.shards import StreamedText

ShardPart = tuple[int, int, int, int]
"""(shard, row, part, parts): the rows of a shard from `row` on with `row % parts == part`."""

Row = tuple[int, int, str, str]
"""(shard, row, source line, target line) of a sentence pair."""

MAX_EMPTY_EPOCHS = 100
"""Epochs without a row for a process until it gives up. After so many epochs it has read each of
several files, so that empty files alone are not the reason."""


class Position(TypedDict):
    """Position of one reader in a text, as a checkpoint holds it."""

    epoch: int
    left: list[ShardPart]
    """unread parts of the epoch; the first one is being read"""


class StreamReader:
    """Endless sentence pairs of one corpus for one task, read by one of several processes."""

    def __init__(
        self,
        text: StreamedText,
        *,
        seed: str,
        key: str,
        reader_index: int = 0,
        reader_count: int = 1,
    ) -> None:
        """seed, key: determine the order of the files. reader_index: index of this process."""
        self.text = text
        self.reader_index = reader_index
        self.reader_count = reader_count
        self._key = f"{seed}/{key}"
        self.epoch = 0
        self._unread = self._parts_of_epoch(0)
        self._rows = self._read()

    @property
    def position(self) -> Position:
        """Position of this reader, for `seek`."""
        return {
            "epoch": self.epoch,
            "left": list(self._unread),
        }

    def seek(self, positions: Sequence[Position]) -> None:
        """Continue where all readers of the text stopped; their number may be different now.

        If it is different, all rows that they had not read by the end of their latest epoch are
        divided again.
        """
        if len(positions) == self.reader_count:
            position = positions[self.reader_index]
            self.epoch = position["epoch"]
            unread = position["left"]
        else:
            self.epoch = max(position["epoch"] for position in positions)
            unread = self._unread_by_all(positions, self.epoch)
            unread = _share(unread, self.reader_index, self.reader_count)
        self._unread = [tuple(part) for part in unread]  # JSON has lists
        self._rows = self._read()

    def take(self, count: int) -> Iterator[Row]:
        """Yield the next rows.

        Raises DataError as the corpus does, and if there are no rows for this process.
        """
        return islice(self._rows, count)

    def _unread_by_all(self, positions: Sequence[Position], last_epoch: int) -> list[ShardPart]:
        """Unread parts of all readers with these positions, up to the end of an epoch."""
        unread: list[ShardPart] = []
        for reader_index, position in enumerate(positions):
            unread += position["left"]
            for epoch in range(position["epoch"] + 1, last_epoch + 1):
                shards = self._shards_of_epoch(epoch)
                unread += _share(shards, reader_index, len(positions))
        return unread

    def _read(self) -> Iterator[Row]:
        empty_epochs = 0
        while empty_epochs < MAX_EMPTY_EPOCHS:
            empty_epochs += 1
            while self._unread:
                for row in self._read_first_part():
                    empty_epochs = 0
                    yield row
                del self._unread[0]
            self.epoch += 1
            self._unread = self._parts_of_epoch(self.epoch)

        message = f"{self.text.name}: no sentences"
        if self.reader_count > 1:
            message += f" for process {self.reader_index} of {self.reader_count}"
        raise DataError(message)

    def _read_first_part(self) -> Iterator[Row]:
        """Yield the rows of the first unread part; its start moves with each row."""
        shard, start, part, parts = self._unread[0]
        pairs = self.text.shards[shard].rows(start)
        for row, (source, target) in enumerate(pairs, start):
            self._unread[0] = (shard, row + 1, part, parts)
            if row % parts == part:
                yield shard, row, source, target

    def _parts_of_epoch(self, epoch: int) -> list[ShardPart]:
        """Parts of the shards that this process reads in an epoch."""
        return _share(self._shards_of_epoch(epoch), self.reader_index, self.reader_count)

    def _shards_of_epoch(self, epoch: int) -> list[ShardPart]:
        """All shards in the random order of an epoch, each as a single part."""
        digest = hashlib.sha256(f"{self._key}/{epoch}".encode()).digest()
        key = int.from_bytes(digest[:16], "little")
        random = numpy.random.Generator(numpy.random.Philox(key=key))
        order = random.permutation(len(self.text.shards)).tolist()
        first_row = 0
        part = 0
        parts = 1
        return [(shard, first_row, part, parts) for shard in order]


def _share(
    parts: Sequence[ShardPart],
    reader_index: int,
    reader_count: int,
) -> list[ShardPart]:
    """Share of one reader: whole parts in turns or, if there are too few, some rows of each."""
    if len(parts) >= reader_count:
        return list(parts[reader_index::reader_count])

    shared = []
    for shard, row, part, count in parts:
        reader_part = part + count * reader_index
        reader_parts = count * reader_count
        shared.append((shard, row, reader_part, reader_parts))
    return shared
