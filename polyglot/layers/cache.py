"""Keys and values of what was written already, so that a step of decoding attends to them without computing them anew."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

ROOM = 16
"""Places that the first step makes room for; later it doubles."""


class Cache(NamedTuple):
    """What N hypotheses have written so far. Appending writes in place: a cache is passed on, never kept beside its successor."""

    keys: Tensor
    """(N, H, places, d), of which the first `length` are filled"""
    values: Tensor
    """the same for values"""
    length: int

    @classmethod
    def empty(cls, keys: Tensor) -> Cache:
        """For keys like these (N, H, 1, d)."""
        shape = (*keys.shape[:2], ROOM, keys.shape[3])
        return cls(keys.new_empty(shape), keys.new_empty(shape), 0)

    def append(self, keys: Tensor, values: Tensor) -> Cache:
        """One place more. keys and values (N, H, 1, d)"""
        cache = self if self.length < self.keys.shape[2] else Cache(_doubled(self.keys), _doubled(self.values), self.length)
        cache.keys[:, :, self.length] = keys.squeeze(2)
        cache.values[:, :, self.length] = values.squeeze(2)
        return cache._replace(length=self.length + 1)

    def filled(self) -> tuple[Tensor, Tensor]:
        """keys and values, each (N, H, T, d)"""
        return self.keys[:, :, : self.length], self.values[:, :, : self.length]

    def reorder(self, rows: Tensor) -> Cache:
        """Row n is the old row rows[n]. Whole rows are copied, room included: that is one block of memory each."""
        return Cache(self.keys.index_select(0, rows), self.values.index_select(0, rows), self.length)


def _doubled(filled: Tensor) -> Tensor:
    rows, heads, places, size = filled.shape
    larger = filled.new_empty(rows, heads, 2 * places, size)
    larger[:, :, :places] = filled
    return larger
