"""The sentence pairs of one task as piece numbers: tokenised once, cached on disk, gathered into batches."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy
from numpy.typing import NDArray

from polyglot.core.errors import DataError
from polyglot.data.cache import cached_dataset, fingerprint
from polyglot.data.corpora import Corpora, ParallelText
from polyglot.data.filters import FilterConfig, filter_pairs, dropped_suffix
from polyglot.tasks.batch import Batch
from polyglot.tasks.pairs import Task
from polyglot.text.preprocessing import Normaliser
from polyglot.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    import pyarrow
    from datasets import Dataset

VERSION = 1  # part of every fingerprint here: to be raised when the same text gives other pieces
LINES = 1 << 15  # tokenised at once; also one chunk of the table


class TaskDataset:
    """What one epoch of one task holds: N sentence pairs that the filters kept, repeated as the weights of their corpora say.

    Raises DataError when none is left.
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
        self.task = task
        self.dropped: dict[str, int] = {}
        self._parts = [
            _Part(text, task, vocabularies, normalisers) for text in corpora.parallel(task.pair)
        ]
        rows = self._kept(filters)
        weighted = [
            _weighted(own, part.text.weight, seed=seed)
            for own, part in zip(rows, self._parts, strict=True)
        ]
        if any(map(len, rows)) and not any(map(len, weighted)):
            raise DataError(_none_left(rows, self._parts, task))
        self._part = numpy.repeat(
            numpy.arange(len(self._parts), dtype=numpy.int32), [len(own) for own in weighted]
        )  # (N,)
        self._row = numpy.concatenate(weighted)  # (N,)
        self.source_lengths = numpy.concatenate(
            [part.source.lengths[own] for part, own in zip(self._parts, weighted, strict=True)]
        )
        self.target_lengths = numpy.concatenate(
            [part.target.lengths[own] for part, own in zip(self._parts, weighted, strict=True)]
        )

    def __len__(self) -> int:
        return len(self._row)

    def summary(self) -> str:
        """For the log."""
        return f"{len(self)} sentences{dropped_suffix(self.dropped)}"

    @cached_property
    def fingerprint(self) -> str:
        """Of the pieces of every pair in their order, and so of what a position in the data means; a file that was only moved keeps it."""
        digest = hashlib.sha256()
        texts = [
            numbers
            for part in self._parts
            for text in (part.source, part.target)
            for numbers in text.arrays
        ]
        for numbers in (self._part, self._row, *texts):
            digest.update(numbers)
        return digest.hexdigest()

    def first_pairs(self, number: int) -> tuple[list[NDArray[numpy.int32]], list[NDArray[numpy.int32]]]:
        """Sources and targets of the first pairs."""
        return self.pieces(range(min(number, len(self))))

    def pieces(
        self, indices: Sequence[int] | NDArray[numpy.int64]
    ) -> tuple[list[NDArray[numpy.int32]], list[NDArray[numpy.int32]]]:
        """Sources and targets of the pairs at those indices."""
        places = list(self._places(indices))
        return [self._parts[part].source[row] for part, row in places], [
            self._parts[part].target[row] for part, row in places
        ]

    def batch(self, indices: Sequence[int] | NDArray[numpy.int64]) -> Batch:
        """The pairs at those indices, padded."""
        return Batch.from_sentences(self.task, *self.pieces(indices))

    def texts(self, indices: Sequence[int] | NDArray[numpy.int64]) -> tuple[list[str], list[str]]:
        """The lines of those pairs as they stand in the corpus, before any step."""
        places = list(self._places(indices))
        sources = [self._parts[part].text.source[row]["text"] for part, row in places]
        targets = [self._parts[part].text.target[row]["text"] for part, row in places]
        return sources, targets

    def names(self, indices: Sequence[int] | NDArray[numpy.int64]) -> list[str]:
        """Where those pairs come from, for messages: `train.{language}.gz, line 7`."""
        texts = [(self._parts[part].text, row) for part, row in self._places(indices)]
        return [f"{text.name}, line {text.first_line + row}" for text, row in texts]

    def _places(self, indices: Sequence[int] | NDArray[numpy.int64]) -> Iterator[tuple[int, int]]:
        indices = numpy.asarray(indices)
        return zip(self._part[indices].tolist(), self._row[indices].tolist(), strict=True)

    def _kept(self, filters: FilterConfig | None) -> list[NDArray[numpy.int64]]:
        """Rows of each part that stay; judged together, since one corpus may lose all its sentences when another has some."""
        if filters is None:
            return [numpy.arange(len(part.source)) for part in self._parts]
        sources = numpy.concatenate([part.source.lengths for part in self._parts])
        targets = numpy.concatenate([part.target.lengths for part in self._parts])
        kept, self.dropped = filter_pairs(
            sources,
            targets,
            filters,
            name=f"{self.task.name} ({'; '.join(part.text.name for part in self._parts)})",
        )
        ends = numpy.cumsum([len(part.source) for part in self._parts])
        return [numpy.flatnonzero(own) for own in numpy.split(kept, ends[:-1])]


