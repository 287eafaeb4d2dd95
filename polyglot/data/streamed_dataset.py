"""Sentence pairs of one task whose text is read while a model trains on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

import numpy
from numpy.typing import NDArray

from polyglot.core.errors import DataError, pluralize
from polyglot.data.arrays import Lengths, Mask, PieceIds
from polyglot.data.cache import fingerprint
from polyglot.data.content_filters import (
    DUPLICATE,
    OTHER_LANGUAGE,
    UNKNOWN_WORDS,
    has_many_unknown,
    in_other_language,
    repeated_pairs,
)
from polyglot.data.corpora import Corpora, StreamedText
from polyglot.data.filters import (
    FilterConfig,
    apply_filters,
    dropped_suffix,
    nothing_left_message,
)
from polyglot.tasks.batch import UNK
from polyglot.tasks.pairs import Task
from polyglot.text.preprocessing import Normaliser
from polyglot.text.vocabulary import Vocabulary

SAMPLE = 2048
"""Sentence pairs that are inspected before a stream is read."""

LARGEST_PORTION = 1 << 12
"""Largest number of lines that are tokenized together."""

Row = tuple[int, int, int, str, str]
"""(corpus, shard, row, source line, target line) of a sentence pair."""


class StreamedDataset:
    """Streamed text of one task; it is not read, except for a sample. Peer of `TaskDataset`."""

    def __init__(
        self,
        task: Task,
        corpora: Corpora,
        vocabularies: Mapping[str, Vocabulary],
        normalisers: Mapping[str, Normaliser],
        *,
        filters: FilterConfig,
    ) -> None:
        self.task = task
        self.filters = filters
        self.texts = corpora.streamed(task.pair)
        names = "; ".join(text.name for text in self.texts)
        self.name = f"{task.name} ({names})"
        self._source_vocabulary = vocabularies[task.source]
        self._target_vocabulary = vocabularies[task.target]
        self._source_normaliser = normalisers[task.source]
        self._target_normaliser = normalisers[task.target]

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the names and sizes of all files."""
        files = []
        for text in self.texts:
            for shard in text.shards:
                files.append(f"{shard.label} {shard.size}")
        return fingerprint(*files)

    @cached_property
    def texts_by_key(self) -> dict[str, StreamedText]:
        """Texts by their keys in a checkpoint; a key depends on the names of the files."""
        texts: dict[str, StreamedText] = {}
        for text in self.texts:
            labels = [shard.label for shard in text.shards]
            name = fingerprint(*labels)[:16]
            number = 1
            while f"{name}.{number}" in texts:  # the same files twice
                number += 1
            texts[f"{name}.{number}"] = text
        return texts

    @cached_property
    def estimated_size(self) -> int | None:
        """Estimated number of sentence pairs; None if a corpus cannot estimate it."""
        total = 0
        for text in self.texts:
            rows = text.estimate_rows()
            if rows is None:
                return None
            total += rows
        return total

    has_weights = False
    """Weights decide how often a text is read; the estimated size counts every sentence once."""

    def summary(self) -> str:
        """Number of files and sentences and effect of the filters, for the log."""
        files = sum(len(text.shards) for text in self.texts)
        if self.estimated_size is None:
            size = "unknown number of sentences"
        else:
            size = f"about {self.estimated_size:,} sentences"
        dropped = dropped_suffix(self.sample.dropped) or ", none left out"
        return (
            f"streamed from {pluralize(files, 'file')}, {size}; "
            f"of the first {self.sample.rows_read:,}{dropped}"
        )

    def shared_file_messages(self, readers: int) -> Iterator[str]:
        """Yield a line for the log for each corpus with fewer files than readers."""
        for text in self.texts:
            parts = len(text.shards)
            if parts < readers:
                yield (
                    f"{text.name} has {pluralize(parts, 'part')} for {readers} processes: "
                    f"each process reads all of it and uses one line of every {readers}"
                )

    @cached_property
    def sample(self) -> Pool:
        """The first sentence pairs. Raises DataError if the filters keep none of them."""
        pool = self._read_first(SAMPLE)
        if not pool.sources:
            message = nothing_left_message(pool.dropped, pool.rows_read)
            raise DataError(f"{self.name}: {message}")
        return pool

    @property
    def source_lengths(self) -> Lengths:
        """Source lengths of the sample, (N,)."""
        return self.sample.source_lengths

    @property
    def target_lengths(self) -> Lengths:
        """Target lengths of the sample, (N,)."""
        return self.sample.target_lengths

    @property
    def dropped(self) -> Mapping[str, int]:
        """Number of dropped pairs of the sample, by reason."""
        return self.sample.dropped

    def first_pairs(self, count: int) -> tuple[list[PieceIds], list[PieceIds]]:
        """Sources and targets of the kept pairs among the first `count` of all files."""
        pool = self._read_first(count)
        return pool.sources, pool.targets

    def _read_first(self, count: int) -> Pool:
        pool = Pool(self, self._first_rows(count))
        pool.read(count)
        return pool

    def _first_rows(self, count: int) -> Iterator[Row]:
        """Yield the first rows of every corpus, the same number of each."""
        rows_per_text = -(-count // len(self.texts))
        for number, text in enumerate(self.texts):
            for source, target in text.first_pairs(rows_per_text):
                yield number, 0, 0, source, target

    def tokenize(
        self,
        source_lines: Sequence[str],
        target_lines: Sequence[str],
    ) -> tuple[list[PieceIds], list[PieceIds]]:
        """Preprocess and tokenize the two lines of each pair."""
        source = self._source_normaliser
        target = self._target_normaliser
        if self.task.pair.is_copy:
            lines = [source.apply(line) for line in source_lines]
            pieces = _encode(self._source_vocabulary, lines)
            return pieces, pieces

        sources = []
        targets = []
        for source_line, target_line in zip(source_lines, target_lines, strict=True):
            source_text, target_text = source.apply_to_pair(source_line, target, target_line)
            sources.append(source_text)
            targets.append(target_text)
        return (
            _encode(self._source_vocabulary, sources),
            _encode(self._target_vocabulary, targets),
        )


class Pool:
    """Kept sentence pairs that are in memory together; rows are read gradually."""

    def __init__(self, dataset: StreamedDataset, rows: Iterator[Row]) -> None:
        """rows: sentence pairs that are read on demand."""
        self._dataset = dataset
        self._rows = rows
        self.sources: list[PieceIds] = []
        self.targets: list[PieceIds] = []
        self.locations: list[tuple[int, int, int]] = []
        """corpus, shard and row of each pair"""
        self.rows_read = 0
        """including dropped pairs"""
        self.dropped: Counter[str] = Counter()
        self._seen_pairs: set[tuple[bytes, bytes]] = set()

    @property
    def source_lengths(self) -> Lengths:
        """Lengths of the sources, (N,)."""
        return _lengths(self.sources)

    @property
    def target_lengths(self) -> Lengths:
        """Lengths of the targets, (N,)."""
        return _lengths(self.targets)

    def read(self, count: int) -> None:
        """Read more rows, or all that are left if they are fewer."""
        while rows := self._next_rows(count):
            *_, source_lines, target_lines = zip(*rows)
            sources, targets = self._dataset.tokenize(source_lines, target_lines)
            kept, dropped = apply_filters(
                _lengths(sources),
                _lengths(targets),
                self._dataset.filters,
                content=self._content_masks(source_lines, target_lines, sources, targets),
            )
            for number in numpy.flatnonzero(kept).tolist():
                corpus, shard, row, _, _ = rows[number]
                self.sources.append(sources[number])
                self.targets.append(targets[number])
                self.locations.append((corpus, shard, row))
            self.rows_read += len(rows)
            self.dropped.update(dropped)
            count -= len(rows)

    def _content_masks(
        self,
        source_lines: Sequence[str],
        target_lines: Sequence[str],
        sources: Sequence[PieceIds],
        targets: Sequence[PieceIds],
    ) -> dict[str, Mask]:
        """Pairs that the filters of the content drop, by reason."""
        filters = self._dataset.filters
        pair = self._dataset.task.pair
        masks: dict[str, Mask] = {}
        if filters.remove_duplicates:
            masks[DUPLICATE] = repeated_pairs(sources, targets, self._seen_pairs)
        if filters.max_other_language is not None:
            limit = filters.max_other_language
            other = in_other_language(source_lines, pair.source, limit)
            if not pair.is_copy:
                other |= in_other_language(target_lines, pair.target, limit)
            masks[OTHER_LANGUAGE] = other
        if filters.max_unknown is not None:
            unknown = (_unknown_counts(sources), _unknown_counts(targets))
            lengths = (_lengths(sources), _lengths(targets))
            masks[UNKNOWN_WORDS] = has_many_unknown(unknown, lengths, filters)
        return masks

    def _next_rows(self, count: int) -> list[Row]:
        size = min(count, LARGEST_PORTION)
        return list(islice(self._rows, size))


def _encode(vocabulary: Vocabulary, lines: list[str]) -> list[PieceIds]:
    pieces = []
    for ids in vocabulary.encode(lines):
        pieces.append(numpy.array(ids, dtype=numpy.int32))
    return pieces


def _lengths(sentences: Sequence[PieceIds]) -> Lengths:
    return numpy.fromiter(map(len, sentences), dtype=numpy.int32, count=len(sentences))


def _unknown_counts(sentences: Sequence[PieceIds]) -> NDArray[numpy.int64]:
    """Numbers of unknown pieces, (N,)."""
    counts = [numpy.count_nonzero(sentence == UNK) for sentence in sentences]
    return numpy.array(counts, dtype=numpy.int64)
