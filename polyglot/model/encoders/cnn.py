"""Gated convolutions over windows of words."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator
from torch import Tensor, nn
from torch.nn import functional

from polyglot.core.registry import ComponentConfig
from polyglot.core.setting_types import DropoutRate, LayerCount, PositionCount, Size, WindowWidth
from polyglot.layers.dropout import Dropout
from polyglot.layers.linear import resize
from polyglot.layers.positions import Positions
from polyglot.model.encoders.base import ENCODERS, Encoder


@ENCODERS.register("cnn")
class CnnEncoder(Encoder):
    """h ↦ (h + GLU(convolution of h)) · √½ over embeddings with positions.

    Source: Gehring et al. 2017, section 3.2. One layer with a width of five words is the encoder
    of Bastings et al. 2019; every further layer adds width − 1 words to the context.
    """

    class Config(ComponentConfig):
        used_with = {"longest": ("positions", ("learned",))}

        size: Size = 512
        """State size D."""
        layers: LayerCount = 1
        """Number of layers."""
        width: WindowWidth = 5
        """Number of words in the window of a convolution; odd, so that the window is symmetric."""
        positions: Literal["sinusoidal", "learned"] = "sinusoidal"
        """Type of position embeddings."""
        longest: PositionCount = 512
        """Number of `learned` positions; later words use the last one."""
        dropout: DropoutRate = 0.3
        """Dropout on the input of each layer."""

        @model_validator(mode="after")
        def _validate_width(self) -> CnnEncoder.Config:
            if self.width % 2 == 0:
                raise ValueError(f"width {self.width} has no middle word; use an odd number")
            return self

    def __init__(self, config: Config, *, input_size: int) -> None:
        super().__init__()
        self.size = config.size
        self.inputs = resize(input_size, config.size)
        self.positions = Positions(config.positions, size=config.size, longest=config.longest)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(config.size, 2 * config.size, config.width, padding=config.width // 2)
            for _ in range(config.layers)
        )
        self.dropout = Dropout(config.dropout)

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        real = mask.unsqueeze(1)  # (B, 1, S)
        states = self.positions(self.inputs(embedded)).transpose(1, 2) * real  # (B, D, S)

        for convolution in self.convolutions:
            update = functional.glu(convolution(self.dropout(states)), dim=1)
            states = (states + update) * 0.5**0.5 * real

        return states.transpose(1, 2)
