"""Decoder of RNNsearch: the attention comes before the recurrence, or between two recurrences."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from polyglot.core.problems import Problem
from polyglot.core.setting_types import DropoutRate, Size
from polyglot.layers.attention import Attention, AttentionSteps
from polyglot.layers.dropout import Dropout
from polyglot.layers.linear import Linear, resize
from polyglot.layers.lstm_cell import tanh
from polyglot.layers.recurrent import RECURRENCES, LayerStates, RecurrentSteps
from polyglot.model.decoders.base import DECODERS, Decoder, attention_size_problem
from polyglot.model.inner_states import InnerStates
from polyglot.model.memory import Memory


class RnnSearchState(NamedTuple):
    """Decoding state of N hypotheses."""

    recurrence: RecurrentSteps
    """Recurrence that reads the word, with its matrices prepared once for many steps."""
    context_recurrence: RecurrentSteps | None
    """Second recurrence, which reads the context; None in the form `paper`."""
    attention: AttentionSteps
    """Attention with the keys and values of each sentence, which are computed once."""
    layer_states: LayerStates
    """s_j, and the cell of an LSTM."""


@DECODERS.register("rnnsearch")
class RnnSearchDecoder(Decoder):
    """Recurrent decoder whose recurrence reads the context (Bahdanau et al. 2015).

    - `form: paper`, of Weng et al. 2017 and of Choi et al. 2017, who use an LSTM:
      c_j = att(s_{j-1}), s_j = RNN([y_{j-1}; c_j], s_{j-1}).
    - `form: conditional`, of dl4mt, the program of Weng et al. 2017: s' = RNN₁(y_{j-1}, s_{j-1}),
      c_j = att(s'), s_j = RNN₂(c_j, s').

    Both forms have the output t_j = tanh(W_s s_j + W_c c_j + W_y y_{j-1} + b), as in dl4mt. With
    `output: maxout`, the sum is twice as long, and t_j is the maximum of each pair of neighbours.
    Bahdanau et al. compute it from s_{j-1} instead of s_j.

    With `reset_after: true`, the GRU is that of PyTorch and dl4mt, r ∘ (U s); otherwise that of
    Cho et al. 2014, whom Weng et al. cite, U (r ∘ s).
    """

    class Config(Decoder.Config):
        used_with = {"reset_after": ("kind", ("gru",))}

        size: Size = 512
        """Size of s_j."""
        kind: Literal["gru", "lstm"] = "gru"
        """Type of recurrence."""
        reset_after: bool = True
        """The reset gate of a GRU comes after the product with the state, r ∘ (U s), as in PyTorch
        and dl4mt. false: before it, U (r ∘ s), as in Cho et al. 2014."""
        form: Literal["paper", "conditional"] = "paper"
        """Attention before one recurrence, or between two."""
        output: Literal["tanh", "maxout"] = "tanh"
        """Layer that combines state, context and word."""
        output_size: Size | None = None
        """Size D of that layer, from which words are predicted; by default `size`."""
        start: Literal["mean", "tanh"] = "mean"
        """s₀: the mean of the memory rows (projected if the sizes differ), or tanh(W·mean + b) as
        in dl4mt."""
        attention: Literal["dot", "general", "mlp"] = "mlp"
        """Attention: `dot` and `general` of Luong et al. 2015, `mlp` of Bahdanau et al. 2015."""
        dropout: DropoutRate = 0.0
        """Dropout on the output."""

        @property
        def output_states_size(self) -> int:
            return self.output_size or self.size

        def validate_size(self, memory_size: int) -> Problem | None:
            return attention_size_problem(self.attention, self.size, memory_size)

    def __init__(self, config: Config, *, input_size: int, memory_size: int) -> None:
        super().__init__()
        size = config.size
        self.output_states_size = config.output_states_size
        self.initial_state_size = size
        self.inner_size = size
        self.input_size = input_size
        self.reset_after = config.reset_after
        self.is_maxout = config.output == "maxout"

        recurrence_type = RECURRENCES[config.kind]
        if config.form == "paper":
            self.recurrence = recurrence_type(input_size + memory_size, size, batch_first=True)
            self.context_recurrence = None
        else:
            self.recurrence = recurrence_type(input_size, size, batch_first=True)
            self.context_recurrence = recurrence_type(memory_size, size, batch_first=True)

        if config.start == "tanh":
            self.initial = nn.Sequential(Linear(memory_size, size), nn.Tanh())
        else:
            self.initial = resize(memory_size, size)
        self.attention = Attention(config.attention, query_size=size, memory_size=memory_size)

        layer_size = 2 * self.output_states_size if self.is_maxout else self.output_states_size
        self.state_output = Linear(size, layer_size)
        self.context_output = Linear(memory_size, layer_size, bias=False)
        self.word_output = Linear(input_size, layer_size, bias=False)
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
        """The inner states are s_j, c_j and y_{j-1}."""
        state = self.start(memory)
        gate_inputs = state.recurrence.project_words(embedded.transpose(0, 1))  # (T, B, ·)

        states = []
        contexts = []
        for position_inputs in gate_inputs.unbind():
            position_states, position_contexts, state = self._recur(position_inputs, state, memory)
            states.append(position_states)
            contexts.append(position_contexts)

        inner = InnerStates(torch.stack(states, dim=1), torch.stack(contexts, dim=1), embedded)
        return self.last_layer(inner), inner

    def last_layer(self, inner: InnerStates) -> Tensor:
        """Return t_j (B, T, D), after dropout."""
        return self._combine(inner.states, inner.contexts, self.word_output(inner.words))

    def _combine(self, states: Tensor, contexts: Tensor, words: Tensor) -> Tensor:
        """Return t_j (..., D) of s_j, c_j and W_y y_{j-1}, each (..., ·)."""
        combined = self.state_output(states) + self.context_output(contexts) + words
        if self.is_maxout:
            outputs = combined.unflatten(-1, (self.output_states_size, 2)).amax(dim=-1)
        else:
            outputs = tanh(combined)
        return self.dropout(outputs)

    def initial_state(self, memory: Memory) -> Tensor:
        return self.initial(memory.mean())

    def start(self, memory: Memory) -> RnnSearchState:
        recurrence = RecurrentSteps(
            self.recurrence,
            word_size=self.input_size,
            precision=self.precision,
            reset_after=self.reset_after,
        )
        context_recurrence = None
        if self.context_recurrence is not None:
            context_recurrence = RecurrentSteps(
                self.context_recurrence,
                word_size=0,
                precision=self.precision,
                reset_after=self.reset_after,
            )
        keys = self.attention.keys(memory.states)
        return RnnSearchState(
            recurrence,
            context_recurrence,
            attention=AttentionSteps(self.attention, keys, memory.states),
            layer_states=recurrence.start(self.initial_state(memory)),
        )

    def prepare_words(self, embedded: Tensor, state: RnnSearchState) -> Tensor:
        """Project the words to the gates and to the output layer: (U, E) -> (U, ·)"""
        gate_inputs = state.recurrence.project_words(embedded)
        return torch.cat([gate_inputs, self.word_output(embedded)], dim=1)

    def step(
        self,
        prepared_words: Tensor,
        state: RnnSearchState,
        memory: Memory,
    ) -> tuple[Tensor, RnnSearchState]:
        layer_size = self.word_output.out_features
        gate_size = prepared_words.shape[1] - layer_size
        gate_inputs, word_outputs = prepared_words.split([gate_size, layer_size], dim=1)
        states, contexts, next_state = self._recur(gate_inputs, state, memory)
        return self._combine(states, contexts, word_outputs), next_state

    def _recur(
        self,
        gate_inputs: Tensor,
        state: RnnSearchState,
        memory: Memory,
    ) -> tuple[Tensor, Tensor, RnnSearchState]:
        """Compute s_j, c_j and the next state: gate_inputs (N, ·) of the words -> (N, ·), (N, ·)"""
        if state.context_recurrence is None:
            (layer_state,) = state.layer_states
            last_states = layer_state[0]  # s_{j-1}
            contexts = state.attention(last_states, memory.attention_mask)
            states, layer_states = state.recurrence(gate_inputs, contexts, state.layer_states)
        else:
            no_contexts = gate_inputs[:, :0]
            middle_states, middle_layers = state.recurrence(
                gate_inputs, no_contexts, state.layer_states
            )
            contexts = state.attention(middle_states, memory.attention_mask)
            no_words = None
            states, layer_states = state.context_recurrence(no_words, contexts, middle_layers)
        return states, contexts, state._replace(layer_states=layer_states)

    def reorder(
        self,
        state: RnnSearchState,
        rows: Tensor,
        sentences: Tensor | None,
    ) -> RnnSearchState:
        (layer_state,) = state.layer_states
        layer_states = (tuple(part.index_select(0, rows) for part in layer_state),)
        attention = state.attention
        if sentences is not None:
            attention = attention.select(sentences)
        return state._replace(attention=attention, layer_states=layer_states)
