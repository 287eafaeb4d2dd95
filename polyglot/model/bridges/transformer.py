"""Transformer bridge: Transformer layers that all languages share."""

from __future__ import annotations

from torch import Tensor, nn

from polyglot.core.problems import Problem
from polyglot.core.setting_types import LayerCount
from polyglot.layers.transformer import BlockConfig, SelfAttentionLayer, final_norm, heads_error
from polyglot.model.bridges.base import BRIDGES, Bridge
from polyglot.model.memory import Memory


@BRIDGES.register("transformer")
class TransformerBridge(Bridge):
    """Self-attention and feed-forward networks over the encoder states; one row per position."""

    fixed_size = False

    class Config(BlockConfig, Bridge.Config):
        layers: LayerCount = 1
        """Number of layers."""

        def validate_size(self, size: int) -> Problem | None:
            error = heads_error(size, self.heads)
            return None if error is None else Problem(("heads",), error)

    def __init__(self, config: Config, *, size: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(SelfAttentionLayer(size, config) for _ in range(config.layers))
        self.norm = final_norm(size, config)

    def forward(self, states: Tensor, mask: Tensor) -> Memory:
        for layer in self.layers:
            states = layer(states, mask)
        return Memory(self.norm(states) * mask.unsqueeze(-1), mask=mask)
