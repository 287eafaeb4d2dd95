"""What a decoder attends to."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

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
