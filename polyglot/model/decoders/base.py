"""What every decoder is: a pass over whole targets for training, and single steps for search."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig, Registry
from polyglot.model.memory import Memory

DECODERS: Registry[Decoder] = Registry("decoder")


class Decoder(nn.Module):
    """Turns embedded target words and the memory into states that the output layer projects.

    A subclass has a nested `Config` with at least `size`, and states the output size as `size`. Its decoding state is any
    value that only the subclass looks into; search hands it back and reorders it. In `step`, N rows are the B sentences of
    the memory with the same number of hypotheses each, those of one sentence side by side.
    """

    size: int
    """D of the states"""
    initial_state_size: int | None = None
    """of s₀; None where it is as wide as the memory"""

    class Config(ComponentConfig):
        """Settings every decoder has."""

        size: int

    def forward(self, embedded: Tensor, mask: Tensor, memory: Memory) -> Tensor:
        """embedded (B, T, E), mask (B, T) -> states (B, T, D); position t never sees what follows it"""
        raise NotImplementedError

    def initial_state(self, memory: Memory) -> Tensor:
        """s₀ (B, ·), what it starts from before the first word: by default the mean of the memory."""
        return memory.mean()

    def start(self, memory: Memory) -> Any:
        """The state before the first word, one row a sentence."""
        raise NotImplementedError

    def prepare_words(self, embedded: Tensor, state: Any) -> Tensor:
        """What a step takes in of each word, whatever came before it: computed once where many hypotheses end alike. (U, E) -> (U, ·)"""
        return embedded

    def step(self, words: Tensor, state: Any, memory: Memory) -> tuple[Tensor, Any]:
        """words (N, ·) as they were read -> states (N, D) of the next word, and the state after it"""
        raise NotImplementedError

    def reorder(self, state: Any, rows: Tensor, sentences: Tensor | None) -> Any:
        """The state whose row n is the old row rows[n] (N',), of the sentences that stay (B',), or of all when None."""
        raise NotImplementedError
