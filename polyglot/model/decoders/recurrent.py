"""Recurrent decoders with attention (Luong et al. 2015), with or without input feeding."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from polyglot.layers.accumulated_linear import AccumulatedLinear
from polyglot.layers.attention import Attention, AttentionSteps
from polyglot.layers.dropout import Dropout, StepDropout
from polyglot.layers.linear import Linear, linear, resize
from polyglot.layers.lstm_cell import tanh
from polyglot.layers.recurrent import (
    RECURRENCES,
    LayerStates,
    RecurrentSteps,
    repeat_initial_state,
    run_recurrence,
)
from polyglot.model.decoders.base import DECODERS, AttentionDecoderConfig, Decoder
from polyglot.model.inner_states import InnerStates
from polyglot.model.memory import Memory


class DecodingState(NamedTuple):
    """Decoding state of N hypotheses."""

    stepper: RecurrentSteps
    """Recurrence; its matrices are prepared once (memory layout and dtype) for all steps."""
    combine: AccumulatedLinear
    """W_s (D, D), the part of the combining matrix that multiplies the recurrent states."""
    dropout: StepDropout
    attention: AttentionSteps
    """Attention with the keys and values of each sentence, which are computed once."""
    layer_states: LayerStates
    feed: Tensor
    """Previous output (N, D) with input feeding, else (N, 0)."""


class RecurrentDecoder(Decoder):
    """s_t = RNN(e_t, s_{t-1}), c_t = attention(s_t, memory), output tanh(W [c_t; s_t]).

    Source: Luong et al. 2015, sections 3 and 3.3. The initial state s₀ is the mean of the memory
    rows, or tanh(W·mean), for every layer. Without input feeding, one fused call computes the whole
    target.
    """

    kind: str
    """Type of recurrence: `lstm` or `gru`."""

    class Config(AttentionDecoderConfig):
        start: Literal["mean", "tanh"] = "mean"
        """Initial state: the mean of the memory rows (projected if the sizes differ), or
        tanh(W·mean) (Sennrich et al. 2017)."""

    def __init__(self, config: Config, *, input_size: int, memory_size: int) -> None:
        super().__init__()
        size = config.size
        self.output_states_size = size
        self.initial_state_size = size
        self.layer_count = config.layers
        self.input_feeding = config.input_feeding
        self.input_size = input_size

        feed_size = size if config.input_feeding else 0
        self.recurrence = RECURRENCES[self.kind](
            input_size + feed_size,
            size,
            config.layers,
            batch_first=True,
            dropout=config.dropout if config.layers > 1 else 0.0,
        )
        if config.start == "tanh":
            self.initial = nn.Sequential(Linear(memory_size, size, bias=False), nn.Tanh())
        else:
            self.initial = resize(memory_size, size)
        self.attention = Attention(config.attention, query_size=size, memory_size=memory_size)
        self.combine = Linear(memory_size + size, size, bias=False)
        self.dropout = Dropout(config.dropout)

    def forward(self, embedded: Tensor, mask: Tensor, memory: Memory) -> Tensor:
        states, _ = self.with_inner_states(embedded, mask, memory)
        return states

    def with_inner_states(
        self,
        embedded: Tensor,
        mask: Tensor,
        memory: Memory,
    ) -> tuple[Tensor, InnerStates]:
        """The inner states are s_t and W_c c_t."""
        if self.input_feeding:
            return self._run_stepwise(embedded, memory)

        initial = repeat_initial_state(self.kind, self.initial_state(memory), self.layer_count)
        recurrent_states = run_recurrence(self.recurrence, embedded, initial)
        keys = self.attention.keys(memory.states)
        values = self._values(memory)
        contexts, _ = self.attention(recurrent_states, keys, values, memory.attention_mask)
        inner = InnerStates(recurrent_states, contexts)
        return self.last_layer(inner), inner

    def last_layer(self, inner: InnerStates) -> Tensor:
        """Return tanh(W [c; s]), after dropout."""
        return self.dropout(tanh(inner.contexts + linear(inner.states, self._state_matrix)))

    def _run_stepwise(self, embedded: Tensor, memory: Memory) -> tuple[Tensor, InnerStates]:
        """Run the recurrence step by step.

        With input feeding, a step reads the output of the step before, so there is no fused call.
        """
        state = self.start(memory)
        prepared_words = self.prepare_words(embedded.transpose(0, 1), state)  # (T, B, ·)

        outputs = []
        states = []
        contexts = []
        for position_words in prepared_words.unbind():
            output, inner, state = self._step(position_words, state, memory)
            outputs.append(output)
            states.append(inner.states)
            contexts.append(inner.contexts)
        inner = InnerStates(torch.stack(states, dim=1), torch.stack(contexts, dim=1))
        return torch.stack(outputs, dim=1), inner

    def initial_state(self, memory: Memory) -> Tensor:
        return self.initial(memory.mean())

    def start(self, memory: Memory) -> DecodingState:
        initial = self.initial_state(memory)
        stepper = RecurrentSteps(
            self.recurrence,
            word_size=self.input_size,
            precision=self.precision,
        )
        keys = self.attention.keys(memory.states)
        return DecodingState(
            stepper,
            combine=AccumulatedLinear(self._state_matrix, precision=self.precision),
            dropout=StepDropout(self.dropout.rate if self.training else 0.0),
            attention=AttentionSteps(self.attention, keys, self._values(memory)),
            layer_states=stepper.start(initial),
            feed=torch.zeros_like(initial) if self.input_feeding else initial[:, :0],
        )

    def prepare_words(self, embedded: Tensor, state: DecodingState) -> Tensor:
        return state.stepper.project_words(embedded)

    def step(
        self,
        prepared_words: Tensor,
        state: DecodingState,
        memory: Memory,
    ) -> tuple[Tensor, DecodingState]:
        output, _, next_state = self._step(prepared_words, state, memory)
        return output, next_state

    def _step(
        self,
        prepared_words: Tensor,
        state: DecodingState,
        memory: Memory,
    ) -> tuple[Tensor, InnerStates, DecodingState]:
        """Return the output (N, D) of one step, the inner states (N, ·) and the next state."""
        recurrent_states, layer_states = state.stepper(
            prepared_words, state.feed, state.layer_states
        )

        # All hypotheses of a sentence are queries to the one memory of this sentence.
        contexts = state.attention(recurrent_states, memory.attention_mask)
        output = state.dropout(tanh(state.combine(recurrent_states, plus=contexts)))

        feed = output if self.input_feeding else output[:, :0]
        next_state = state._replace(layer_states=layer_states, feed=feed)
        return output, InnerStates(recurrent_states, contexts), next_state

    def reorder(
        self,
        state: DecodingState,
        rows: Tensor,
        sentences: Tensor | None,
    ) -> DecodingState:
        layer_states = []
        for layer_state in state.layer_states:
            layer_states.append(tuple(part.index_select(0, rows) for part in layer_state))

        if sentences is not None:
            state = state._replace(attention=state.attention.select(sentences))
        return state._replace(
            layer_states=tuple(layer_states), feed=state.feed.index_select(0, rows)
        )

    def _values(self, memory: Memory) -> Tensor:
        """Return W_c m for every memory row m, (B, K, D).

        With W = [W_c W_s], W [c; s] is W_c c + W_s s. The context c is a weighted mean of memory
        rows, so W_c can be applied to the rows before the attention mixes them.
        """
        return linear(memory.states, self.combine.weight[:, : memory.states.shape[-1]])

    @property
    def _state_matrix(self) -> Tensor:
        """W_s (D, D)"""
        return self.combine.weight[:, -self.output_states_size :]


@DECODERS.register("lstm")
class LstmDecoder(RecurrentDecoder):
    """Long short-term memory with attention over the memory."""

    kind = "lstm"


@DECODERS.register("gru")
class GruDecoder(RecurrentDecoder):
    """Gated recurrent units with attention over the memory."""

    kind = "gru"
