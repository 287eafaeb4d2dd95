"""Stacked recurrent encoders, bidirectional unless told otherwise."""

from __future__ import annotations

from pydantic import Field
from torch import Tensor, nn

from polyglot.layers.dropout import Dropout
from polyglot.layers.recurrent import (
    BidirectionalLayer,
    RecurrentEncoderConfig,
    UnidirectionalLayer,
)
from polyglot.model.encoders.base import ENCODERS, Encoder


class RecurrentEncoder(Encoder):
    """Layers of recurrence, each over the outputs of the one below."""

    kind: str

    class Config(RecurrentEncoderConfig):
        dropout: float = Field(0.3, ge=0, lt=1)
        """Dropout between layers and on the states."""

    def __init__(self, config: Config, *, input_size: int) -> None:
        super().__init__()
        self.size = config.size
        layer = BidirectionalLayer if config.bidirectional else UnidirectionalLayer
        sizes = [input_size] + [config.size] * (config.layers - 1)
        self.layers = nn.ModuleList(
            layer(self.kind, input_size=below, size=config.size) for below in sizes
        )
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
