"""Interface of bridges."""

from __future__ import annotations

from torch import Tensor, nn

from polyglot.core.problems import Problem
from polyglot.core.registry import ComponentConfig, Registry
from polyglot.model.memory import Memory

BRIDGES: Registry[Bridge] = Registry("bridge")


class Bridge(nn.Module):
    """Layers between the encoders and the decoders, shared by all languages."""

    fixed_size: bool
    """True if every sentence has the same number of rows, as sentence embeddings need."""

    class Config(ComponentConfig):
        """Settings that every bridge has."""

        def validate_size(self, size: int) -> Problem | None:
            """Return a Problem if the settings do not fit states of this size, else None.

            It is called when the configuration is read, before anything is built.
            """
            return None

    def forward(self, states: Tensor, mask: Tensor) -> Memory:
        """states (B, S, D), mask (B, S) -> memory with states (B, K, D)"""
        raise NotImplementedError
