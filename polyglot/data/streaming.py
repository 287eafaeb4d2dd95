"""Text that is read while a model trains on it: pools of sentence pairs that are shuffled, and batches cut from them.

Nothing works beside the training: with every batch that is taken as many lines are read and cut into pieces as one batch needs, a
millisecond or two that a device hides. So there are no worker processes, neither of each task nor of all, and memory depends on the size of
a pool, not on that of the text. A position in a stream is where its pool begins and how many of its batches were taken: the pool is read
once more and is the same, unless what it is made of has changed: then all of it comes again.
(`datasets`' own shuffle buffer is lost when a stream goes on from a saved state.)
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count, islice
from typing import Any

import numpy
from numpy.typing import NDArray

from polyglot.core.errors import DataError
from polyglot.data.batching import BatchingConfig, epoch_batches
from polyglot.data.cache import fingerprint
from polyglot.data.corpora import Corpora, StreamedText
from polyglot.data.filters import FilterConfig, apply_filters, dropped_suffix, nothing_left_message
from polyglot.data.stream_reader import StreamReader
from polyglot.tasks.batch import Batch
from polyglot.tasks.pairs import Task
from polyglot.text.preprocessing import Normaliser
from polyglot.text.vocabulary import Vocabulary

logger = logging.getLogger("polyglot")

SAMPLE = 2048
"""Sentence pairs that are looked at before a stream is read."""
PORTION = 256
"""Lines that are cut into pieces together, at least."""
LARGEST_PORTION = 1 << 12
"""The same, at most."""

Pieces = NDArray[numpy.int32]
Row = tuple[int, int, int, str, str]
"""Corpus, shard and row of a sentence pair, and its two lines."""


class StreamedDataset:
    """What the streamed text of one task is, found out without reading it; the peer of `TaskDataset`."""

    def __init__(
        self,
        task: Task,
        corpora: Corpora,
        vocabularies: Mapping[str, Vocabulary],
        normalisers: Mapping[str, Normaliser],
        *,
        filters: FilterConfig,
    ) -> None:
        self.task, self.filters = task, filters
        self.texts = corpora.streamed(task.pair)
        self.name = f"{task.name} ({'; '.join(text.name for text in self.texts)})"
        self._vocabularies = vocabularies[task.source], vocabularies[task.target]
        self._normalisers = normalisers[task.source], normalisers[task.target]

    @cached_property
    def fingerprint(self) -> str:
        """Of the names and sizes of all files."""
        return fingerprint(
            *(f"{shard.label} {shard.size}" for text in self.texts for shard in text.shards)
        )

    @cached_property
    def keys(self) -> dict[str, StreamedText]:
        """The corpora by what a checkpoint calls them: the same as long as their files have the same names."""
        found: dict[str, StreamedText] = {}
        for text in self.texts:
            name = fingerprint(*(shard.label for shard in text.shards))[:16]
            found[next(key for number in count(1) if (key := f"{name}.{number}") not in found)] = (
                text
            )
        return found

    @cached_property
    def estimated_size(self) -> int | None:
        """How many sentence pairs there are, about; None where a corpus does not tell."""
        counts = [text.about() for text in self.texts]
        return None if None in counts else sum(counts)

    def summary(self) -> str:
        """For the log."""
        files = sum(len(text.shards) for text in self.texts)
        size = (
            "how many sentences is not known"
            if self.estimated_size is None
            else f"about {self.estimated_size:,} sentences"
        )
        found = (
            f"of the first {self.sample.rows_read:,}{dropped_suffix(self.sample.dropped) or ', none left out'}"
        )
        return f"streamed from {files} file{'s' if files > 1 else ''}, {size}; {found}"

    def shared_file_messages(self, readers: int) -> Iterator[str]:
        """For the log: the corpora whose files are too few to be dealt out to so many processes."""
        for text in self.texts:
            if (parts := len(text.shards)) < readers:
                few = f"{text.name} has {parts} part{'s' if parts > 1 else ''} for {readers} processes"
                yield f"{few}: each reads everything and takes one line of every {readers}"

    @cached_property
    def sample(self) -> Pool:
        """The first sentence pairs. Raises DataError when the filters leave none of them."""
        pool = self._first(SAMPLE)
        if not pool.sources:
            raise DataError(f"{self.name}: {nothing_left_message(pool.dropped, pool.rows_read)}")
        return pool

    @property
    def source_lengths(self) -> NDArray[numpy.int32]:
        """Of the sample, (N,)."""
        return self.sample.lengths[0]

    @property
    def target_lengths(self) -> NDArray[numpy.int32]:
        return self.sample.lengths[1]

    @property
    def dropped(self) -> Mapping[str, int]:
        """How many of the sample are left out, for which reason."""
        return self.sample.dropped

    def first_pairs(self, number: int) -> tuple[list[Pieces], list[Pieces]]:
        """Sources and targets of so many sentence pairs, the first of all files, without those that are left out."""
        pool = self._first(number)
        return pool.sources, pool.targets

    def _first(self, number: int) -> Pool:
        own = -(-number // len(self.texts))
        pool = Pool(
            self,
            (
                (place, 0, 0, *pair)
                for place, text in enumerate(self.texts)
                for pair in text.first_pairs(own)
            ),
        )
        pool.read(number)
        return pool

    def encoded(
        self, lines: Sequence[str], others: Sequence[str]
    ) -> tuple[list[Pieces], list[Pieces]]:
        """Sources and targets as the model gets them."""
        source, target = self._normalisers
        if self.task.pair.is_copy:
            both = self._pieces(0, map(source.apply, lines))
            return both, both
        pairs = [
            source.pair(line, target, other) for line, other in zip(lines, others, strict=True)
        ]
        return self._pieces(0, (line for line, _ in pairs)), self._pieces(
            1, (other for _, other in pairs)
        )

    def _pieces(self, side: int, lines: Iterator[str]) -> list[Pieces]:
        return [
            numpy.array(own, dtype=numpy.int32)
            for own in self._vocabularies[side].encode(list(lines))
        ]


class Pool:
    """Sentence pairs that are in memory together, read bit by bit; what the filters leave of them."""

    def __init__(self, dataset: StreamedDataset, rows: Iterator[Row]) -> None:
        self._dataset, self._rows = dataset, rows
        self.sources, self.targets = list[Pieces](), list[Pieces]()
        self.places: list[tuple[int, int, int]] = []
        """Corpus, shard and row of each."""
        self.rows_read = 0
        """Those that were left out, too."""
        self.dropped: Counter[str] = Counter()

    @property
    def lengths(self) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32]]:
        """Of sources and targets, (N,) and (N,)."""
        return _lengths(self.sources), _lengths(self.targets)

    def read(self, number: int) -> None:
        """So many rows more, or what there is."""
        while rows := list(islice(self._rows, min(number, LARGEST_PORTION))):
            sources, targets = self._dataset.encoded(
                [row[3] for row in rows], [row[4] for row in rows]
            )
            kept, dropped = apply_filters(_lengths(sources), _lengths(targets), self._dataset.filters)
            for place in numpy.flatnonzero(kept).tolist():
                self.sources.append(sources[place])
                self.targets.append(targets[place])
                self.places.append(rows[place][:3])
            self.rows_read += len(rows)
            self.dropped.update(dropped)
            number -= len(rows)


class StreamedBatches:
    """Batches of one task without end, as one of several processes reads them; the peer of `BatchStream`."""

    def __init__(
        self,
        dataset: StreamedDataset,
        config: BatchingConfig,
        *,
        seed: int,
        reader: int = 0,
        readers: int = 1,
    ) -> None:
        """reader: which of how many processes that draw the task."""
        self.dataset, self.config, self.seed, self.reader, self.readers = (
            dataset,
            config,
            seed,
            reader,
            readers,
        )
        self.name = dataset.task.name
        given = {"seed": f"{seed}/{self.name}", "reader": reader, "readers": readers}
        self._readings = {
            key: StreamReader(text, **given, key=key) for key, text in dataset.keys.items()
        }
        self._begin(0, seen=0, dropped={})

    @property
    def fingerprint(self) -> str:
        """Of the text that a position is in."""
        return self.dataset.fingerprint

    @cached_property
    def made_of(self) -> str:
        """What a pool and its batches depend on besides the place in the text and who reads."""
        weights = (f"{key} {text.weight}" for key, text in self.dataset.keys.items())
        settings = self.config.model_dump_json(), self.dataset.filters.model_dump_json()
        return fingerprint(self.seed, *settings, self.fingerprint, *weights)[:16]

    @property
    def position(self) -> dict[str, Any]:
        """By the number of the reader; those of all readers together are where the text is."""
        return {str(self.reader): {**self._start, "index": self._index, "made_of": self.made_of}}

    def seek(self, position: Mapping[str, Any]) -> bool:
        """Go on as if every batch before that position had been taken; what was not streamed then, or is new, begins here.

        After another number of readers what these had not read yet is divided; the pools that they had in memory come again. So does the
        pool of as many readers when it would be another one now. Returns whether such a pool was begun.
        """
        if "epoch" in position:
            return False
        before = [position[reader] for reader in sorted(position, key=int)]
        for key, reading in self._readings.items():
            if known := [one["texts"][key] for one in before if key in one["texts"]]:
                reading.seek(known)
        if len(before) != self.readers:
            self._begin(1 + max(one["pool"] for one in before), seen=0, dropped={})
            return False
        own = before[self.reader]
        self._begin(own["pool"], seen=own["seen"], dropped=own["dropped"])
        another = own.get("made_of", self.made_of) != self.made_of  # older checkpoints do not say
        if own["index"] and not another:
            self._turn()
            self._index = own["index"]
        return another and own["index"] > 0

    def take(self, *, is_local: bool = True) -> NDArray[numpy.int64]:
        """Corpus, shard and row of each pair of the next batch, and its place in the pool, (B, 4).

        own: whether it is for this process; those of others read other lines, and there is nothing to pass over. Raises DataError naming
        file and line for text that cannot be used, which is read some time before it is needed.
        """
        if not is_local:
            return numpy.empty((0, 4), dtype=numpy.int64)
        epochs = [reading.epoch for reading in self._readings.values()]
        while self._index >= len(self._batches):
            self._turn()
            if not self._batches and all(
                reading.epoch > 1 + epoch for reading, epoch in zip(self._readings.values(), epochs)
            ):
                raise DataError(
                    f"{self.dataset.name}: {nothing_left_message(self._pool.dropped, self._pool.rows_read)}"
                )
        places = self._batches[self._index]
        self._index += 1
        due = self._size * self._index // len(self._batches) - self._next.rows_read
        if due >= PORTION:
            self._next.read(due)
        return numpy.array(
            [(*self._pool.places[place], place) for place in places.tolist()], dtype=numpy.int64
        )

    def _begin(self, number: int, *, seen: int, dropped: Mapping[str, int]) -> None:
        """Without batches as yet, before the pool of that number; so many pairs were seen and left out in those before it."""
        self._pool, self._batches, self._index = (
            Pool(self.dataset, iter(())),
            list[NDArray[numpy.int64]](),
            0,
        )
        self._begin_next(number, seen, dropped)
        self._start = self._next_start

    def _begin_next(self, number: int, seen: int, dropped: Mapping[str, int]) -> None:
        texts = {key: reading.position for key, reading in self._readings.items()}
        self._next_start = {"pool": number, "seen": seen, "dropped": dict(dropped), "texts": texts}
        counts = self._counts(number)
        self._size = sum(counts)
        read = zip(self._readings.values(), counts)
        rows = (
            (text, *row) for text, (reading, own) in enumerate(read) for row in reading.take(own)
        )
        self._next = Pool(self.dataset, rows)

    def _turn(self) -> None:
        """The next pool is complete, and its batches are what is taken from now on."""
        self._next.read(self._size - self._next.rows_read)
        self._pool, self._start, self._index = self._next, self._next_start, 0
        named = f"{self.name}/{self.reader}/{self.readers}"
        self._batches = epoch_batches(
            *self._pool.lengths,
            self.config,
            seed=self.seed,
            task_name=named,
            epoch=self._start["pool"],
        )
        seen, dropped = (
            self._start["seen"] + self._pool.rows_read,
            Counter(self._start["dropped"]) + self._pool.dropped,
        )
        for key, reading in self._readings.items():
            if reading.epoch > self._start["texts"][key]["epoch"]:
                logger.info(
                    f"task {self.name}: epoch {reading.epoch + 1} of {reading.text.name} begins; "
                    f"{seen:,} sentence pairs read so far{dropped_suffix(dropped)}"
                )
        self._begin_next(self._start["pool"] + 1, seen, dropped)

    def _counts(self, pool: int) -> list[int]:
        """Lines of each corpus in a pool: all pools together come as near to the weights as whole lines can."""
        weights = [text.weight for text in self.dataset.texts]
        lines = [self.config.buffer * weight / sum(weights) for weight in weights]
        return [round((pool + 1) * own) - round(pool * own) for own in lines]

    def batch(self, taken: NDArray[numpy.int64]) -> Batch:
        """What was taken last, padded."""
        places = taken[:, 3].tolist()
        return Batch.from_sentences(
            self.dataset.task,
            [self._pool.sources[place] for place in places],
            [self._pool.targets[place] for place in places],
        )

    def names(self, taken: NDArray[numpy.int64]) -> list[str]:
        """Where each of its pairs stands, for messages."""
        shards = [
            (self.dataset.texts[text].shards[shard], row) for text, shard, row, _ in taken.tolist()
        ]
        return [f"{shard.name}, line {shard.first_line + row}" for shard, row in shards]


def _lengths(sentences: Sequence[Pieces]) -> NDArray[numpy.int32]:
    return numpy.fromiter(map(len, sentences), dtype=numpy.int32, count=len(sentences))
