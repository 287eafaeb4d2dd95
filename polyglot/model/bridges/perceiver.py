"""Perceiver bridge: learned queries read a sentence of any length into K rows."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from polyglot.core.problems import Problem
from polyglot.core.setting_types import LayerCount, Size
from polyglot.layers.transformer import BlockConfig, CrossAttentionLayer, final_norm, heads_error
from polyglot.model.bridges.base import BRIDGES, Bridge
from polyglot.model.memory import Memory


@BRIDGES.register("perceiver")
class PerceiverBridge(Bridge):
    """K learned rows that attend to each other and to the states in every layer.

    Source: Jaegle et al. 2021, section 3; Alayrac et al. 2022, section 2.1.
    """

    fixed_size = True

    class Config(BlockConfig, Bridge.Config):
        rows: Size = 10
        """Number of rows K of the memory."""
        layers: LayerCount = 1
        """Number of layers."""

        def validate_size(self, size: int) -> Problem | None:
            error = heads_error(size, self.heads)
            return None if error is None else Problem(("heads",), error)

    def __init__(self, config: Config, *, size: int) -> None:
        super().__init__()
        self.queries = nn.Parameter(torch.empty(config.rows, size))
        nn.init.normal_(self.queries, std=size**-0.5)
        self.layers = nn.ModuleList(
            CrossAttentionLayer(size, config, memory_size=size) for _ in range(config.layers)
        )
        self.norm = final_norm(size, config)

    def forward(self, states: Tensor, mask: Tensor) -> Memory:
        rows = self.queries.expand(len(states), -1, -1)  # (B, K, D)
        for layer in self.layers:
            rows = layer(rows, states, mask, causal=False)
        return Memory(self.norm(rows))
