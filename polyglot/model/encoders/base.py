"""What every encoder is."""

from __future__ import annotations

from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig, Registry

ENCODERS: Registry[Encoder] = Registry("encoder")


FinalStates = tuple[Tensor, ...]
"""h, and c of an LSTM, of each layer behind the last word, both directions side by side: each (B, layers, D)"""


class Encoder(nn.Module):
    """Turns the embedded words of one language into states, one for each position.

    A subclass has a nested `Config` with at least `size`, and states the output size as `size`.
    """

    size: int
    """D of the states"""

    class Config(ComponentConfig):
        """Settings every encoder has."""

        size: int

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """embedded (B, S, E), mask (B, S) -> states (B, S, D), which padding does not change and 0 on padding"""
        raise NotImplementedError

    def with_final_states(self, embedded: Tensor, mask: Tensor) -> tuple[Tensor, FinalStates | None]:
        """The states, and what a decoder may start from where the encoder hands it on."""
        return self(embedded, mask), None
