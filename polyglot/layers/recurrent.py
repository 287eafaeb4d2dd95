"""LSTM and GRU layers: whole sentences in fused calls, and single steps for decoding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig
from polyglot.core.setting_types import DropoutRate, LayerCount, Size
from polyglot.layers import autocast, onednn
from polyglot.layers.accumulated_linear import AccumulatedLinear
from polyglot.layers.dropout import StepDropout, dropout
from polyglot.layers.linear import linear, pack_matrix
from polyglot.layers.low_precision import Precision
from polyglot.layers.lstm_cell import lstm_cell_, tanh
from polyglot.layers.masks import flip_sentences

RECURRENCES = {"lstm": nn.LSTM, "gru": nn.GRU}
State = tuple[Tensor, ...]
"""(h, c) of an LSTM or (h,) of a GRU, each (layers, N, D)."""
LayerStates = tuple[State, ...]
"""State for single steps: (h, c) or (h,) of each layer, each (N, D)."""


class RecurrentEncoderConfig(ComponentConfig):
    """Settings of a recurrent encoder, shared with the OpenNMT-py types."""

    size: int = Field(512, ge=2, le=65536)
    """State size D; each of two directions has half of it."""
    layers: LayerCount = 2
    """Number of stacked layers."""
    bidirectional: bool = True
    """Read in both directions."""
    dropout: DropoutRate = 0.3
    """Dropout between layers."""

    @model_validator(mode="after")
    def _two_equal_halves(self) -> RecurrentEncoderConfig:
        if self.bidirectional and self.size % 2:
            raise ValueError(
                f"size {self.size} cannot be shared by two directions; use an even number"
            )
        return self


class RecurrentDecoderConfig(ComponentConfig):
    """Settings of a recurrent decoder with attention, shared with the OpenNMT-py types."""

    size: Size = 512
    """State size D."""
    layers: LayerCount = 2
    """Number of stacked layers."""
    attention: Literal["dot", "general", "mlp"] = "general"
    """Attention: `dot` and `general` of Luong et al. 2015, `mlp` of Bahdanau et al. 2015."""
    input_feeding: bool = False
    """Each output is an input of the next step (Luong et al. 2015, section 3.3); slower."""
    dropout: DropoutRate = 0.3
    """Dropout between layers and on the output."""


class BidirectionalLayer(nn.Module):
    """Bidirectional layer: outputs of both directions side by side.

    Sentences are not packed. The backward direction reads each sentence reversed within its own
    length, so both directions are plain fused calls, and padding comes after the last real token.
    """

    def __init__(
        self,
        kind: str,
        *,
        input_size: int,
        size: int,
        reset_after: bool = True,
    ) -> None:
        super().__init__()
        assert size % 2 == 0, size
        self.reset_after = reset_after
        self.forwards = RECURRENCES[kind](input_size, size // 2, batch_first=True)
        self.backwards = RECURRENCES[kind](input_size, size // 2, batch_first=True)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """inputs (B, S, E), mask (B, S) -> (B, S, D), 0 on padding"""
        reversed_inputs = flip_sentences(inputs, mask)
        left = run_layer(self.forwards, inputs, reset_after=self.reset_after)
        right = run_layer(self.backwards, reversed_inputs, reset_after=self.reset_after)
        return torch.cat([left, flip_sentences(right, mask)], dim=-1) * mask.unsqueeze(-1)


class UnidirectionalLayer(nn.Module):
    """Layer from left to right."""

    def __init__(
        self,
        kind: str,
        *,
        input_size: int,
        size: int,
        reset_after: bool = True,
    ) -> None:
        super().__init__()
        self.reset_after = reset_after
        self.forwards = RECURRENCES[kind](input_size, size, batch_first=True)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """inputs (B, S, E), mask (B, S) -> (B, S, D), 0 on padding"""
        outputs = run_layer(self.forwards, inputs, reset_after=self.reset_after)
        return outputs * mask.unsqueeze(-1)


def run_layer(
    recurrence: nn.LSTM | nn.GRU,
    inputs: Tensor,
    *,
    reset_after: bool = True,
) -> Tensor:
    """Outputs of a layer whose first state is zero: inputs (B, S, E) -> (B, S, D).

    reset_after: see `RecurrentSteps`; PyTorch has no fused call for False.
    """
    if not reset_after:
        return _run_steps(recurrence, inputs)
    with _supported_precision(inputs) as supported:
        outputs, _ = recurrence(supported)
    return outputs


def _run_steps(recurrence: nn.GRU, inputs: Tensor) -> Tensor:
    """Outputs of a GRU layer with `reset_after: false`, one position at a time."""
    steps = RecurrentSteps(recurrence, word_size=inputs.shape[-1], reset_after=False)
    projected = steps.project_words(inputs)
    no_other_inputs = inputs[:, 0, :0]  # (B, 0)
    state = steps.start(inputs.new_zeros(len(inputs), recurrence.hidden_size))
    outputs = []
    for position in range(inputs.shape[1]):
        output, state = steps(projected[:, position], no_other_inputs, state)
        outputs.append(output)
    return torch.stack(outputs, dim=1)


@contextmanager
def _supported_precision(inputs: Tensor) -> Iterator[Tensor]:
    """Yield the inputs in a type that fused recurrence can compute.

    Under autocast, the recurrence runs in float32 in two cases. On a CPU without bfloat16, oneDNN
    has no LSTM of a half precision and raises an error. On CUDA, autocast would run cuDNN's LSTM
    and GRU in float16 even if bfloat16 was asked for, and their gradients would not be scaled.
    """
    device = inputs.device.type
    is_half = autocast.autocast_type(device) is not None
    if not is_half or (device == "cpu" and onednn.HAS_BFLOAT16):
        yield inputs
        return
    with autocast.without_autocast(device):
        yield inputs.float()


def repeat_initial_state(kind: str, initial: Tensor, layers: int) -> State:
    """Repeat s₀ for every layer, and for h and c. initial (N, D) -> each (layers, N, D)"""
    stacked = initial.unsqueeze(0).expand(layers, -1, -1).contiguous()
    return (stacked, stacked) if kind == "lstm" else (stacked,)


def run_recurrence(recurrence: nn.LSTM | nn.GRU, inputs: Tensor, state: State) -> Tensor:
    """Run fused calls over all positions: inputs (N, T, E) -> outputs (N, T, D).

    On a CPU, layers run one by one, with the project's own dropout between them. Elsewhere one
    call computes all layers: cuDNN would copy the weights of a single layer at each call, because
    it keeps those of all layers in one piece of memory.
    """
    dropout_rate = recurrence.dropout if recurrence.training else 0.0
    if inputs.device.type != "cpu":
        return _run_layers(recurrence, inputs, state, recurrence.all_weights, dropout_rate)
    for layer, weights in enumerate(recurrence.all_weights):
        if layer:
            inputs = dropout(inputs, dropout_rate)
        layer_state = tuple(part[layer : layer + 1] for part in state)
        inputs = _run_layers(recurrence, inputs, layer_state, [weights], 0.0)
    return inputs


def _run_layers(
    recurrence: nn.LSTM | nn.GRU,
    inputs: Tensor,
    state: State,
    weights: Sequence[Sequence[Tensor]],
    dropout_rate: float,
) -> Tensor:
    """Run some layers of a recurrence in one fused call: inputs (N, T, E) -> outputs (N, T, D).

    state: of these layers. weights: by layer.
    """
    fused = torch.gru if isinstance(recurrence, nn.GRU) else torch.lstm
    with _supported_precision(inputs) as supported:
        parts = tuple(part.to(supported.dtype) for part in state)
        outputs = fused(
            supported,
            parts if len(parts) == 2 else parts[0],
            list(chain.from_iterable(weights)),
            True,  # has biases
            len(weights),
            dropout_rate,
            recurrence.training,
            False,  # bidirectional
            True,  # batch first
        )
    return outputs[0]


class RecurrentSteps:
    """Recurrence one position at a time, with matrices prepared once for many steps.

    A fused call for a single position spends more time on rearranging weights than on products.
    Here a step of a layer is one matrix product over [input; state]. The contribution of a word
    to the gates of the first layer does not depend on the state: `project_words` computes it in
    advance, for many words at once.
    """

    def __init__(
        self,
        recurrence: nn.LSTM | nn.GRU,
        *,
        word_size: int,
        precision: Precision = "float32",
        reset_after: bool = True,
    ) -> None:
        """word_size: E, the first part of the input of the first layer; other inputs follow it.

        precision: of the products without gradients.
        reset_after: the reset gate of a GRU comes after the product with the state, r ∘ (U s), as
        in PyTorch; False computes U (r ∘ s) (Cho et al. 2014). An LSTM has no reset gate.
        """
        self.precision = precision
        self.reset_after = reset_after
        self.is_lstm = isinstance(recurrence, nn.LSTM)
        if self.is_lstm:
            self._step = _lstm_step
        elif reset_after:
            self._step = _gru_step
        else:
            self._step = _gru_step_reset_before
        self.dropout = StepDropout(recurrence.dropout if recurrence.training else 0.0)

        # The columns of the words are split from the input weight of the first layer.
        first_layer, *upper_layers = recurrence.all_weights
        input_weight, state_weight, input_bias, state_bias = first_layer
        rest_size = input_weight.shape[1] - word_size
        self.word_weight, rest_weight = input_weight.split([word_size, rest_size], dim=1)
        if torch.is_grad_enabled():
            self.packed_word_weight = None
        else:
            self.packed_word_weight = pack_matrix(self.word_weight, None, precision)
        self.layers = [self._layer(rest_weight, state_weight, input_bias, state_bias)]
        for weights in upper_layers:
            self.layers.append(self._layer(*weights))

    def _layer(
        self,
        input_weight: Tensor,
        state_weight: Tensor,
        input_bias: Tensor,
        state_bias: Tensor,
    ) -> tuple[AccumulatedLinear, ...]:
        if self.is_lstm:
            gates = AccumulatedLinear(
                input_weight,
                state_weight,
                bias=input_bias + state_bias,
                precision=self.precision,
            )
            return (gates,)
        input_gates = AccumulatedLinear(input_weight, bias=input_bias, precision=self.precision)
        if self.reset_after:
            state_gates = AccumulatedLinear(state_weight, bias=state_bias, precision=self.precision)
            return input_gates, state_gates

        gate_weight, new_weight = state_weight.tensor_split([2 * state_weight.shape[1]])
        gate_bias, new_bias = state_bias.tensor_split([2 * state_weight.shape[1]])
        state_gates = AccumulatedLinear(gate_weight, bias=gate_bias, precision=self.precision)
        new_gate = AccumulatedLinear(new_weight, bias=new_bias, precision=self.precision)
        return input_gates, state_gates, new_gate

    def start(self, initial: Tensor) -> LayerStates:
        """Repeat s₀ for every layer, as `repeat_initial_state` does. initial (N, D)"""
        layer_state = (initial, initial) if self.is_lstm else (initial,)
        return (layer_state,) * len(self.layers)

    def project_words(self, words: Tensor) -> Tensor:
        """Part of the words in the first layer's gates: (..., E) -> (..., 4·D), or 3·D of a GRU."""
        if self.packed_word_weight:
            return self.packed_word_weight(words)
        return linear(words, self.word_weight)

    def __call__(
        self,
        projected: Tensor | None,
        other_inputs: Tensor,
        state: LayerStates,
    ) -> tuple[Tensor, LayerStates]:
        """Run one step of all layers.

        projected: (N, ·) from `project_words`; None if E is 0.
        other_inputs: (N, I - E) inputs of the first layer that follow the words.
        Returns outputs (N, D) and the next state.
        """
        inputs = other_inputs
        next_states = []
        for number, (weights, layer_state) in enumerate(zip(self.layers, state)):
            if number:
                inputs = self.dropout(inputs)
                projected = None
            next_state = self._step(inputs, projected, *weights, *layer_state)
            next_states.append(next_state)
            inputs = next_state[0]
        return inputs, tuple(next_states)


