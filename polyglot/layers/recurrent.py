"""Recurrence over whole sentences in fused calls, padded without packing, and one position at a time for decoding."""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig
from polyglot.layers.accumulated_linear import DeferredLinear
from polyglot.layers.dropout import StepDropout, dropout
from polyglot.layers.linear import LaidOut, linear
from polyglot.layers.lstm_cell import lstm_cell_, tanh
from polyglot.layers.masks import flip_sentences

KINDS = {"lstm": nn.LSTM, "gru": nn.GRU}
State = tuple[Tensor, ...]
"""(h, c) of an LSTM or (h,) of a GRU, each (layers, N, D)"""
LayerStates = tuple[State, ...]
"""The same for single steps: of each layer (h, c) or (h,), each (N, D)"""


class RecurrentEncoderConfig(ComponentConfig):
    """What stacked recurrence over a source has, whoever computes it."""

    size: int = Field(512, ge=2, le=65536)
    """State size D; two directions share it half and half."""
    layers: int = Field(2, ge=1, le=256)
    """How many layers are stacked."""
    bidirectional: bool = True
    """Read in both directions."""
    dropout: float = Field(0.3, ge=0, lt=1)
    """Dropout between layers."""

    @model_validator(mode="after")
    def _two_equal_halves(self) -> RecurrentEncoderConfig:
        if self.bidirectional and self.size % 2:
            raise ValueError(
                f"size {self.size} cannot be shared by two directions; use an even number"
            )
        return self


class RecurrentDecoderConfig(ComponentConfig):
    """What attentive recurrence over a target has, whoever computes it."""

    size: int = Field(512, ge=1, le=65536)
    """State size D."""
    layers: int = Field(2, ge=1, le=256)
    """How many layers are stacked."""
    attention: Literal["dot", "general", "mlp"] = "general"
    """Luong's dot product, Luong's bilinear form, or Bahdanau's feed-forward network."""
    input_feeding: bool = False
    """Feed each output back beside the next word, as the paper does; slower, since positions wait for each other."""
    dropout: float = Field(0.3, ge=0, lt=1)
    """Dropout between layers and on the output."""


