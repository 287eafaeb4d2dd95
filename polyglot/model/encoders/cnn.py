"""Convolutions over windows of words, with gates or with tanh."""

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
    """Residual convolutions over embeddings with positions.

    - `form: gated` is h ↦ (h + GLU(convolution of h)) · √½: Gehring et al. 2017, "Convolutional
      sequence to sequence learning", section 3.2.
    - `form: tanh` is h ↦ tanh(h + convolution of h), without gates: Gehring et al. 2017, "A
      convolutional encoder model for neural machine translation", which Bastings et al. 2019 cite.
    - `form: tanh_sum` is h ↦ h + tanh(convolution of h): another reading of Bastings et al. 2019,
      who name no formula.

    The encoder of Bastings et al. 2019 sees five words: one layer with that width. Every further
    layer adds width − 1 words.
    """

    class Config(ComponentConfig):
        used_with = {"longest": ("positions", ("learned",))}

        size: Size = 512
        """State size D."""
        layers: LayerCount = 1
        """Number of layers."""
        form: Literal["gated", "tanh", "tanh_sum"] = "gated"
        """Formula of a layer."""
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
        self.form = config.form
        channels = 2 * config.size if config.form == "gated" else config.size
        self.convolutions = nn.ModuleList(
            nn.Conv1d(config.size, channels, config.width, padding=config.width // 2)
            for _ in range(config.layers)
        )
        self.dropout = Dropout(config.dropout)

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        real = mask.unsqueeze(1)  # (B, 1, S)
        states = self.positions(self.inputs(embedded)).transpose(1, 2) * real  # (B, D, S)

        for convolution in self.convolutions:
            update = convolution(self.dropout(states))
            states = self._combine(states, update) * real

        return states.transpose(1, 2)

    def _combine(self, states: Tensor, update: Tensor) -> Tensor:
        """States of a layer and the output of its convolution (B, ·, S) -> next states (B, D, S)"""
        if self.form == "gated":
            return (states + functional.glu(update, dim=1)) * 0.5**0.5
        if self.form == "tanh":
            return (states + update).tanh()
        return states + update.tanh()
