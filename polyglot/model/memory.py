"""What a decoder attends to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from polyglot.layers.masks import masked_mean


@dataclass(frozen=True, slots=True)
class Memory:
    """The K bridge rows of each sentence, or the encoder states when there is no bridge (then K is S)."""

    states: Tensor
    """(B, K, D)"""
    mask: Tensor | None = None
    """(B, K), or None when every row is real"""
    weights: Tensor | None = None
    """(B, K, S): how each row was mixed from the source positions, when it was"""

    def mean(self) -> Tensor:
        """(B, D): the mean of the real rows, which starts every decoder."""
        return masked_mean(self.states, self.mask)

    def select(self, index: Tensor) -> Memory:
        """The memory of some of the sentences. index (N,)"""
        chosen = [None if tensor is None else tensor.index_select(0, index) for tensor in (self.states, self.mask, self.weights)]
        return Memory(*chosen)

    def rows(self) -> list[Tensor]:
        """(K, D) of each sentence, without the rows that are padding, which stand last."""
        if self.mask is None:
            return list(self.states)
        return [states[:count] for states, count in zip(self.states, self.mask.sum(dim=1).tolist())]

    @classmethod
    def of(cls, rows: Sequence[Tensor]) -> Memory:
        """The memory of sentences of which each has its own rows (K, D), wherever they were read; what `rows` takes apart."""
        counts = torch.tensor([len(own) for own in rows])
        states = pad_sequence(list(rows), batch_first=True)
        mask = torch.arange(states.shape[1]) < counts.unsqueeze(1)
        return cls(states, None if mask.all() else mask.to(states.device))
