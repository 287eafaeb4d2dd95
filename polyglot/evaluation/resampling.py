"""Resamples of the sentences of a text: bootstrap and randomisation, one resample after another.

The statistics of a text are a table with one row per sentence; a score is computed from their sum.
Memory does not grow with the number of resamples. The random numbers, and so the results, are the
same as those of sacreBLEU, which draws all resamples at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy
from numpy.typing import NDArray

TRIALS_PER_BLOCK = 32
"""Trials of the randomisation that are drawn together. A multiple of 32: numpy draws 32 bits at a
time and drops the rest at the end of a call."""

Table = NDArray[numpy.number]
"""Statistics, shape (sentences, statistics)."""


def bootstrap_sums(tables: list[Table], *, samples: int, seed: int | None) -> Iterator[list[Table]]:
    """Yield for each resample the sums of every table, as float32.

    All tables have the same sentences, and a resample takes the same sentences of each.
    """
    generator = numpy.random.default_rng(seed)
    sentences = len(tables[0])
    tables = [numpy.asarray(table, dtype=numpy.float32) for table in tables]
    buffers = [numpy.empty_like(table, order="C") for table in tables]
    for _ in range(samples):
        rows = generator.choice(sentences, size=sentences, replace=True)
        sums = []
        for table, buffer in zip(tables, buffers, strict=True):
            numpy.take(table, rows, axis=0, out=buffer, mode="clip")
            sums.append(buffer.sum(axis=0))
        yield sums


def randomised_sums(
    first: Table,
    second: Table,
    *,
    trials: int,
    seed: int | None,
) -> Iterator[tuple[Table, Table]]:
    """Yield for each trial the sums of two tables whose sentences are swapped at random."""
    generator = numpy.random.default_rng(seed)
    sentences = len(first)
    for start in range(0, trials, TRIALS_PER_BLOCK):
        count = min(TRIALS_PER_BLOCK, trials - start)
        is_first = generator.integers(2, size=(count, sentences), dtype=bool)
        yield from zip(
            _selected_sums(is_first, first) + _selected_sums(~is_first, second),
            _selected_sums(~is_first, first) + _selected_sums(is_first, second),
            strict=True,
        )


def _selected_sums(is_selected: NDArray[numpy.bool_], table: Table) -> Table:
    """Sums over the selected sentences of each trial, shape (trials, statistics).

    The statistics are whole numbers, whose sums are exact in float64; products of integers are slow
    in numpy.
    """
    sums = is_selected.astype(numpy.float64) @ table.astype(numpy.float64)
    return sums.astype(table.dtype)
