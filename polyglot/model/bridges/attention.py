"""Attention bridge: a matrix of K rows for a sentence of any length."""

from __future__ import annotations

from torch import Tensor

from polyglot.core.setting_types import HeadCount, Size
from polyglot.layers.linear import Linear
from polyglot.layers.masks import masked_softmax
from polyglot.model.bridges.base import BRIDGES, Bridge
from polyglot.model.memory import Memory


@BRIDGES.register("attention")
class AttentionBridge(Bridge):
    """A = softmax over positions of W₂·ReLU(W₁·Hᵀ), M = A·H.

    Source: Vázquez et al., section 2.2; after Lin et al. 2017. There are no biases, as in the
    paper. The decoder attends to all K rows, even if the sentence has fewer words.
    """

    fixed_size = True

    class Config(Bridge.Config):
        heads: HeadCount = 10
        """Number of rows K of the bridge matrix."""
        hidden_size: Size = 1024
        """Size of the layer between the states and the heads (the paper's d_w)."""

    def __init__(self, config: Config, *, size: int) -> None:
        super().__init__()
        self.hidden = Linear(size, config.hidden_size, bias=False)
        self.heads = Linear(config.hidden_size, config.heads, bias=False)

    def forward(self, states: Tensor, mask: Tensor) -> Memory:
        scores = self.heads(self.hidden(states).relu()).transpose(1, 2)  # (B, K, S)
        weights = masked_softmax(scores, mask.unsqueeze(1))
        return Memory(weights @ states, weights=weights)
