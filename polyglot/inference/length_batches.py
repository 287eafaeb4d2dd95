"""Batches of sentences of similar length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy


def length_batches(
    lengths: Sequence[int],
    *,
    max_sentences: int,
    max_positions: int,
    keep_empty: bool = False,
) -> Iterator[list[int]]:
    """Yield the row numbers of each batch, the longest sentences first.

    A batch has at most `max_sentences` sentences and, with padding, at most `max_positions`
    positions, so that a very long sentence is alone. Rows of equal length keep their order.
    Rows of length 0 are left out unless `keep_empty`.
    """
    array = numpy.asarray(lengths, dtype=numpy.int64)
    order = numpy.argsort(-array, kind="stable")
    if not keep_empty:
        order = order[array[order] > 0]
    rows = order.tolist()

    start = 0
    while start < len(rows):
        longest = max(1, int(array[rows[start]]))
        count = min(max_sentences, max(1, max_positions // longest))
        yield rows[start : start + count]
        start += count
