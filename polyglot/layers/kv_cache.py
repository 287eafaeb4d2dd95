"""Key-value cache: a decoding step does not recompute keys and values of the prefix.

All hypotheses of a sentence write to one cache, and a mask says which slots belong to the prefix
of a hypothesis. So nothing is copied when hypotheses change their order or share a prefix, and all
queries of a sentence meet its keys in one product.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

MINIMUM_SLOTS = 16
"""Slots of a new cache, and the least number of slots for each hypothesis later."""


class KeyValueCache(NamedTuple):
    """Keys and values that the hypotheses of B sentences have written.

    Writing is in place: use only the newest cache, never an earlier one beside it.
    """

    keys: Tensor
    """(B, H, capacity, d)"""
    values: Tensor
    """(B, H, capacity, d)"""

    @classmethod
    def empty(cls, states: Tensor, *, heads: int, size: int) -> KeyValueCache:
        """Empty cache for H heads of total size D, with the sentences and type of states (B, …)."""
        shape = (len(states), heads, MINIMUM_SLOTS, size // heads)
        return cls(states.new_empty(shape), states.new_empty(shape))

    def write(self, first: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Write keys and values (B, H, M, d) from slot `first` on; return all, (B, H, P, d)."""
        last = first + keys.shape[2]
        self.keys[:, :, first:last] = keys
        self.values[:, :, first:last] = values
        all_keys = self.keys[:, :, :last]
        all_values = self.values[:, :, :last]
        return all_keys, all_values

    def gather_slots(self, slots: Tensor, capacity: int) -> KeyValueCache:
        """New cache with these slots (B, P) of each sentence, and `capacity` slots in total."""
        sentences, heads, old_capacity, size = self.keys.shape
        unused = capacity - slots.shape[1]
        # Unused slots get a copy of slot 0; no hypothesis attends to them.
        chosen = functional.pad(slots, (0, unused))

        blocks = torch.arange(sentences * heads, device=slots.device)
        first_rows = (blocks * old_capacity).view(sentences, heads, 1)
        rows = first_rows + chosen.unsqueeze(1)
        rows = rows.flatten()

        shape = (sentences, heads, capacity, size)
        keys = self.keys.reshape(-1, size).index_select(0, rows)
        values = self.values.reshape(-1, size).index_select(0, rows)
        return KeyValueCache(keys.view(shape), values.view(shape))

    def select(self, sentences: Tensor) -> KeyValueCache:
        """Cache of these sentences (B')."""
        keys = select_rows_in_place(self.keys, sentences)
        values = select_rows_in_place(self.values, sentences)
        return KeyValueCache(keys, values)


def select_rows_in_place(rows: Tensor, index: Tensor) -> Tensor:
    """Select distinct rows in the memory of the tensor, and copy only the rows that move.

    On other devices than the CPU, all rows are copied: counting rows would wait for the device.
    (B, …) -> (B', …)
    """
    if rows.device.type != "cpu":
        return rows.index_select(0, index)
    count = len(index)
    positions = torch.arange(count, device=index.device)
    moved = (index != positions).nonzero().squeeze(1)
    origins = index[moved]
    rows[moved] = rows[origins]
    return rows[:count]


class CacheMask(NamedTuple):
    """Cache slots that each hypothesis may attend to."""

    additive_mask: Tensor
    """(N, P): 0 at the slots of the hypothesis's prefix, -inf elsewhere."""
    capacity: int
    """Number of slots in the caches, used or not."""

    @classmethod
    def empty(cls, states: Tensor) -> CacheMask:
        """Mask before the first word, for one hypothesis of each sentence. states (B, …)"""
        return cls(states.new_zeros(len(states), 0), MINIMUM_SLOTS)

    @property
    def slot_count(self) -> int:
        return self.additive_mask.shape[1]

    def add_slots(self, sentences: int) -> CacheMask:
        """Add a slot for each hypothesis, which only this hypothesis attends to."""
        hypotheses = len(self.additive_mask) // sentences
        new_slots = self.additive_mask.new_full((hypotheses, hypotheses), -torch.inf)
        new_slots.fill_diagonal_(0.0)
        new_mask = new_slots.repeat(sentences, 1)
        additive_mask = torch.cat([self.additive_mask, new_mask], dim=1)
        return self._replace(additive_mask=additive_mask)

    def is_full(self, hypotheses: int) -> bool:
        """True if the caches have fewer free slots than a sentence has hypotheses."""
        return self.slot_count + hypotheses > self.capacity

    def compact(self, sentences: int) -> tuple[Tensor, CacheMask]:
        """Drop the slots that no hypothesis attends to, and set the capacity to twice the need.

        On other devices than the CPU, no slot is dropped: counting the slots that are in use would
        wait for the device. Returns the slots to keep (B, P') and the mask over them.
        """
        by_sentence = self.additive_mask.unflatten(0, (sentences, -1))  # (B, M, P)
        hypotheses = by_sentence.shape[1]

        is_used = (by_sentence == 0).any(dim=1)
        used_counts = is_used.sum(dim=1)
        if used_counts.device.type == "cpu":
            width = int(used_counts.max())
        else:
            width = self.slot_count
        used_first = is_used.to(torch.int8).sort(dim=1, descending=True, stable=True)
        slots = used_first.indices[:, :width]

        index = slots.unsqueeze(1).expand(-1, hypotheses, -1)
        additive_mask = by_sentence.gather(2, index)
        next_width = width + hypotheses
        capacity = max(MINIMUM_SLOTS * hypotheses, 2 * next_width)
        return slots, CacheMask(additive_mask.flatten(0, 1), capacity)

    def reorder(self, rows: Tensor) -> CacheMask:
        """Hypothesis n continues the old hypothesis rows[n]."""
        return self._replace(additive_mask=self.additive_mask.index_select(0, rows))
