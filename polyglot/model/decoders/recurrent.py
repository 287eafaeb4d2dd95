"""Attentive recurrent decoders in the manner of Luong, with or without input feeding."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from polyglot.layers.accumulated_linear import AccumulatedLinear
from polyglot.layers.attention import Attention, AttentionSteps
from polyglot.layers.dropout import Dropout, StepDropout
from polyglot.layers.linear import Linear, linear
from polyglot.layers.lstm_cell import tanh
from polyglot.layers.recurrent import (
    KINDS,
    LayerStates,
    RecurrentDecoderConfig,
    RecurrentSteps,
    run_recurrence,
    repeat_initial_state,
)
from polyglot.model.decoders.base import DECODERS, Decoder
from polyglot.model.memory import Memory


class DecodingState(NamedTuple):
    """Where N hypotheses stand."""

    stepper: RecurrentSteps
    """the recurrence, with its matrices laid out once for many steps"""
    combine: AccumulatedLinear
    """(D, D): the half of the combining matrix that meets the outputs"""
    dropout: StepDropout
    attention: AttentionSteps
    """over the memory of each sentence, whose keys and values are computed once"""
    recurrence: LayerStates
    feed: Tensor
    """(N, D): the last output where it is fed back, else (N, 0)"""


class RecurrentDecoder(Decoder):
    """s_t = RNN(e_t, s_{t-1}), c_t = attention(s_t, memory), output tanh(W [c_t; s_t]) (Luong et al. 2015, sections 3 and 3.3).

    s₀ is the mean of the memory's rows, for every layer. Without input feeding the whole target runs in one fused call.
    """

    kind: str

    class Config(RecurrentDecoderConfig):
        pass

    def __init__(self, config: Config, *, input_size: int, memory_size: int) -> None:
        super().__init__()
        self.size, self.layer_count, self.input_feeding = (
            config.size,
            config.layers,
            config.input_feeding,
        )
        self.initial_state_size = config.size
        self.input_size = input_size
        self.recurrence = KINDS[self.kind](
            input_size + (config.size if config.input_feeding else 0),
            config.size,
            config.layers,
            batch_first=True,
            dropout=config.dropout if config.layers > 1 else 0.0,
        )
        self.initial = (
            nn.Identity() if memory_size == config.size else Linear(memory_size, config.size)
        )
        self.attention = Attention(
            config.attention, query_size=config.size, memory_size=memory_size
        )
        self.combine = Linear(memory_size + config.size, config.size, bias=False)
        self.dropout = Dropout(config.dropout)

    def forward(self, embedded: Tensor, mask: Tensor, memory: Memory) -> Tensor:
        if not self.input_feeding:
            outputs = run_recurrence(
                self.recurrence,
                embedded,
                repeat_initial_state(self.kind, self.initial_state(memory), self.layer_count),
            )
            contexts, _ = self.attention(
                outputs, self.attention.keys(memory.states), self._values(memory), memory.mask
            )
            return self.dropout(tanh(contexts + linear(outputs, self._combine_outputs)))
        state, states = self.start(memory), []
        for words in self.prepare_words(
            embedded.transpose(0, 1), state
        ).unbind():  # each step needs the output before it: no fused call exists
            output, state = self.step(words, state, memory)
            states.append(output)
        return torch.stack(states, dim=1)

    def initial_state(self, memory: Memory) -> Tensor:
        return self.initial(memory.mean())

    def start(self, memory: Memory) -> DecodingState:
        initial = self.initial_state(memory)
        stepper = RecurrentSteps(self.recurrence, word_size=self.input_size)
        return DecodingState(
            stepper,
            combine=AccumulatedLinear(self._combine_outputs),
            dropout=StepDropout(self.dropout.share if self.training else 0.0),
            attention=AttentionSteps(
                self.attention, self.attention.keys(memory.states), self._values(memory)
            ),
            recurrence=stepper.start(initial),
            feed=torch.zeros_like(initial) if self.input_feeding else initial[:, :0],
        )

    def prepare_words(self, embedded: Tensor, state: DecodingState) -> Tensor:
        return state.stepper.project_words(embedded)

    def step(
        self, words: Tensor, state: DecodingState, memory: Memory
    ) -> tuple[Tensor, DecodingState]:
        outputs, recurrence = state.stepper(words, state.feed, state.recurrence)
        # The hypotheses of a sentence are so many queries to its one memory.
        output = state.dropout(
            tanh(state.combine(outputs, plus=state.attention(outputs, memory.mask)))
        )
        return output, state._replace(
            recurrence=recurrence, feed=output if self.input_feeding else output[:, :0]
        )

    def reorder(
        self, state: DecodingState, rows: Tensor, sentences: Tensor | None
    ) -> DecodingState:
        recurrence = tuple(
            tuple(part.index_select(0, rows) for part in layer) for layer in state.recurrence
        )
        if sentences is not None:
            state = state._replace(attention=state.attention.select(sentences))
        return state._replace(recurrence=recurrence, feed=state.feed.index_select(0, rows))

    def _values(self, memory: Memory) -> Tensor:
        """W_c m of every memory row, (B, K, D): with W = [W_c W_s], W [c; s] is W_c c + W_s s, and a mixture of rows can be mixed after
        W_c."""
        return linear(memory.states, self.combine.weight[:, : memory.states.shape[-1]])

    @property
    def _combine_outputs(self) -> Tensor:
        """W_s (D, D)"""
        return self.combine.weight[:, -self.size :]


@DECODERS.register("lstm")
class LstmDecoder(RecurrentDecoder):
    """Long short-term memory with attention over the memory."""

    kind = "lstm"


@DECODERS.register("gru")
class GruDecoder(RecurrentDecoder):
    """Gated recurrent units with attention over the memory."""

    kind = "gru"
