"""Groups of rows that belong together, with a union-find structure."""

from __future__ import annotations

from array import array

import numpy
from numpy.typing import NDArray

from polyglot.text.comparison_key import NO_SENTENCE, Hashes

PAIRS = 1 << 16
"""Pairs of rows that are Python objects at a time."""

Labels = NDArray[numpy.int64]
"""Smallest row of the group of each row, (N,)."""


class RowGroups:
    """Groups of N rows; at first, every row is a group."""

    def __init__(self, count: int) -> None:
        self._parents = array("q", range(count))
        """A row of the same group with a smaller or equal number."""

    def join_equal(self, hashes: Hashes) -> None:
        """Join the groups of rows with equal hashes (N,); `NO_SENTENCE` joins nothing."""
        order = numpy.argsort(hashes, kind="stable")
        ordered = hashes[order]
        is_repeated = ordered[1:] == ordered[:-1]
        is_repeated &= ordered[1:] != NO_SENTENCE
        places = numpy.flatnonzero(is_repeated)
        for start in range(0, len(places), PAIRS):
            chunk = places[start : start + PAIRS]
            first_rows = order[chunk].tolist()
            second_rows = order[chunk + 1].tolist()
            for first, second in zip(first_rows, second_rows, strict=True):
                self.join(first, second)

    def join(self, first: int, second: int) -> None:
        """Join the groups of two rows."""
        first_root = self._root(first)
        second_root = self._root(second)
        if first_root < second_root:
            self._parents[second_root] = first_root
        else:
            self._parents[first_root] = second_root

    def labels(self) -> Labels:
        """Return the smallest row of the group of each row, (N,)."""
        parents = numpy.array(self._parents, dtype=numpy.int64)
        while True:
            grandparents = parents[parents]
            if numpy.array_equal(parents, grandparents):
                return parents
            parents = grandparents

    def _root(self, row: int) -> int:
        """Return the smallest row of a group; shorten the way to it (path halving)."""
        parents = self._parents
        while parents[row] != row:
            parents[row] = parents[parents[row]]
            row = parents[row]
        return row
