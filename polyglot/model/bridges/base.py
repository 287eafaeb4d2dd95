"""What every bridge is."""

from __future__ import annotations

from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig, Registry
from polyglot.model.memory import Memory

BRIDGES: Registry[Bridge] = Registry("bridge")


class Bridge(nn.Module):
    """The layers all languages share, between any encoder and any decoder."""

    fixed_size: bool
    """Whether every sentence has the same number of rows: what a sentence embedding needs."""

    class Config(ComponentConfig):
        """Settings every bridge has."""

        def validate_size(self, size: int) -> str | None:
            """The sentence for settings that cannot work on states of that size, known when the YAML is read."""
            return None

    def forward(self, states: Tensor, mask: Tensor) -> Memory:
        """states (B, S, D), mask (B, S) -> memory of (B, K, D)"""
        raise NotImplementedError
