"""Key-value cache: a decoding step does not recompute keys and values of the prefix.

All hypotheses of a sentence write to one cache, and a mask says which places belong to the prefix
of a hypothesis. So nothing is copied when hypotheses change their order or share a prefix, and all
queries of a sentence meet its keys in one product.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

ROOM = 16
"""Places of a new cache, and the least number of places for each hypothesis later."""


class KeyValueCache(NamedTuple):
    """Keys and values that the hypotheses of B sentences have written.

    Writing is in place: use only the newest cache, never an earlier one beside it.
    """

    keys: Tensor
    """(B, H, room, d)"""
    values: Tensor
    """(B, H, room, d)"""

    @classmethod
    def empty(cls, states: Tensor, *, heads: int, size: int) -> KeyValueCache:
        """Empty cache for H heads of total size D, with the sentences and type of states (B, …)."""
        shape = (len(states), heads, ROOM, size // heads)
        return cls(states.new_empty(shape), states.new_empty(shape))

    def write(self, first: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Write keys and values (B, H, M, d) from place `first` on; return all, (B, H, P, d)."""
        last = first + keys.shape[2]
        self.keys[:, :, first:last] = keys
        self.values[:, :, first:last] = values
        return self.keys[:, :, :last], self.values[:, :, :last]

    def gather_places(self, places: Tensor, room: int) -> KeyValueCache:
        """New cache with these places (B, P) of each sentence, and `room` places in total."""
        sentences, heads, old_room, size = self.keys.shape
        chosen = functional.pad(places, (0, room - places.shape[1]))  # any place fills the rest
        blocks = torch.arange(sentences * heads, device=places.device).view(sentences, heads, 1)
        rows = (blocks * old_room + chosen.unsqueeze(1)).flatten()
        shape = (sentences, heads, room, size)
        keys = self.keys.reshape(-1, size).index_select(0, rows).view(shape)
        values = self.values.reshape(-1, size).index_select(0, rows).view(shape)
        return KeyValueCache(keys, values)

    def select(self, sentences: Tensor) -> KeyValueCache:
        """Cache of these sentences (B')."""
        return KeyValueCache(
            select_rows_in_place(self.keys, sentences), select_rows_in_place(self.values, sentences)
        )


def select_rows_in_place(rows: Tensor, index: Tensor) -> Tensor:
    """Select distinct rows in the memory of the tensor, and copy only the rows that move.

    (B, …) -> (B', …)
    """
    moved = (index != torch.arange(len(index), device=index.device)).nonzero().squeeze(1)
    rows[moved] = rows[index[moved]]
    return rows[: len(index)]


class CacheMask(NamedTuple):
    """Places of the cache that each hypothesis attends to."""

    penalty: Tensor
    """(N, P): 0 at the places of the hypothesis's prefix, -inf elsewhere"""
    room: int
    """Places of the caches."""

    @classmethod
    def empty(cls, states: Tensor) -> CacheMask:
        """Mask before the first word, for one hypothesis of each sentence. states (B, …)"""
        return cls(states.new_zeros(len(states), 0), ROOM)

    @property
    def places(self) -> int:
        return self.penalty.shape[1]

    def with_own_places(self, sentences: int) -> CacheMask:
        """Add a place for each hypothesis, which only this hypothesis attends to."""
        hypotheses = len(self.penalty) // sentences
        new_places = self.penalty.new_full((hypotheses, hypotheses), -torch.inf)
        new_places.fill_diagonal_(0.0)
        penalty = torch.cat([self.penalty, new_places.repeat(sentences, 1)], dim=1)
        return self._replace(penalty=penalty)

    def is_full(self, hypotheses: int) -> bool:
        """True if the caches cannot hold another place of each hypothesis."""
        return self.places + hypotheses > self.room

    def compact(self, sentences: int) -> tuple[Tensor, CacheMask]:
        """Drop the places that no hypothesis attends to, and make room for twice as many.

        Returns the places to keep (B, P') and the mask over them.
        """
        by_sentence = self.penalty.unflatten(0, (sentences, -1))  # (B, M, P)
        hypotheses = by_sentence.shape[1]
        is_used = (by_sentence == 0).any(dim=1)
        width = int(is_used.sum(dim=1).max())
        used_first = is_used.to(torch.int8).sort(dim=1, descending=True, stable=True).indices
        places = used_first[:, :width]
        index = places.unsqueeze(1).expand(-1, hypotheses, -1)
        penalty = by_sentence.gather(2, index).flatten(0, 1)
        room = max(ROOM * hypotheses, 2 * (width + hypotheses))
        return places, CacheMask(penalty, room)

    def reorder(self, rows: Tensor) -> CacheMask:
        """Hypothesis n continues the old hypothesis rows[n]."""
        return self._replace(penalty=self.penalty.index_select(0, rows))