class _Part:
    """What one corpus gives to the task."""

    def __init__(
        self,
        text: ParallelText,
        task: Task,
        vocabularies: Mapping[str, Vocabulary],
        normalisers: Mapping[str, Normaliser],
    ) -> None:
        self.text = text
        source, target = normalisers[task.source], normalisers[task.target]
        if (
            source.symbols and not task.pair.is_copy
        ):  # what becomes a symbol on one side depends on the other
            made_of = (
                text.source._fingerprint,
                text.target._fingerprint,
                source.fingerprint,
                target.fingerprint,
            )
            side = lambda number: (
                lambda: (lines[number] for lines in _together(text, source, target))
            )  # noqa: E731
            self.source = Pieces(side(0), vocabularies[task.source], made_of=("source", *made_of))
            self.target = Pieces(side(1), vocabularies[task.target], made_of=("target", *made_of))
        else:
            self.source = self._alone(text.source, vocabularies[task.source], source)
            self.target = (
                self.source
                if task.pair.is_copy
                else self._alone(text.target, vocabularies[task.target], target)
            )

    @staticmethod
    def _alone(text: Dataset, vocabulary: Vocabulary, normaliser: Normaliser) -> Pieces:
        def blocks() -> Iterator[list[str]]:
            for lines in _blocks(text):
                yield (
                    [normaliser.apply(line) for line in lines] if normaliser.fingerprint else lines
                )

        return Pieces(blocks, vocabulary, made_of=(text._fingerprint, normaliser.fingerprint))


def _blocks(text: Dataset) -> Iterator[list[str]]:
    for rows in text.with_format("arrow").iter(batch_size=LINES):
        yield rows.column("text").to_pylist()


def _together(
    text: ParallelText, source: Normaliser, target: Normaliser
) -> Iterator[tuple[list[str], list[str]]]:
    """Blocks of source lines and target lines, with symbols where they match."""
    for blocks in zip(_blocks(text.source), _blocks(text.target), strict=True):
        pairs = [source.pair(line, target, other) for line, other in zip(*blocks, strict=True)]
        yield [own for own, _ in pairs], [other for _, other in pairs]


class Pieces:
    """The piece numbers of every row of a text, memory-mapped; made once for each text, vocabulary and steps before it."""

    def __init__(
        self,
        blocks: Callable[[], Iterator[list[str]]],
        vocabulary: Vocabulary,
        *,
        made_of: Sequence[str],
    ) -> None:
        """blocks: the lines as the vocabulary gets them. made_of: fingerprints of all that they depend on."""

        def tables() -> Iterator[pyarrow.Table]:
            import pyarrow

            for lines in blocks():
                yield pyarrow.table(
                    {
                        "pieces": pyarrow.array(
                            vocabulary.encode(lines), pyarrow.list_(pyarrow.int32())
                        )
                    }
                )

        name = fingerprint("pieces", VERSION, *made_of, vocabulary.sha256)
        chunks = cached_dataset(name, tables).data.column("pieces").chunks
        # views of the file: `starts` of a chunk has one entry more than it has rows
        self._pieces = [chunk.values.to_numpy() for chunk in chunks]
        self._starts = [chunk.offsets.to_numpy() for chunk in chunks]
        self._first = numpy.cumsum([0, *map(len, chunks)])  # row that each chunk begins with
        self.lengths: NDArray[numpy.int32] = numpy.concatenate(
            [numpy.diff(starts) for starts in self._starts]
        )

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def arrays(self) -> list[NDArray[numpy.int32]]:
        """All that it holds: the length of every row, and the pieces one after the other."""
        return [self.lengths, *self._pieces]

    def __getitem__(self, row: int) -> NDArray[numpy.int32]:
        chunk = int(numpy.searchsorted(self._first, row, side="right")) - 1
        start, end = self._starts[chunk][row - self._first[chunk] :][:2]
        return self._pieces[chunk][start:end]


def _none_left(rows: Sequence[NDArray[numpy.int64]], parts: Sequence[_Part], task: Task) -> str:
    """The sentence for weights so small that not one sentence pair is drawn."""
    each = [
        f"weight {part.text.weight:g} leaves none of the {len(own)} pairs of {task.name}"
        for own, part in zip(rows, parts)
        if len(own)
    ]
    return f"{'; '.join(each)}; give {'it' if len(each) == 1 else 'one of them'} a larger weight in data.train"


def _weighted(rows: NDArray[numpy.int64], weight: float, *, seed: int) -> NDArray[numpy.int64]:
    """Every row as many times as the weight has wholes, and a seeded draw for the rest, in the order of the corpus."""
    times, rest = divmod(weight, 1)
    drawn = numpy.random.default_rng(seed).permutation(len(rows))[: round(rest * len(rows))]
    return numpy.sort(numpy.concatenate([numpy.tile(rows, int(times)), rows[drawn]]))
