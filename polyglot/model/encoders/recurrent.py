"""Stacked recurrent encoders, bidirectional unless told otherwise."""

from __future__ import annotations

from pydantic import Field, model_validator
from torch import Tensor, nn

from polyglot.layers.dropout import Dropout
from polyglot.layers.recurrent import BidirectionalLayer, UnidirectionalLayer
from polyglot.model.encoders.base import ENCODERS, Encoder
from polyglot.registry import ComponentConfig


class RecurrentEncoder(Encoder):
    """Layers of recurrence, each over the outputs of the one below."""

    kind: str

    class Config(ComponentConfig):
        size: int = Field(512, ge=2, le=65536)
        """State size D; the two directions share it half and half."""
        layers: int = Field(2, ge=1, le=256)
        """How many layers are stacked."""
        bidirectional: bool = True
        """Read in both directions."""
        dropout: float = Field(0.3, ge=0, lt=1)
        """Dropout between layers and on the states."""

        @model_validator(mode="after")
        def _two_equal_halves(self) -> RecurrentEncoder.Config:
            if self.bidirectional and self.size % 2:
                raise ValueError(f"size {self.size} cannot be shared by two directions; use an even number")
            return self

    def __init__(self, config: Config, *, input_size: int) -> None:
        super().__init__()
        self.size = config.size
        layer = BidirectionalLayer if config.bidirectional else UnidirectionalLayer
        sizes = [input_size] + [config.size] * (config.layers - 1)
        self.layers = nn.ModuleList(layer(self.kind, input_size=below, size=config.size) for below in sizes)
        self.dropout = Dropout(config.dropout)

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        states = embedded
        for layer in self.layers:
            states = self.dropout(layer(states, mask))
        return states


@ENCODERS.register("lstm")
class LstmEncoder(RecurrentEncoder):
    """Long short-term memory (Hochreiter and Schmidhuber 1997), bidirectional and stacked."""

    kind = "lstm"


@ENCODERS.register("gru")
class GruEncoder(RecurrentEncoder):
    """Gated recurrent units (Cho et al. 2014), bidirectional and stacked."""

    kind = "gru"
