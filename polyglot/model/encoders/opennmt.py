"""Encoders of OpenNMT-py behind the interface of our encoders.

The attribute `theirs` holds the module of OpenNMT-py; its name is part of the checkpoint format.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import model_validator
from torch import Tensor, nn
from torch.nn import functional

from polyglot.core.registry import ComponentConfig, UnusedSetting
from polyglot.core.setting_types import DropoutRate, LayerCount, Size, WindowWidth
from polyglot.layers.linear import resize
from polyglot.layers.opennmt import (
    PassThroughEmbedding,
    TransformerConfig,
    import_opennmt,
    real_lengths,
)
from polyglot.layers.positions import Positions
from polyglot.layers.recurrent import RecurrentEncoderConfig
from polyglot.model.encoders.base import ENCODERS, Encoder, FinalStates


@ENCODERS.register("onmt_rnn")
class OpenNmtRnnEncoder(Encoder):
    """`RNNEncoder` of OpenNMT-py 3.0.4 (its types `rnn` and `brnn`); needs the extra `opennmt`."""

    class Config(RecurrentEncoderConfig):
        cell: Literal["LSTM", "GRU"] = "LSTM"
        """Type of recurrence, `rnn_type` in OpenNMT-py."""

        def settings_without_effect(self) -> Iterator[UnusedSetting]:
            yield from super().settings_without_effect()
            if self.layers == 1:
                reason = "no effect: a single layer has no dropout between layers"
                yield UnusedSetting(("dropout",), ("layers",), reason)

    def __init__(self, config: Config, *, input_size: int) -> None:
        super().__init__()
        self.size = config.size
        self.layer_count = config.layers
        encoder_type = import_opennmt("encoders.rnn_encoder").RNNEncoder
        self.theirs = encoder_type(
            config.cell,
            config.bidirectional,
            config.layers,
            config.size,
            config.dropout if config.layers > 1 else 0.0,
            PassThroughEmbedding(input_size),
        )

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        states, _ = self.with_final_states(embedded, mask)
        return states

    def with_final_states(self, embedded: Tensor, mask: Tensor) -> tuple[Tensor, FinalStates]:
        states, final, _ = self.theirs(embedded, real_lengths(embedded, mask).cpu())
        states = _pad_positions(states, embedded.shape[1]) * mask.unsqueeze(-1)

        parts = final if isinstance(final, tuple) else (final,)
        return states, tuple(self._concatenate_directions(part) for part in parts)

    def _concatenate_directions(self, final: Tensor) -> Tensor:
        """(layers · directions, B, D / directions) -> (B, layers, D)"""
        by_layer = final.unflatten(0, (self.layer_count, -1))
        return by_layer.permute(2, 0, 1, 3).flatten(2)


@ENCODERS.register("onmt_cnn")
class OpenNmtCnnEncoder(Encoder):
    """`CNNEncoder` of OpenNMT-py 3.0.4; needs the extra `opennmt`.

    Two differences from OpenNMT-py: padding is set to 0 again between the layers, so that it does
    not change real positions; and translation uses the trained weights of the convolutions instead
    of their running mean, which is not a parameter.
    """

    class Config(ComponentConfig):
        size: Size = 512
        """State size D."""
        layers: LayerCount = 2
        """Number of layers."""
        width: WindowWidth = 3
        """Number of words in the window of a convolution, odd; `cnn_kernel_width` in OpenNMT-py."""
        dropout: DropoutRate = 0.3
        """Dropout on the input of each layer."""

        @model_validator(mode="after")
        def _validate_width(self) -> OpenNmtCnnEncoder.Config:
            if self.width % 2 == 0:
                raise ValueError(f"width {self.width} has no middle word; use an odd number")
            return self

    def __init__(self, config: Config, *, input_size: int) -> None:
        super().__init__()
        self.size = config.size
        encoder_type = import_opennmt("encoders.cnn_encoder").CNNEncoder
        self.theirs = encoder_type(
            config.layers,
            config.size,
            config.width,
            config.dropout,
            PassThroughEmbedding(input_size),
        )
        for layer in self.theirs.cnn.layers:
            nn.init.ones_(layer.conv.g)  # OpenNMT-py leaves g and the bias uninitialised
            nn.init.zeros_(layer.conv.bias)

    def train(self, mode: bool = True) -> OpenNmtCnnEncoder:
        super().train(mode)
        for layer in self.theirs.cnn.layers:
            layer.conv.training = True  # otherwise the convolution uses its running mean
        return self

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        real = mask[:, None, :, None]
        states = self.theirs.linear(embedded).transpose(1, 2).unsqueeze(3) * real  # (B, D, S, 1)
        for layer in self.theirs.cnn.layers:
            states = (states + layer(states)) * 0.5**0.5 * real
        return states.squeeze(3).transpose(1, 2)


@ENCODERS.register("onmt_transformer")
class OpenNmtTransformerEncoder(Encoder):
    """`TransformerEncoder` of OpenNMT-py 3.0.4 with its positions; needs the extra `opennmt`."""

    class Config(TransformerConfig):
        pass

    def __init__(self, config: Config, *, input_size: int) -> None:
        super().__init__()
        self.size = config.size
        self.inputs = resize(input_size, config.size)
        self.positions = Positions("sinusoidal", size=config.size)
        encoder_type = import_opennmt("encoders.transformer").TransformerEncoder
        self.theirs = encoder_type(
            config.layers,
            config.size,
            config.heads,
            config.feed_forward,
            config.dropout,
            config.attention_dropout,
            PassThroughEmbedding(config.size),
            0,  # max_relative_positions
        )

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        # The mask inside OpenNMT-py ends with the longest sentence of the batch. Padding after it
        # is cut off here, and its states come back as zeros.
        lengths = real_lengths(embedded, mask)
        longest = int(lengths.max())
        words = self.positions(self.inputs(embedded[:, :longest]))
        states, *_ = self.theirs(words, lengths)
        return _pad_positions(states, embedded.shape[1]) * mask.unsqueeze(-1)


def _pad_positions(states: Tensor, length: int) -> Tensor:
    """Append zeros to states (B, S', D) up to the given length: (B, S, D)."""
    return functional.pad(states, (0, 0, 0, length - states.shape[1]))
