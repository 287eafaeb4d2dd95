"""Interface of encoders."""

from __future__ import annotations

from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig, Registry

ENCODERS: Registry[Encoder] = Registry("encoder")


FinalStates = tuple[Tensor, ...]
"""Final states (h,) or, for an LSTM, (h, c) after the last word, each (B, layers, D); the two
directions are concatenated."""


class Encoder(nn.Module):
    """Map the embedded words of one language to states, one state for each position.

    A subclass has a nested `Config` with at least the field `size`, and sets the attribute `size`.
    """

    size: int
    """State size D."""

    class Config(ComponentConfig):
        """Settings that every encoder has."""

        size: int

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """embedded (B, S, E), mask (B, S) -> states (B, S, D)

        Padding does not change the states of real positions; the states of padding are 0.
        """
        raise NotImplementedError

    def with_final_states(
        self,
        embedded: Tensor,
        mask: Tensor,
    ) -> tuple[Tensor, FinalStates | None]:
        """Return the states, and the final states if this encoder passes them to the decoder."""
        return self(embedded, mask), None
