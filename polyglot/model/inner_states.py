"""Inner states of decoders, which word prediction reads."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class InnerStates(NamedTuple):
    """States of a whole target, as the last non-linear layer of a decoder reads them."""

    states: Tensor
    """s_j of every position, (B, T, ·)."""
    contexts: Tensor | None = None
    """c_j of every position, (B, T, ·), or W_c c_j with the matrix W_c of the last layer (recurrent
    decoders); None if the decoder has no contexts."""
    words: Tensor | None = None
    """Embedded words y_{j-1}, (B, T, E); None if the layer does not read them."""
