"""A projection where two sizes differ, and nothing where they do not."""

from __future__ import annotations

from torch import nn

from polyglot.layers.linear import Linear


def resize(size: int, wanted: int) -> nn.Module:
    """From states of one size to those of another."""
    return nn.Identity() if size == wanted else Linear(size, wanted)
