"""Filters of sentence pairs that look at their content: duplicates, languages, unknown words."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy
from numpy.typing import NDArray

from polyglot.data.arrays import Mask, PieceIds
from polyglot.data.cache import cached_dataset, fingerprint
from polyglot.data.dataset_fingerprint import dataset_fingerprint
from polyglot.data.filters import FilterConfig
from polyglot.tasks.batch import UNK
from polyglot.text.language_identification import (
    identifier_codes,
    other_language_probabilities,
)

if TYPE_CHECKING:
    import pyarrow
    from datasets import Dataset

logger = logging.getLogger("polyglot")

DUPLICATE = "duplicate"
OTHER_LANGUAGE = "other language"
UNKNOWN_WORDS = "unknown words"

IDENTIFIER_VERSION = 1
"""Part of every fingerprint of identified languages; increase it if the results change."""

LINES = 1 << 15
"""Lines of a text that are identified at a time."""

Hashes = NDArray[numpy.uint64]
"""Hash of each sentence, (N,)."""


def sentence_hashes(pieces: PieceIds, starts: NDArray[numpy.int64]) -> Hashes:
    """Hash the sentences of a text; equal sentences have equal hashes.

    pieces: those of all sentences in a row, (P,). starts: first piece of each sentence, and the end
    of the last one, (N + 1,). The hash is the sum of pieces times random odd numbers of their
    positions, modulo 2^64 (multilinear hashing).
    """
    pieces = pieces[starts[0] : starts[-1]]
    starts = starts.astype(numpy.int64) - int(starts[0])
    lengths = numpy.diff(starts)
    positions = numpy.arange(starts[-1]) - numpy.repeat(starts[:-1], lengths)
    multipliers = _multipliers(int(lengths.max(initial=0)) + 1)
    # A piece counts from 1, so that a longer sentence differs from its beginning.
    values = (pieces.astype(numpy.uint64) + numpy.uint64(1)) * multipliers[positions]
    sums = numpy.concatenate([numpy.zeros(1, numpy.uint64), numpy.cumsum(values, dtype="uint64")])
    return sums[starts[1:]] - sums[starts[:-1]]


def pair_hashes(sources: Hashes, targets: Hashes) -> Hashes:
    """Combine the hashes of both sides of each pair."""
    first, second = _multipliers(2)
    mixed = sources * first
    return (mixed ^ (mixed >> numpy.uint64(29))) * second + targets


def duplicates(hashes: Hashes) -> Mask:
    """True on each pair that is equal to an earlier one, (N,)."""
    _, first_numbers = numpy.unique(hashes, return_index=True)
    repeated = numpy.ones(len(hashes), dtype=bool)
    repeated[first_numbers] = False
    return repeated


def repeated_pairs(
    sources: Iterable[PieceIds],
    targets: Iterable[PieceIds],
    seen: set[tuple[bytes, bytes]],
) -> Mask:
    """True on each pair that is equal to an earlier one or one in `seen`, to which it is added."""
    repeated = []
    for source, target in zip(sources, targets, strict=True):
        pair = (source.tobytes(), target.tobytes())
        repeated.append(pair in seen)
        seen.add(pair)
    return numpy.array(repeated, dtype=bool)


def count_unknown(pieces: PieceIds, starts: NDArray[numpy.int64]) -> NDArray[numpy.int64]:
    """Count the unknown pieces of each sentence, (N,). Arguments as in `sentence_hashes`."""
    is_unknown = pieces == UNK
    sums = numpy.concatenate([[0], numpy.cumsum(is_unknown)])
    return numpy.diff(sums[starts])


def has_many_unknown(
    unknown: tuple[NDArray, NDArray],
    lengths: tuple[NDArray, NDArray],
    config: FilterConfig,
) -> Mask:
    """True on pairs with a larger share of unknown pieces than `max_unknown`, (N,).

    unknown: numbers of unknown pieces of sources and targets; lengths: of all their pieces.
    """
    if config.unknown_of == "pair":
        return sum(unknown) > config.max_unknown * sum(lengths)
    exceeds = [
        count > config.max_unknown * length for count, length in zip(unknown, lengths, strict=True)
    ]
    return exceeds[0] | exceeds[1]


def in_other_language(lines: Sequence[str], language: str, limit: float) -> Mask:
    """True on the lines that are identified as another language with a larger probability, (N,).

    All lines pass if the identifier does not know the language.
    """
    code = _identifier_code(language)
    if code is None:
        return numpy.zeros(len(lines), dtype=bool)
    return numpy.array(other_language_probabilities(lines, code)) > limit


def text_in_other_language(text: Dataset, language: str, limit: float) -> Mask:
    """`in_other_language` for all rows of a cached text; the probabilities are cached."""
    code = _identifier_code(language)
    if code is None:
        return numpy.zeros(len(text), dtype=bool)

    def tables() -> Iterator[pyarrow.Table]:
        import pyarrow

        for rows in text.with_format("arrow").iter(batch_size=LINES):
            lines = rows.column("text").to_pylist()
            probabilities = other_language_probabilities(lines, code)
            array = pyarrow.array(probabilities, pyarrow.float64())
            yield pyarrow.table({"probability": array})

    origin = dataset_fingerprint(text)
    name = fingerprint("other language", IDENTIFIER_VERSION, origin, code)
    probabilities = cached_dataset(name, tables).data.column("probability").to_numpy()
    return probabilities > limit


@cache
def _identifier_code(language: str) -> str | None:
    """Code of a language for the identifier; None, with a line in the log, for an unknown one."""
    code = identifier_codes([language]).get(language)
    if code is None:
        logger.info(
            f"py3langid does not know {language}; its sentences are not filtered by language"
        )
    return code


def _multipliers(count: int) -> NDArray[numpy.uint64]:
    """The first odd random numbers of a fixed sequence."""
    random = numpy.random.Generator(numpy.random.Philox(key=0))
    numbers = random.integers(0, 2**64, size=count, dtype=numpy.uint64)
    return numbers | numpy.uint64(1)
