"""OpenNMT-py's encoders behind our interface."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator
from torch import Tensor
from torch.nn import functional

from polyglot.layers.opennmt import Embedded, lengths, opennmt
from polyglot.layers.positions import Positions
from polyglot.layers.resize import resize
from polyglot.layers.transformer import heads_problem
from polyglot.model.encoders.base import ENCODERS, Encoder
from polyglot.registry import ComponentConfig


@ENCODERS.register("onmt_rnn")
class OpenNmtRnnEncoder(Encoder):
    """`RNNEncoder` of OpenNMT-py 3.0.4 (its types `rnn` and `brnn`); needs the extra `opennmt`."""

    class Config(ComponentConfig):
        size: int = Field(512, ge=2, le=65536)
        """State size D; two directions share it half and half."""
        layers: int = Field(2, ge=1, le=256)
        """How many layers are stacked."""
        cell: Literal["LSTM", "GRU"] = "LSTM"
        """Its `rnn_type`."""
        bidirectional: bool = True
        """Read in both directions: its `brnn`."""
        dropout: float = Field(0.3, ge=0, lt=1)
        """Dropout between layers."""

        @model_validator(mode="after")
        def _two_equal_halves(self) -> OpenNmtRnnEncoder.Config:
            if self.bidirectional and self.size % 2:
                raise ValueError(f"size {self.size} cannot be shared by two directions; use an even number")
            return self

    def __init__(self, config: Config, *, input_size: int) -> None:
        super().__init__()
        self.size = config.size
        share = config.dropout if config.layers > 1 else 0.0
        kind = opennmt("encoders.rnn_encoder").RNNEncoder
        self.theirs = kind(config.cell, config.bidirectional, config.layers, config.size, share, Embedded(input_size))

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        states, *_ = self.theirs(embedded, lengths(embedded, mask).cpu())
        return functional.pad(states, (0, 0, 0, embedded.shape[1] - states.shape[1])) * mask.unsqueeze(-1)  # it ends with the longest sentence


@ENCODERS.register("onmt_transformer")
class OpenNmtTransformerEncoder(Encoder):
    """`TransformerEncoder` of OpenNMT-py 3.0.4 with its positions; needs the extra `opennmt`."""

    class Config(ComponentConfig):
        size: int = Field(512, ge=1, le=65536)
        """State size D."""
        layers: int = Field(6, ge=1, le=256)
        """How many layers are stacked."""
        heads: int = Field(8, ge=1, le=1024)
        """Attention heads; they divide the size."""
        feed_forward: int = Field(2048, ge=1, le=1048576)
        """Size of the hidden layer of the feed-forward networks: its `transformer_ff`."""
        dropout: float = Field(0.1, ge=0, lt=1)
        """Dropout on what each block adds, and inside the feed-forward networks."""
        attention_dropout: float = Field(0.1, ge=0, lt=1)
        """Dropout on the attention weights."""

        @model_validator(mode="after")
        def _heads_fit(self) -> OpenNmtTransformerEncoder.Config:
            if problem := heads_problem(self.size, self.heads):
                raise ValueError(problem)
            return self

    def __init__(self, config: Config, *, input_size: int) -> None:
        super().__init__()
        self.size = config.size
        self.inputs = resize(input_size, config.size)
        self.positions = Positions("sinusoidal", size=config.size, longest=1)
        kind = opennmt("encoders.transformer").TransformerEncoder
        shares = (config.dropout, config.attention_dropout)
        self.theirs = kind(config.layers, config.size, config.heads, config.feed_forward, *shares, Embedded(config.size), 0)

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        # A mask of theirs ends with the longest sentence; padding beyond it goes before, and comes back as zeros.
        real = lengths(embedded, mask)
        width = int(real.max())
        states, *_ = self.theirs(self.positions(self.inputs(embedded[:, :width])), real)
        return functional.pad(states, (0, 0, 0, embedded.shape[1] - width)) * mask.unsqueeze(-1)