def _lstm_step(
    inputs: Tensor,
    projected: Tensor | None,
    gates: AccumulatedLinear,
    hidden: Tensor,
    cell: Tensor,
) -> tuple[Tensor, Tensor]:
    return lstm_cell_(gates(torch.cat([inputs, hidden], dim=1), plus=projected), cell)


def _gru_step(
    inputs: Tensor,
    projected: Tensor | None,
    input_gates: AccumulatedLinear,
    state_gates: AccumulatedLinear,
    hidden: Tensor,
) -> tuple[Tensor]:
    reset, update, new = input_gates(inputs, plus=projected).chunk(3, dim=1)
    reset_state, update_state, new_state = state_gates(hidden).chunk(3, dim=1)
    new = tanh(new + (reset + reset_state).sigmoid() * new_state)
    return (new + (update + update_state).sigmoid() * (hidden - new),)


def _gru_step_reset_before(
    inputs: Tensor,
    projected: Tensor | None,
    input_gates: AccumulatedLinear,
    state_gates: AccumulatedLinear,
    new_gate: AccumulatedLinear,
    hidden: Tensor,
) -> tuple[Tensor]:
    """Step of a GRU whose reset gate comes before the product with the state."""
    reset, update, new = input_gates(inputs, plus=projected).chunk(3, dim=1)
    reset_state, update_state = state_gates(hidden).chunk(2, dim=1)
    reset = (reset + reset_state).sigmoid()
    new = tanh(new + new_gate(reset * hidden))
    return (new + (update + update_state).sigmoid() * (hidden - new),)
