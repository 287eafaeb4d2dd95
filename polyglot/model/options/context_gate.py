"""Context gate: a gate on word embeddings, computed from the sentence and equal for its words."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig
from polyglot.core.setting_types import DropoutRate, Size
from polyglot.layers.dropout import Dropout
from polyglot.layers.linear import Linear
from polyglot.layers.masks import masked_mean
from polyglot.model.memory import Memory
from polyglot.model.options.base import OPTIONS, EmbeddingOption


@OPTIONS.register("context_gate")
class ContextGate(EmbeddingOption):
    """e_t ↦ e_t ⊙ σ(W c + b) with a context c of the source sentence.

    Source: Choi, Cho and Bengio 2017, section 3. On the source side, c is the mean over the words
    of NN(e_t), where NN is a feed-forward network with one hidden layer. The target side has three
    contexts:

    - `context: rows`: the mean of the memory rows. A decoder then depends on no source language.
    - `context: network`: the mean of NN(m_k) over the memory rows m_k, with or without a bridge.
    - `context: source`: the context c of the source side, as in the paper. It bypasses the bridge,
      and needs the gate in every encoder.
    """

    decoder_settings = ("context",)
    used_in_decoder_with = {"hidden_size": ("context", ("network", "source"))}

    class Config(ComponentConfig):
        context: Literal["rows", "network", "source"] = "rows"
        """Context of the target side."""
        hidden_size: Size | None = None
        """Size of the hidden layer of NN and of the context; by default the embedding size. With
        `source` it must be that of the encoders. `rows` has no NN."""
        dropout: DropoutRate = 0.0
        """Dropout on the context."""

        def context_size(self, embedding_size: int) -> int:
            """Return the size of the context that NN computes."""
            return self.hidden_size or embedding_size

    def __init__(self, config: Config, *, size: int, memory_size: int | None) -> None:
        super().__init__(config, size=size, memory_size=memory_size)
        context_size = config.context_size(size)
        self.context = config.context
        if memory_size is None:  # source side: always the mean of NN over the words
            self.network = _network(size, context_size)
        elif self.context == "network":
            self.network = _network(memory_size, context_size)
        elif self.context == "rows":
            context_size = memory_size
        # `source` has no network: the context comes from the encoder.
        self.gate = Linear(context_size, size)
        self.dropout = Dropout(config.dropout)

    def forward(self, embedded: Tensor, mask: Tensor, memory: Memory | None = None) -> Tensor:
        return embedded * self.gates(embedded, mask, memory).unsqueeze(1)

    def with_context(self, embedded: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        context = self._context_of_words(embedded, mask)
        return embedded * self._gates_from_context(context).unsqueeze(1), context

    def gates(self, embedded: Tensor, mask: Tensor, memory: Memory | None = None) -> Tensor:
        """Return the gate of each sentence (B, E), between 0 and 1."""
        if memory is None:
            context = self._context_of_words(embedded, mask)
        else:
            context = self._context_of_memory(memory)
        return self._gates_from_context(context)

    def _context_of_words(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """Return the context of each sentence on the source side (B, C)."""
        return masked_mean(self.network(embedded), mask)

    def _gates_from_context(self, context: Tensor) -> Tensor:
        """Return σ(W c + b): (B, C) -> (B, E)"""
        return self.gate(self.dropout(context)).sigmoid()

    def _context_of_memory(self, memory: Memory) -> Tensor:
        """Return the context of each sentence on the target side (B, C)."""
        if self.context == "rows":
            return memory.mean()
        if self.context == "network":
            return masked_mean(self.network(memory.states), memory.mask)
        assert memory.context is not None, "the encoder has no context gate"
        return memory.context

    def start(self, memory: Memory) -> Tensor:
        """Return the gate of each sentence (B, E): the decoding state, equal for all words."""
        return self._gates_from_context(self._context_of_memory(memory))

    def step(self, words: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return words * state, state

    def reorder(self, state: Tensor, rows: Tensor) -> Tensor:
        return state.index_select(0, rows)


def _network(inputs: int, size: int) -> nn.Sequential:
    """Create NN, whose hidden layer and outputs have the same size."""
    return nn.Sequential(Linear(inputs, size), nn.Tanh(), Linear(size, size))
