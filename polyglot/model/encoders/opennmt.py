"""OpenNMT-py's encoders behind our interface."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from polyglot.core.registry import ComponentConfig
from polyglot.layers.linear import resize
from polyglot.layers.opennmt import PassThroughEmbedding, TransformerConfig, real_lengths, import_opennmt
from polyglot.layers.positions import Positions
from polyglot.layers.recurrent import RecurrentEncoderConfig
from polyglot.model.encoders.base import ENCODERS, Encoder, FinalStates


@ENCODERS.register("onmt_rnn")
class OpenNmtRnnEncoder(Encoder):
    """`RNNEncoder` of OpenNMT-py 3.0.4 (its types `rnn` and `brnn`); needs the extra `import_opennmt`."""

    class Config(RecurrentEncoderConfig):
        cell: Literal["LSTM", "GRU"] = "LSTM"
        """Its `rnn_type`."""

    def __init__(self, config: Config, *, input_size: int) -> None:
        super().__init__()
        self.size, self.layer_count = config.size, config.layers
        share = config.dropout if config.layers > 1 else 0.0
        kind = import_opennmt("encoders.rnn_encoder").RNNEncoder
        self.theirs = kind(
            config.cell,
            config.bidirectional,
            config.layers,
            config.size,
            share,
            PassThroughEmbedding(input_size),
        )

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        return self.with_final_states(embedded, mask)[0]

    def with_final_states(self, embedded: Tensor, mask: Tensor) -> tuple[Tensor, FinalStates]:
        states, final, _ = self.theirs(embedded, real_lengths(embedded, mask).cpu())
        states = functional.pad(
            states, (0, 0, 0, embedded.shape[1] - states.shape[1])
        ) * mask.unsqueeze(-1)  # it ends with the longest sentence
        final = (
            final if isinstance(final, tuple) else (final,)
        )  # each (layers times directions, B, D / directions)
        return states, tuple(
            part.unflatten(0, (self.layer_count, -1)).permute(2, 0, 1, 3).flatten(2)
            for part in final
        )


@ENCODERS.register("onmt_cnn")
class OpenNmtCnnEncoder(Encoder):
    """`CNNEncoder` of OpenNMT-py 3.0.4; needs the extra `import_opennmt`.

    Its layers are called one by one: between them padding becomes 0 again, which theirs sees. It trains the weights of its
    convolutions and translates with their running mean, which is no parameter; here it does both with the weights.
    """

    class Config(ComponentConfig):
        size: int = Field(512, ge=1, le=65536)
        """State size D."""
        layers: int = Field(2, ge=1, le=256)
        """How many layers are stacked."""
        width: int = Field(3, ge=1, le=1001)
        """Words that one convolution sees, an odd number: its `cnn_kernel_width`."""
        dropout: float = Field(0.3, ge=0, lt=1)
        """Dropout on what each layer sees."""

        @model_validator(mode="after")
        def _odd(self) -> OpenNmtCnnEncoder.Config:
            if self.width % 2 == 0:
                raise ValueError(f"width {self.width} has no middle word; use an odd number")
            return self

    def __init__(self, config: Config, *, input_size: int) -> None:
        super().__init__()
        self.size = config.size
        kind = import_opennmt("encoders.cnn_encoder").CNNEncoder
        self.theirs = kind(
            config.layers, config.size, config.width, config.dropout, PassThroughEmbedding(input_size)
        )
        for layer in self.theirs.cnn.layers:
            nn.init.ones_(layer.conv.g)  # they leave both as they are in memory
            nn.init.zeros_(layer.conv.bias)

    def train(self, mode: bool = True) -> OpenNmtCnnEncoder:
        super().train(mode)
        for layer in self.theirs.cnn.layers:
            layer.conv.training = True  # else it takes the mean
        return self

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        real = mask[:, None, :, None]
        states = self.theirs.linear(embedded).transpose(1, 2).unsqueeze(3) * real  # (B, D, S, 1)
        for layer in self.theirs.cnn.layers:
            states = (states + layer(states)) * 0.5**0.5 * real
        return states.squeeze(3).transpose(1, 2)


@ENCODERS.register("onmt_transformer")
class OpenNmtTransformerEncoder(Encoder):
    """`TransformerEncoder` of OpenNMT-py 3.0.4 with its positions; needs the extra `import_opennmt`."""

    class Config(TransformerConfig):
        pass

    def __init__(self, config: Config, *, input_size: int) -> None:
        super().__init__()
        self.size = config.size
        self.inputs = resize(input_size, config.size)
        self.positions = Positions("sinusoidal", size=config.size, longest=1)
        kind = import_opennmt("encoders.transformer").TransformerEncoder
        shares = (config.dropout, config.attention_dropout)
        self.theirs = kind(
            config.layers,
            config.size,
            config.heads,
            config.feed_forward,
            *shares,
            PassThroughEmbedding(config.size),
            0,
        )

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        # A mask of theirs ends with the longest sentence; padding beyond it goes before, and comes back as zeros.
        real = real_lengths(embedded, mask)
        width = int(real.max())
        states, *_ = self.theirs(self.positions(self.inputs(embedded[:, :width])), real)
        return functional.pad(states, (0, 0, 0, embedded.shape[1] - width)) * mask.unsqueeze(-1)
