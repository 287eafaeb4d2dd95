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
    final: tuple[Tensor, ...] | None = None
    """each (B, layers, D): the last states of a recurrent encoder that hands them on; they come past the bridge"""

    def mean(self) -> Tensor:
        """(B, D): the mean of the real rows, which starts every decoder."""
        return masked_mean(self.states, self.mask)

    def select(self, index: Tensor) -> Memory:
        """The memory of some of the sentences. index (N,)"""
        chosen = [
            None if tensor is None else tensor.index_select(0, index)
            for tensor in (self.states, self.mask, self.weights)
        ]
        return Memory(
            *chosen, final=self.final and tuple(part.index_select(0, index) for part in self.final)
        )

    def split(self) -> list[Memory]:
        """That of each sentence alone, (1, K, D) without the rows that are padding, which stand last."""
        counts = (
            [self.states.shape[1]] * len(self.states)
            if self.mask is None
            else self.mask.sum(dim=1).tolist()
        )
        finals = [
            self.final and tuple(part[row : row + 1] for part in self.final)
            for row in range(len(counts))
        ]
        return [
            Memory(states[None, :count], final=final)
            for states, count, final in zip(self.states, counts, finals)
        ]

    @classmethod
    def join(cls, sentences: Sequence[Memory]) -> Memory:
        """The memory of sentences that are alone, wherever they were read; what `sentences` takes apart."""
        counts = torch.tensor([own.states.shape[1] for own in sentences])
        states = pad_sequence([own.states.squeeze(0) for own in sentences], batch_first=True)
        mask = torch.arange(states.shape[1]) < counts.unsqueeze(1)
        final = None
        if all(own.final is not None for own in sentences):
            final = tuple(torch.cat(parts) for parts in zip(*(own.final for own in sentences)))
        return cls(states, None if mask.all() else mask.to(states.device), final=final)
