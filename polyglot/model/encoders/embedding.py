"""Words and their places, and nothing else."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor

from polyglot.core.registry import ComponentConfig
from polyglot.layers.linear import resize
from polyglot.layers.positions import Positions
from polyglot.model.encoders.base import ENCODERS, Encoder


@ENCODERS.register("embedding")
class EmbeddingEncoder(Encoder):
    """Embeddings with positions: no word knows another (Bastings et al., section 3)."""

    class Config(ComponentConfig):
        size: int = Field(512, ge=1, le=65536)
        """State size D."""
        positions: Literal["sinusoidal", "learned"] = "sinusoidal"
        """How a word knows its place."""
        longest: int = Field(512, ge=1, le=1000000)
        """Places that `learned` positions tell apart; later ones count as the last."""

    def __init__(self, config: Config, *, input_size: int) -> None:
        super().__init__()
        self.size = config.size
        self.inputs = resize(input_size, config.size)
        self.positions = Positions(config.positions, size=config.size, longest=config.longest)

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        return self.positions(self.inputs(embedded)) * mask.unsqueeze(-1)
