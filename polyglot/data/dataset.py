"""Sentence pairs of a task as piece ids: tokenized once, cached on disk, gathered into batches."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import numpy
from numpy.typing import NDArray

from polyglot.core.errors import DataError
from polyglot.data.arrays import Indices, Lengths, Mask, PieceIds
from polyglot.data.cache import cached_dataset, fingerprint
from polyglot.data.content_filters import (
    DUPLICATE,
    OTHER_LANGUAGE,
    UNKNOWN_WORDS,
    Hashes,
    count_unknown,
    duplicates,
    has_many_unknown,
    pair_hashes,
    sentence_hashes,
    text_in_other_language,
)
from polyglot.data.corpora import Corpora, ParallelText
from polyglot.data.corpus_weights import repeat_by_weight
from polyglot.data.dataset_fingerprint import dataset_fingerprint
from polyglot.data.filters import FilterConfig, dropped_suffix, filter_pairs
from polyglot.tasks.batch import Batch
from polyglot.tasks.pairs import LanguagePair, Task
from polyglot.text.preprocessing import Normaliser
from polyglot.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    import pyarrow
    from datasets import Dataset

VERSION = 1
"""Part of every fingerprint of tokenized text; increase it if the same text gives other pieces."""

LINES = 1 << 15
"""Lines that are tokenized at a time, and rows of a chunk of the table."""

_open_texts: WeakValueDictionary[str, TokenizedText] = WeakValueDictionary()
"""Tokenized texts in use, by fingerprint: with 100 languages, each belongs to 99 tasks."""

PairNumbers = Sequence[int] | Indices
"""Sentence pairs of a dataset by number."""

Rows = Indices
"""Rows of a text, in any order and number."""


class TaskDataset:
    """The N sentence pairs of one epoch of a task.

    These are the pairs that the filters keep, repeated according to the weights of their corpora.
    Raises DataError if no pair is left.
    """

    def __init__(
        self,
        task: Task,
        corpora: Corpora,
        vocabularies: Mapping[str, Vocabulary],
        normalisers: Mapping[str, Normaliser],
        *,
        filters: FilterConfig | None,
        seed: int,
    ) -> None:
        """seed: for the choice of sentences if a weight is not a whole number."""
        self.task = task
        self.dropped: dict[str, int] = {}
        self._corpora: list[_TokenizedCorpus] = []
        for text in corpora.parallel(task.pair):
            self._corpora.append(_TokenizedCorpus(text, task, vocabularies, normalisers))

        kept_rows = self._filter(filters)
        rows = []
        for corpus, corpus_rows in zip(self._corpora, kept_rows, strict=True):
            rows.append(repeat_by_weight(corpus_rows, corpus.text.weight, seed=seed))
        some_kept = any(map(len, kept_rows))
        some_repeated = any(map(len, rows))
        if some_kept and not some_repeated:
            raise DataError(_small_weights_message(kept_rows, self._corpora, task))
        self._set_rows(rows)

    def _set_rows(self, rows: Sequence[Rows]) -> None:
        """Set corpus, row and lengths of every pair from the rows of each corpus."""
        source_lengths = []
        target_lengths = []
        for corpus, corpus_rows in zip(self._corpora, rows, strict=True):
            source_lengths.append(corpus.source.lengths[corpus_rows])
            target_lengths.append(corpus.target.lengths[corpus_rows])
        self.source_lengths = numpy.concatenate(source_lengths)  # (N,)
        self.target_lengths = numpy.concatenate(target_lengths)  # (N,)

        numbers = numpy.arange(len(self._corpora), dtype=numpy.int32)
        sizes = [len(corpus_rows) for corpus_rows in rows]
        self._corpus_numbers = numpy.repeat(numbers, sizes)  # (N,)
        self._rows = numpy.concatenate(rows)  # (N,)

    def __len__(self) -> int:
        return len(self._rows)

    def summary(self) -> str:
        """Number of kept and dropped sentence pairs, for the log."""
        sentences = f"{len(self)} sentences"
        if self.has_weights:
            sentences += " in an epoch, with the weights of the corpora"
        return f"{sentences}{dropped_suffix(self.dropped)}"

    @property
    def has_weights(self) -> bool:
        """True if the sentences of a corpus are repeated, or only some are in an epoch.

        `dropped` counts every sentence pair once.
        """
        return any(corpus.text.weight != 1 for corpus in self._corpora)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the pieces of every pair in order, to which a position in the data refers.

        It does not depend on the paths of the files.
        """
        digest = hashlib.sha256()
        digest.update(self._corpus_numbers)
        digest.update(self._rows)
        for corpus in self._corpora:
            for text in (corpus.source, corpus.target):
                for array in text.arrays:
                    digest.update(array)
        return digest.hexdigest()

    def first_pairs(self, count: int) -> tuple[list[PieceIds], list[PieceIds]]:
        """Sources and targets of the first pairs."""
        return self.pieces(range(min(count, len(self))))

    def pieces(self, indices: PairNumbers) -> tuple[list[PieceIds], list[PieceIds]]:
        """Sources and targets of the pairs with these indices."""
        sources = []
        targets = []
        for corpus, row in self._locations(indices):
            sources.append(corpus.source[row])
            targets.append(corpus.target[row])
        return sources, targets

    def batch(self, indices: PairNumbers) -> Batch:
        """Gather and pad the pairs with these indices."""
        sources, targets = self.pieces(indices)
        return Batch.from_sentences(self.task, sources, targets)

    def texts(self, indices: PairNumbers) -> tuple[list[str], list[str]]:
        """Source and target lines of the pairs as they are in the corpus, without preprocessing."""
        sources = []
        targets = []
        for corpus, row in self._locations(indices):
            sources.append(corpus.text.source[row]["text"])
            targets.append(corpus.text.target[row]["text"])
        return sources, targets

    def names(self, indices: PairNumbers) -> list[str]:
        """File and line of each pair, for messages: `train.de + train.en, line 7`."""
        names = []
        for corpus, row in self._locations(indices):
            line = corpus.text.first_line + row
            names.append(f"{corpus.text.name}, line {line}")
        return names

    def _locations(self, indices: PairNumbers) -> Iterator[tuple[_TokenizedCorpus, int]]:
        """Corpus and row of each pair."""
        indices = numpy.asarray(indices)
        numbers = self._corpus_numbers[indices].tolist()
        rows = self._rows[indices].tolist()
        for number, row in zip(numbers, rows, strict=True):
            yield self._corpora[number], row

    def _filter(self, filters: FilterConfig | None) -> list[Rows]:
        """Rows of each corpus that the filters keep.

        All corpora are filtered together: one of them may lose all its sentences.
        """
        if filters is None:
            return [numpy.arange(len(corpus.source)) for corpus in self._corpora]

        names = "; ".join(corpus.text.name for corpus in self._corpora)
        source_lengths = [corpus.source.lengths for corpus in self._corpora]
        target_lengths = [corpus.target.lengths for corpus in self._corpora]
        kept, self.dropped = filter_pairs(
            numpy.concatenate(source_lengths),
            numpy.concatenate(target_lengths),
            filters,
            name=f"{self.task.name} ({names})",
            content=self._content_masks(filters),
        )
        ends = numpy.cumsum([len(lengths) for lengths in source_lengths])
        masks = numpy.split(kept, ends[:-1])
        return [numpy.flatnonzero(mask) for mask in masks]

    def _content_masks(self, filters: FilterConfig) -> dict[str, Mask]:
        """Pairs of all corpora that the filters of the content drop, by reason."""
        masks: dict[str, Mask] = {}
        if filters.remove_duplicates:
            hashes = [corpus.pair_hashes() for corpus in self._corpora]
            masks[DUPLICATE] = duplicates(numpy.concatenate(hashes))
        if filters.max_other_language is not None:
            limit = filters.max_other_language
            others = [corpus.in_other_language(self.task.pair, limit) for corpus in self._corpora]
            masks[OTHER_LANGUAGE] = numpy.concatenate(others)
        if filters.max_unknown is not None:
            unknown = [corpus.has_many_unknown(filters) for corpus in self._corpora]
            masks[UNKNOWN_WORDS] = numpy.concatenate(unknown)
        return masks


