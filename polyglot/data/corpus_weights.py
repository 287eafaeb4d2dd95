"""Weights of corpora: repetitions of each sentence pair in an epoch."""

from __future__ import annotations

import numpy

from polyglot.data.arrays import Indices


def repeat_by_weight(rows: Indices, weight: float, *, seed: int) -> Indices:
    """Repeat every row by the whole part of the weight; draw a random subset for the fraction.

    The result is sorted by row.
    """
    if weight == 1:
        return rows
    times, rest = divmod(weight, 1)
    order = numpy.random.default_rng(seed).permutation(len(rows))
    drawn = order[: round(rest * len(rows))]
    repeated = numpy.tile(rows, int(times))
    return numpy.sort(numpy.concatenate([repeated, rows[drawn]]))
