"""Attentive recurrent decoders in the manner of Luong, with or without input feeding."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from polyglot.layers.attention import Attention
from polyglot.layers.dropout import Dropout
from polyglot.layers.recurrent import KINDS, State, Stepper, run, start_state
from polyglot.model.decoders.base import DECODERS, Decoder
from polyglot.model.memory import Memory
from polyglot.registry import ComponentConfig


class DecodingState(NamedTuple):
    """Where N hypotheses stand."""

    recurrence: State
    """each (layers, N, D)"""
    feed: Tensor | None
    """(N, D): the last output, when it is fed back"""
    keys: Tensor
    """(B, K, D): what the attention compares with, computed once a sentence"""
    stepper: Stepper
    """the recurrence, laid out for single steps"""


class RecurrentDecoder(Decoder):
    """s_t = RNN(e_t, s_{t-1}), c_t = attention(s_t, memory), output tanh(W [c_t; s_t]) (Luong et al. 2015, sections 3 and 3.3).

    s₀ is the mean of the memory's rows, for every layer. Without input feeding the whole target runs in one fused call.
    """

    kind: str

    class Config(ComponentConfig):
        size: int = Field(512, ge=1)
        """State size D."""
        layers: int = Field(2, ge=1)
        """How many layers are stacked."""
        attention: Literal["dot", "general", "mlp"] = "general"
        """Luong's dot product, Luong's bilinear form, or Bahdanau's feed-forward network."""
        input_feeding: bool = False
        """Feed each output back beside the next word, as the paper does; slower, since positions wait for each other."""
        dropout: float = Field(0.3, ge=0, lt=1)
        """Dropout between layers and on the output."""

    def __init__(self, config: Config, *, input_size: int, memory_size: int) -> None:
        super().__init__()
        self.size, self.layer_count, self.input_feeding = config.size, config.layers, config.input_feeding
        self.recurrence = KINDS[self.kind](
            input_size + (config.size if config.input_feeding else 0),
            config.size,
            config.layers,
            batch_first=True,
            dropout=config.dropout if config.layers > 1 else 0.0,
        )
        self.initial = nn.Identity() if memory_size == config.size else nn.Linear(memory_size, config.size)
        self.attention = Attention(config.attention, query_size=config.size, memory_size=memory_size)
        self.combine = nn.Linear(memory_size + config.size, config.size, bias=False)
        self.dropout = Dropout(config.dropout)

    def forward(self, embedded: Tensor, mask: Tensor, memory: Memory) -> Tensor:
        if not self.input_feeding:
            outputs = run(self.recurrence, embedded, self._start_recurrence(memory))
            return self._attend(outputs, self.attention.keys(memory.states), memory)
        state, states = self.start(memory), []
        for position in range(embedded.shape[1]):  # each input holds the output before it: no fused call exists
            output, state = self.step(embedded[:, position], state, memory)
            states.append(output)
        return torch.stack(states, dim=1)

    def start(self, memory: Memory) -> DecodingState:
        recurrence = self._start_recurrence(memory)
        feed = torch.zeros_like(recurrence[0][0]) if self.input_feeding else None
        return DecodingState(recurrence, feed, self.attention.keys(memory.states), Stepper(self.recurrence))

    def step(self, embedded: Tensor, state: DecodingState, memory: Memory) -> tuple[Tensor, DecodingState]:
        inputs = torch.cat([embedded, state.feed], dim=-1) if self.input_feeding else embedded
        outputs, recurrence = state.stepper(inputs, state.recurrence)
        # The hypotheses of a sentence are so many queries to its one memory.
        queries = outputs.view(len(memory.states), -1, self.size)
        output = self._attend(queries, state.keys, memory).reshape(len(embedded), self.size)
        return output, state._replace(recurrence=recurrence, feed=output if self.input_feeding else None)

    def reorder(self, state: DecodingState, rows: Tensor, sentences: Tensor | None) -> DecodingState:
        recurrence = tuple(part.index_select(1, rows) for part in state.recurrence)
        feed = None if state.feed is None else state.feed.index_select(0, rows)
        keys = state.keys if sentences is None else state.keys.index_select(0, sentences)
        return state._replace(recurrence=recurrence, feed=feed, keys=keys)

    def _start_recurrence(self, memory: Memory) -> State:
        return start_state(self.kind, self.initial(memory.mean()), self.layer_count)

    def _attend(self, outputs: Tensor, keys: Tensor, memory: Memory) -> Tensor:
        contexts, _ = self.attention(outputs, keys, memory.states, memory.mask)
        return self.dropout(torch.tanh(self.combine(torch.cat([contexts, outputs], dim=-1))))


@DECODERS.register("lstm")
class LstmDecoder(RecurrentDecoder):
    """Long short-term memory with attention over the memory."""

    kind = "lstm"


@DECODERS.register("gru")
class GruDecoder(RecurrentDecoder):
    """Gated recurrent units with attention over the memory."""

    kind = "gru"
