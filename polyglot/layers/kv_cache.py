"""Keys and values of what was written already, so that a step of decoding attends to them without computing them anew.

The hypotheses of a sentence write to one cache and say which of its places are their own past (`seen`). So nothing is copied when
hypotheses change their order or have the same past, and the queries of a sentence meet its keys in one product.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

ROOM = 16
"""Places that there is room for at first, and later for each hypothesis at least."""


class Cache(NamedTuple):
    """What the hypotheses of B sentences have written. Writing is in place: a cache is passed on, never kept beside its successor."""

    keys: Tensor
    """(B, H, room, d)"""
    values: Tensor
    """the same for values"""

    @classmethod
    def empty(cls, states: Tensor, *, heads: int, size: int) -> Cache:
        """For H heads of together that size, and sentences and a type like those of the states (B, ...)."""
        shape = (len(states), heads, ROOM, size // heads)
        return cls(states.new_empty(shape), states.new_empty(shape))

    def write(self, first: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Put keys and values (B, H, M, d) behind the `first` places -> all that is written, each (B, H, P, d)"""
        last = first + keys.shape[2]
        self.keys[:, :, first:last], self.values[:, :, first:last] = keys, values
        return self.keys[:, :, :last], self.values[:, :, :last]

    def keep(self, places: Tensor, room: int) -> Cache:
        """These places (B, P) of each sentence, in a cache with that much room."""
        sentences, heads, old, size = self.keys.shape
        chosen = functional.pad(places, (0, room - places.shape[1]))  # behind them anything
        blocks = torch.arange(sentences * heads, device=places.device).view(sentences, heads, 1)
        rows = (blocks * old + chosen.unsqueeze(1)).flatten()
        return Cache(
            *(
                part.reshape(-1, size).index_select(0, rows).view(sentences, heads, room, size)
                for part in self
            )
        )

    def select(self, sentences: Tensor) -> Cache:
        """Of these sentences alone. sentences (B')"""
        return Cache(*(selected(part, sentences) for part in self))


def selected(rows: Tensor, index: Tensor) -> Tensor:
    """The rows of that index, none of them twice, in the memory of the old ones: only what changes its place is copied. (B, ...) -> (B',
    ...)"""
    moved = (index != torch.arange(len(index), device=index.device)).nonzero().squeeze(1)
    rows[moved] = rows[index[moved]]
    return rows[: len(index)]


class Seen(NamedTuple):
    """Which written places the hypotheses attend to."""

    penalty: Tensor
    """(N, P): 0 where a hypothesis sees a place, -inf elsewhere"""
    room: int
    """places that the caches have room for"""

    @classmethod
    def nothing(cls, states: Tensor) -> Seen:
        """For one hypothesis of each sentence. states (B, ...)"""
        return cls(states.new_zeros(len(states), 0), ROOM)

    @property
    def places(self) -> int:
        return self.penalty.shape[1]

    def and_itself(self, sentences: int) -> Seen:
        """With one place more for each hypothesis, which it alone sees."""
        hypotheses = len(self.penalty) // sentences
        own = torch.full(
            (hypotheses, hypotheses),
            -torch.inf,
            dtype=self.penalty.dtype,
            device=self.penalty.device,
        ).fill_diagonal_(0.0)
        return self._replace(penalty=torch.cat([self.penalty, own.repeat(sentences, 1)], dim=1))

    def is_full(self, hypotheses: int) -> bool:
        """Whether there is no room for a place more of each hypothesis."""
        return self.places + hypotheses > self.room

    def used(self, sentences: int) -> tuple[Tensor, Seen]:
        """What some hypothesis still sees: its places (B, P'), and what is seen of these; with room for as much again."""
        by_sentence = self.penalty.unflatten(0, (sentences, -1))
        used = (by_sentence == 0).any(dim=1)
        width = int(used.sum(dim=1).max())
        places = used.to(torch.int8).sort(dim=1, descending=True, stable=True).indices[:, :width]
        penalty = by_sentence.gather(
            2, places.unsqueeze(1).expand(-1, by_sentence.shape[1], -1)
        ).flatten(0, 1)
        return places, Seen(
            penalty, max(ROOM * by_sentence.shape[1], 2 * (width + by_sentence.shape[1]))
        )

    def reorder(self, rows: Tensor) -> Seen:
        """Hypothesis n is the old one rows[n]."""
        return self._replace(penalty=self.penalty.index_select(0, rows))
