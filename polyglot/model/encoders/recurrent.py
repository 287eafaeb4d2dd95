"""Recurrent encoders: stacked layers, bidirectional by default."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor, nn

from polyglot.core.registry import UnusedSetting
from polyglot.core.setting_types import DropoutRate
from polyglot.layers.dropout import Dropout
from polyglot.layers.recurrent import (
    BidirectionalLayer,
    RecurrentEncoderConfig,
    UnidirectionalLayer,
)
from polyglot.model.encoders.base import ENCODERS, Encoder


class RecurrentEncoder(Encoder):
    """Stack of recurrent layers; each layer reads the outputs of the layer below."""

    kind: str
    """Type of recurrence: `lstm` or `gru`."""

    class Config(RecurrentEncoderConfig):
        dropout: DropoutRate = 0.3
        """Dropout between layers."""
        states_dropout: DropoutRate | None = None
        """Dropout on the states, which the last layer returns. null: the same as between layers.
        OpenNMT-py has no dropout there: 0."""

        def settings_without_effect(self) -> Iterator[UnusedSetting]:
            yield from super().settings_without_effect()
            if self.layers == 1 and self.states_dropout is not None:
                reason = (
                    "no effect: a single layer has no dropout between layers, and states_dropout "
                    "replaces it on the states"
                )
                yield UnusedSetting(("dropout",), (), reason)

    def __init__(self, config: Config, *, input_size: int, reset_after: bool = True) -> None:
        """reset_after: of a GRU, see `RecurrentSteps`."""
        super().__init__()
        self.size = config.size
        if config.bidirectional:
            layer_type = BidirectionalLayer
        else:
            layer_type = UnidirectionalLayer
        input_sizes = [input_size] + [config.size] * (config.layers - 1)
        self.layers = nn.ModuleList()
        for layer_input in input_sizes:
            layer = layer_type(
                self.kind,
                input_size=layer_input,
                size=config.size,
                reset_after=reset_after,
            )
            self.layers.append(layer)
        self.dropout = Dropout(config.dropout)
        if config.states_dropout is None:
            states_rate = config.dropout
        else:
            states_rate = config.states_dropout
        self.states_dropout = Dropout(states_rate)

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        *lower_layers, last_layer = self.layers
        states = embedded
        for layer in lower_layers:
            states = self.dropout(layer(states, mask))
        return self.states_dropout(last_layer(states, mask))


@ENCODERS.register("lstm")
class LstmEncoder(RecurrentEncoder):
    """Long short-term memory (Hochreiter and Schmidhuber 1997); by default bidirectional."""

    kind = "lstm"


@ENCODERS.register("gru")
class GruEncoder(RecurrentEncoder):
    """Gated recurrent units (Cho et al. 2014); by default bidirectional."""

    kind = "gru"

    class Config(RecurrentEncoder.Config):
        reset_after: bool = True
        """The reset gate comes after the product with the state, r ∘ (U s), as in PyTorch and
        dl4mt. false: before it, U (r ∘ s), as in Cho et al. 2014; slower."""

    def __init__(self, config: Config, *, input_size: int) -> None:
        super().__init__(config, input_size=input_size, reset_after=config.reset_after)
