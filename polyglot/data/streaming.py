"""Batches of text that is read while a model trains on it.

A pool of sentence pairs is shuffled and cut into batches. The next pool is read at the same time:
each time that a batch is taken, about as many lines are read and tokenized as a batch needs, in a
millisecond or two. There are no worker processes, and memory depends on the size of a pool, not on
that of the text.

A position in a stream is the start of its pool and the number of batches taken from it. After a
resume, the pool is read again. It is the same pool, unless the settings or the text have changed;
then all of its batches are used again. (The shuffle buffer of the library `datasets` is lost when a
stream continues from a saved state.)
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy

from polyglot.core.errors import DataError
from polyglot.data.arrays import Indices
from polyglot.data.batching import BatchingConfig, epoch_batches
from polyglot.data.cache import fingerprint
from polyglot.data.filters import dropped_suffix, nothing_left_message
from polyglot.data.stream_reader import StreamReader
from polyglot.data.streamed_dataset import Pool, Row, StreamedDataset
from polyglot.tasks.batch import Batch

logger = logging.getLogger("polyglot")

PORTION = 256
"""Smallest number of lines of the next pool that are tokenized together."""

PairLocations = Indices
"""Corpus, shard, row, and number in the pool of each sentence pair of a batch, (B, 4)."""


class StreamedBatches:
    """Endless stream of batches of one task, read by one of several processes.

    Peer of `BatchStream`.
    """

    def __init__(
        self,
        dataset: StreamedDataset,
        config: BatchingConfig,
        *,
        seed: int,
        reader_index: int = 0,
        reader_count: int = 1,
    ) -> None:
        """reader_index: index of this process among the processes that read the task."""
        self.dataset = dataset
        self.config = config
        self.seed = seed
        self.reader_index = reader_index
        self.reader_count = reader_count
        self.name = dataset.task.name
        self._text_readers: dict[str, StreamReader] = {}
        for key, text in dataset.texts_by_key.items():
            self._text_readers[key] = StreamReader(
                text,
                seed=f"{seed}/{self.name}",
                key=key,
                reader_index=reader_index,
                reader_count=reader_count,
            )
        self._restart(0, rows_before=0, dropped_before={})

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the text that a position refers to."""
        return self.dataset.fingerprint

    @cached_property
    def pool_fingerprint(self) -> str:
        """Fingerprint of all that determines a pool, besides the position and the readers."""
        weights = []
        for key, text in self.dataset.texts_by_key.items():
            weights.append(f"{key} {text.weight}")
        batching = self.config.model_dump_json()
        filters = self.dataset.filters.description
        return fingerprint(self.seed, batching, filters, self.fingerprint, *weights)[:16]

    @property
    def position(self) -> dict[str, Any]:
        """Position by number of the reader; all readers together have read the text up to there."""
        position = {
            **self._pool_start,
            "index": self._index,
            "made_of": self.pool_fingerprint,
        }
        return {str(self.reader_index): position}

    def seek(self, position: Mapping[str, Any]) -> bool:
        """Continue as if every batch before the position had been taken.

        A new corpus, and one that was not streamed before, starts at its beginning. If the number
        of readers has changed, unread rows are divided again, and the pools that were in memory are
        used again. If the number is the same but the pool would be different now, that pool is used
        again. Returns True if such a pool had been started.
        """
        if "epoch" in position:  # the text was not streamed
            return False

        positions = [position[reader] for reader in sorted(position, key=int)]
        self._seek_texts(positions)
        if len(positions) != self.reader_count:
            last_pool = max(reader_position["pool"] for reader_position in positions)
            self._restart(last_pool + 1, rows_before=0, dropped_before={})
            return False

        local = positions[self.reader_index]
        self._restart(local["pool"], rows_before=local["seen"], dropped_before=local["dropped"])
        old_fingerprint = local.get("made_of", self.pool_fingerprint)  # absent from old checkpoints
        was_started = local["index"] > 0
        is_different = old_fingerprint != self.pool_fingerprint
        if was_started and not is_different:
            self._start_next_pool()
            self._index = local["index"]
        return was_started and is_different

    def _seek_texts(self, positions: Sequence[Mapping[str, Any]]) -> None:
        for key, text_reader in self._text_readers.items():
            text_positions = []
            for position in positions:
                if key in position["texts"]:
                    text_positions.append(position["texts"][key])
            if text_positions:
                text_reader.seek(text_positions)

    def take(self, *, is_local: bool = True) -> PairLocations:
        """Locations of the sentence pairs of the next batch, (B, 4).

        is_local: False if the batch is for another rank, which reads other lines; then the result
        is empty. Raises DataError with file and line for text that cannot be used. It is raised
        some time before the text is needed.
        """
        if not is_local:
            return numpy.empty((0, 4), dtype=numpy.int64)

        self._ensure_batches()
        numbers = self._batches[self._index].tolist()
        self._index += 1
        try:
            self._read_ahead()
        except DataError:
            self._index -= 1  # the batch was not taken
            raise
        locations = [(*self._pool.locations[number], number) for number in numbers]
        return numpy.array(locations, dtype=numpy.int64)

    def _ensure_batches(self) -> None:
        """Start the next pool if all batches were taken; skip pools that the filters empty."""
        first_epochs = self._epochs()
        while self._index >= len(self._batches):
            self._start_next_pool()
            if self._batches:
                continue
            epochs_passed = numpy.subtract(self._epochs(), first_epochs)
            if epochs_passed.min() > 1:
                message = nothing_left_message(self._pool.dropped, self._pool.rows_read)
                raise DataError(f"{self.dataset.name}: {message}")

    def _epochs(self) -> list[int]:
        return [text_reader.epoch for text_reader in self._text_readers.values()]

    def _read_ahead(self) -> None:
        """Read the part of the next pool that corresponds to the batches taken from this one."""
        target = self._next_size * self._index // len(self._batches)
        missing = target - self._next_pool.rows_read
        if missing >= PORTION:
            self._next_pool.read(missing)

    def _restart(self, pool: int, *, rows_before: int, dropped_before: Mapping[str, int]) -> None:
        """Stand before a pool, without batches. rows_before, dropped_before: of earlier pools."""
        self._pool = Pool(self.dataset, iter(()))
        self._batches: list[Indices] = []
        self._index = 0
        self._prepare_next_pool(pool, rows_before, dropped_before)
        self._pool_start = self._next_start

    def _prepare_next_pool(
        self,
        pool: int,
        rows_before: int,
        dropped_before: Mapping[str, int],
    ) -> None:
        """Set up a pool from the present positions in the texts, without reading it."""
        positions = {}
        for key, text_reader in self._text_readers.items():
            positions[key] = text_reader.position
        self._next_start = {
            "pool": pool,
            "seen": rows_before,
            "dropped": dict(dropped_before),
            "texts": positions,
        }
        counts = self._rows_per_text(pool)
        self._next_size = sum(counts)
        self._next_pool = Pool(self.dataset, self._rows(counts))

    def _rows(self, counts: Sequence[int]) -> Iterator[Row]:
        """Yield the next rows of every text, this number of each."""
        text_readers = self._text_readers.values()
        for number, (text_reader, count) in enumerate(zip(text_readers, counts, strict=True)):
            for row in text_reader.take(count):
                yield number, *row

    def _start_next_pool(self) -> None:
        """Complete the next pool, and take batches from it from now on."""
        self._next_pool.read(self._next_size - self._next_pool.rows_read)
        self._pool = self._next_pool
        self._pool_start = self._next_start
        self._index = 0
        self._batches = epoch_batches(
            self._pool.source_lengths,
            self._pool.target_lengths,
            self.config,
            seed=self.seed,
            task_name=f"{self.name}/{self.reader_index}/{self.reader_count}",
            epoch=self._pool_start["pool"],
        )
        rows_read = self._pool_start["seen"] + self._pool.rows_read
        dropped = Counter(self._pool_start["dropped"]) + self._pool.dropped
        self._log_new_epochs(rows_read, dropped)
        self._prepare_next_pool(self._pool_start["pool"] + 1, rows_read, dropped)

    def _log_new_epochs(self, rows_read: int, dropped: Mapping[str, int]) -> None:
        for key, text_reader in self._text_readers.items():
            epoch_at_start = self._pool_start["texts"][key]["epoch"]
            if text_reader.epoch > epoch_at_start:
                logger.info(
                    f"task {self.name}: epoch {text_reader.epoch + 1} of "
                    f"{text_reader.text.name} begins; {rows_read:,} sentence pairs read so far"
                    f"{dropped_suffix(dropped)}"
                )

    def _rows_per_text(self, pool: int) -> list[int]:
        """Number of rows of each text in a pool.

        The sums over all pools are as near to the weights as whole numbers can be.
        """
        weights = [text.weight for text in self.dataset.texts]
        counts = []
        for weight in weights:
            share = self.config.buffer * weight / sum(weights)
            counts.append(round((pool + 1) * share) - round(pool * share))
        return counts

    def batch(self, pairs: PairLocations) -> Batch:
        """Gather and pad the sentence pairs that were taken last."""
        numbers = pairs[:, 3].tolist()
        return Batch.from_sentences(
            self.dataset.task,
            [self._pool.sources[number] for number in numbers],
            [self._pool.targets[number] for number in numbers],
        )

    def names(self, pairs: PairLocations) -> list[str]:
        """File and line of each sentence pair, for messages."""
        names = []
        for text_number, shard_number, row, _ in pairs.tolist():
            shard = self.dataset.texts[text_number].shards[shard_number]
            names.append(f"{shard.name}, line {shard.first_line + row}")
        return names
