"""Attention bridge: a matrix of K rows for a sentence of any length."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from polyglot.core.setting_types import HeadCount, Size
from polyglot.layers.linear import Linear
from polyglot.layers.masks import masked_softmax
from polyglot.model.bridges.base import BRIDGES, Bridge
from polyglot.model.memory import Memory


@BRIDGES.register("attention")
class AttentionBridge(Bridge):
    """A = softmax over positions of W₂·ReLU(W₁·Hᵀ), M = A·H.

    Source: Vázquez et al. 2018, section 2.2; after Lin et al. 2017. By default, as in that paper,
    there are no biases, and the decoder attends to all K rows, even if the sentence has fewer
    words. The settings `bias` and `visible_rows` give the form of its published program.
    """

    fixed_size = True

    class Config(Bridge.Config):
        heads: HeadCount = 10
        """Number of rows K of the bridge matrix."""
        hidden_size: Size = 1024
        """Size of the layer between the states and the heads (d_w of Vázquez et al. 2018)."""
        bias: bool = False
        """Add a bias to W₁. A bias of W₂ would be equal at all positions and change no weight."""
        visible_rows: Literal["all", "source_length"] = "all"
        """Rows that the attention of a decoder sees: all rows, or the first n rows for a source of
        n words. The decoder's initial state is the mean of all rows in both cases."""

    def __init__(self, config: Config, *, size: int) -> None:
        super().__init__()
        self.hidden = Linear(size, config.hidden_size, bias=config.bias)
        self.heads = Linear(config.hidden_size, config.heads, bias=False)
        self.visible_rows = config.visible_rows

    def forward(self, states: Tensor, mask: Tensor) -> Memory:
        scores = self.heads(self.hidden(states).relu()).transpose(1, 2)  # (B, K, S)
        weights = masked_softmax(scores, mask.unsqueeze(1))

        visible = None
        if self.visible_rows == "source_length":
            row_numbers = torch.arange(weights.shape[1], device=mask.device)
            visible = row_numbers < mask.sum(dim=1, keepdim=True)  # (B, K)
        return Memory(weights @ states, weights=weights, visible=visible)
