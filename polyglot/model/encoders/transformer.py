"""Transformer encoder."""

from __future__ import annotations

from torch import Tensor, nn

from polyglot.layers.linear import resize
from polyglot.layers.positions import Positions
from polyglot.layers.transformer import SelfAttentionLayer, TransformerConfig, final_norm
from polyglot.model.encoders.base import ENCODERS, Encoder


@ENCODERS.register("transformer")
class TransformerEncoder(Encoder):
    """Layers of self-attention and feed-forward networks (Vaswani et al. 2017, section 3.1)."""

    class Config(TransformerConfig):
        pass

    def __init__(self, config: Config, *, input_size: int) -> None:
        super().__init__()
        self.size = config.size
        self.inputs = resize(input_size, config.size)
        self.positions = Positions(config.positions, size=config.size, longest=config.longest)
        rotary = config.positions == "rotary"
        self.layers = nn.ModuleList(
            SelfAttentionLayer(config.size, config, rotary=rotary) for _ in range(config.layers)
        )
        self.norm = final_norm(config.size, config)

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        states = self.positions(self.inputs(embedded))
        for layer in self.layers:
            states = layer(states, mask)
        return self.norm(states) * mask.unsqueeze(-1)