class _TokenizedCorpus:
    """Text of one corpus for the task, with its pieces."""

    def __init__(
        self,
        text: ParallelText,
        task: Task,
        vocabularies: Mapping[str, Vocabulary],
        normalisers: Mapping[str, Normaliser],
    ) -> None:
        self.text = text
        source = normalisers[task.source]
        target = normalisers[task.target]
        source_vocabulary = vocabularies[task.source]
        target_vocabulary = vocabularies[task.target]
        if task.pair.is_copy:
            self.source = _tokenize(text.source, source_vocabulary, source)
            self.target = self.source
        elif source.symbols:
            self.source = _tokenize_with_symbols(0, text, source_vocabulary, source, target)
            self.target = _tokenize_with_symbols(1, text, target_vocabulary, source, target)
        else:
            self.source = _tokenize(text.source, source_vocabulary, source)
            self.target = _tokenize(text.target, target_vocabulary, target)

    def pair_hashes(self) -> Hashes:
        """Hash of the pieces of each pair, (N,)."""
        return pair_hashes(self.source.hashes(), self.target.hashes())

    def in_other_language(self, pair: LanguagePair, limit: float) -> Mask:
        """True on pairs with a side that is identified as another language, (N,)."""
        other = text_in_other_language(self.text.source, pair.source, limit)
        if pair.is_copy:
            return other
        return other | text_in_other_language(self.text.target, pair.target, limit)

    def has_many_unknown(self, filters: FilterConfig) -> Mask:
        """True on pairs with too many unknown pieces, (N,)."""
        return has_many_unknown(
            (self.source.unknown_counts(), self.target.unknown_counts()),
            (self.source.lengths, self.target.lengths),
            filters,
        )