class BidirectionalLayer(nn.Module):
    """One layer read in both directions; the outputs stand side by side.

    Instead of packing, the backward direction reads each sentence reversed within its own length: both directions are then
    plain fused calls, and whatever happens on the padding comes after the last real token and is masked away.
    """

    def __init__(self, kind: str, *, input_size: int, size: int) -> None:
        super().__init__()
        assert size % 2 == 0, size
        self.forwards = KINDS[kind](input_size, size // 2, batch_first=True)
        self.backwards = KINDS[kind](input_size, size // 2, batch_first=True)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """inputs (B, S, E), mask (B, S) -> (B, S, D), 0 on padding"""
        left, _ = self.forwards(inputs)
        right, _ = self.backwards(flip_sentences(inputs, mask))
        return torch.cat([left, flip_sentences(right, mask)], dim=-1) * mask.unsqueeze(-1)


class UnidirectionalLayer(nn.Module):
    """One layer read from left to right."""

    def __init__(self, kind: str, *, input_size: int, size: int) -> None:
        super().__init__()
        self.forwards = KINDS[kind](input_size, size, batch_first=True)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """inputs (B, S, E), mask (B, S) -> (B, S, D), 0 on padding"""
        outputs, _ = self.forwards(inputs)
        return outputs * mask.unsqueeze(-1)


def start_state(kind: str, initial: Tensor, layers: int) -> State:
    """The same s₀ for every layer, and for h and c alike. initial (N, D) -> each (layers, N, D)"""
    stacked = initial.unsqueeze(0).expand(layers, -1, -1).contiguous()
    return (stacked, stacked) if kind == "lstm" else (stacked,)


def run(recurrence: nn.LSTM | nn.GRU, inputs: Tensor, state: State) -> Tensor:
    """A fused pass over all positions, layer by layer for the sake of our own `dropout` between them. inputs (N, T, E) -> outputs (N, T,
    D)"""
    fused, share = (
        (torch.lstm, torch.gru)[isinstance(recurrence, nn.GRU)],
        recurrence.dropout if recurrence.training else 0.0,
    )
    for layer, weights in enumerate(recurrence.all_weights):
        if layer:
            inputs = dropout(inputs, share)
        own = tuple(part[layer : layer + 1] for part in state)
        inputs = fused(
            inputs,
            own if len(own) == 2 else own[0],
            weights,
            True,
            1,
            0.0,
            recurrence.training,
            False,
            True,
        )[0]
    return inputs


class Stepper:
    """The same recurrence, one position at a time, with its weights laid out once for many steps.

    A fused call of a single position spends more time rearranging weights than multiplying; here a step of a layer is one
    matrix product over [input; state]. What the first layer makes of a word does not depend on the state: `read` it in advance,
    for many words at once.
    """

    def __init__(self, recurrence: nn.LSTM | nn.GRU, *, word_size: int) -> None:
        """word_size: E, the first numbers of an input of the first layer; others may follow them."""
        self.lstm = isinstance(recurrence, nn.LSTM)
        self.dropout = StepDropout(recurrence.dropout if recurrence.training else 0.0)
        (input_weight, *others), *above = recurrence.all_weights
        self.words, rest = input_weight.split([word_size, input_weight.shape[1] - word_size], dim=1)
        self.laid_out = None if torch.is_grad_enabled() else LaidOut(self.words)
        self.layers = [self._layer(rest, *others), *(self._layer(*weights) for weights in above)]

    def _layer(
        self, input_weight: Tensor, state_weight: Tensor, input_bias: Tensor, state_bias: Tensor
    ) -> tuple[DeferredLinear, ...]:
        if self.lstm:
            return (DeferredLinear(input_weight, state_weight, bias=input_bias + state_bias),)
        return DeferredLinear(input_weight, bias=input_bias), DeferredLinear(
            state_weight, bias=state_bias
        )

    def start(self, initial: Tensor) -> LayerStates:
        """The same s₀ for every layer, as `start_state` has it. initial (N, D)"""
        return ((initial,) * (2 if self.lstm else 1),) * len(self.layers)

    def read(self, words: Tensor) -> Tensor:
        """What the gates of the first layer take from words. words (..., E) -> (..., 4·D), or 3·D of a GRU"""
        return self.laid_out(words) if self.laid_out else linear(words, self.words)

    def __call__(
        self, read: Tensor, others: Tensor, state: LayerStates
    ) -> tuple[Tensor, LayerStates]:
        """read (N, ·) of one word each, others (N, I - E) -> outputs (N, D) and the next state"""
        below, after = others, []
        for number, (weights, before) in enumerate(zip(self.layers, state)):
            if number:
                below, read = self.dropout(below), None
            after.append((_lstm if self.lstm else _gru)(below, read, *weights, *before))
            below = after[-1][0]
        return below, tuple(after)


def _lstm(
    inputs: Tensor, read: Tensor | None, gates: DeferredLinear, hidden: Tensor, cell: Tensor
) -> tuple[Tensor, Tensor]:
    return lstm_cell_(gates(torch.cat([inputs, hidden], dim=1), plus=read), cell)


def _gru(
    inputs: Tensor,
    read: Tensor | None,
    input_gates: DeferredLinear,
    state_gates: DeferredLinear,
    hidden: Tensor,
) -> tuple[Tensor]:
    reset, update, new = input_gates(inputs, plus=read).chunk(3, dim=1)
    reset_state, update_state, new_state = state_gates(hidden).chunk(3, dim=1)
    new = tanh(new + (reset + reset_state).sigmoid() * new_state)
    return (new + (update + update_state).sigmoid() * (hidden - new),)
