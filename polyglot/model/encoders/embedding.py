"""Encoder without context: word embeddings with positions."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from polyglot.core.registry import ComponentConfig
from polyglot.core.setting_types import PositionCount, Size
from polyglot.layers.linear import resize
from polyglot.layers.positions import Positions
from polyglot.model.encoders.base import ENCODERS, Encoder


@ENCODERS.register("embedding")
class EmbeddingEncoder(Encoder):
    """Word embeddings with positions; a state depends on no other word.

    Source: Bastings et al. 2019, section 3.
    """

    class Config(ComponentConfig):
        used_with = {"longest": ("positions", ("learned",))}

        size: Size = 512
        """State size D."""
        positions: Literal["sinusoidal", "learned"] = "sinusoidal"
        """Type of position embeddings."""
        longest: PositionCount = 512
        """Number of `learned` positions; later words use the last one."""

    def __init__(self, config: Config, *, input_size: int) -> None:
        super().__init__()
        self.size = config.size
        self.inputs = resize(input_size, config.size)
        self.positions = Positions(config.positions, size=config.size, longest=config.longest)

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        return self.positions(self.inputs(embedded)) * mask.unsqueeze(-1)