class TokenizedText:
    """Piece ids of every row of a text, memory-mapped.

    They are computed once for each text, preprocessing and vocabulary.
    """

    def __init__(
        self,
        blocks: Callable[[], Iterator[list[str]]],
        vocabulary: Vocabulary,
        *,
        origin: Sequence[str],
    ) -> None:
        """blocks: yields the preprocessed lines. origin: fingerprints of all they depend on."""

        def tables() -> Iterator[pyarrow.Table]:
            import pyarrow

            column_type = pyarrow.list_(pyarrow.int32())
            for lines in blocks():
                pieces = pyarrow.array(vocabulary.encode(lines), column_type)
                yield pyarrow.table({"pieces": pieces})

        name = fingerprint("pieces", VERSION, *origin, vocabulary.sha256)
        chunks = cached_dataset(name, tables).data.column("pieces").chunks
        # Views of the file: `_starts` of a chunk has one entry more than the chunk has rows.
        self._pieces = [chunk.values.to_numpy() for chunk in chunks]
        self._starts = [chunk.offsets.to_numpy() for chunk in chunks]
        self._first_rows = numpy.cumsum([0, *map(len, chunks)])  # first row of each chunk
        lengths = [numpy.diff(starts) for starts in self._starts]
        self.lengths: Lengths = numpy.concatenate(lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def arrays(self) -> list[PieceIds]:
        """Full content: the length of every row, then all pieces in order."""
        return [self.lengths, *self._pieces]

    def hashes(self) -> Hashes:
        """Hash of the pieces of each row, (N,)."""
        hashes = []
        for pieces, starts in zip(self._pieces, self._starts, strict=True):
            hashes.append(sentence_hashes(pieces, starts))
        return numpy.concatenate(hashes)

    def unknown_counts(self) -> NDArray[numpy.int64]:
        """Number of unknown pieces of each row, (N,)."""
        counts = []
        for pieces, starts in zip(self._pieces, self._starts, strict=True):
            counts.append(count_unknown(pieces, starts))
        return numpy.concatenate(counts)

    def __getitem__(self, row: int) -> PieceIds:
        chunk = int(numpy.searchsorted(self._first_rows, row, side="right")) - 1
        row_of_chunk = row - self._first_rows[chunk]
        start, end = self._starts[chunk][row_of_chunk : row_of_chunk + 2]
        return self._pieces[chunk][start:end]


def _tokenize(text: Dataset, vocabulary: Vocabulary, normaliser: Normaliser) -> TokenizedText:
    """Tokenize one side of a text; its sentences do not depend on the other side."""

    def blocks() -> Iterator[list[str]]:
        for lines in _text_blocks(text):
            if normaliser.fingerprint:
                lines = [normaliser.apply(line) for line in lines]
            yield lines

    origin = (dataset_fingerprint(text), normaliser.fingerprint)
    name = fingerprint(*origin, vocabulary.sha256)
    tokenized = _open_texts.get(name)
    if tokenized is None:
        tokenized = TokenizedText(blocks, vocabulary, origin=origin)
        _open_texts[name] = tokenized
    return tokenized


def _tokenize_with_symbols(
    side: int,
    text: ParallelText,
    vocabulary: Vocabulary,
    source: Normaliser,
    target: Normaliser,
) -> TokenizedText:
    """Tokenize the source (side 0) or target (side 1) of a text with symbols.

    A word becomes a symbol only if it has a match on the other side of the pair.
    """

    def blocks() -> Iterator[list[str]]:
        source_blocks = _text_blocks(text.source)
        target_blocks = _text_blocks(text.target)
        for source_lines, target_lines in zip(source_blocks, target_blocks, strict=True):
            lines = []
            for source_line, target_line in zip(source_lines, target_lines, strict=True):
                pair = source.apply_to_pair(source_line, target, target_line)
                lines.append(pair[side])
            yield lines

    origin = (
        "source" if side == 0 else "target",
        dataset_fingerprint(text.source),
        dataset_fingerprint(text.target),
        source.fingerprint,
        target.fingerprint,
    )
    return TokenizedText(blocks, vocabulary, origin=origin)


def _text_blocks(text: Dataset) -> Iterator[list[str]]:
    for rows in text.with_format("arrow").iter(batch_size=LINES):
        yield rows.column("text").to_pylist()


def _small_weights_message(
    kept_rows: Sequence[Rows],
    corpora: Sequence[_TokenizedCorpus],
    task: Task,
) -> str:
    """Message for weights that are too small to draw a single sentence pair."""
    parts = []
    for rows, corpus in zip(kept_rows, corpora):
        if len(rows):
            weight = f"weight {corpus.text.weight:g}"
            parts.append(f"{weight} leaves none of the {len(rows)} pairs of {task.name}")
    corpus_name = "it" if len(parts) == 1 else "one of them"
    return f"{'; '.join(parts)}; give {corpus_name} a larger weight in data.train"
