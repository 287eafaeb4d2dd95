"""Context gate: a gate on word embeddings, computed from the sentence and equal for its words."""

from __future__ import annotations

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
    of NN(e_t), where NN is a feed-forward network with one hidden layer. On the target side, c is
    the mean of the memory rows, since a decoder must not depend on the source language.
    """

    class Config(ComponentConfig):
        hidden_size: Size | None = None
        """Size of the hidden layer of NN and of the context, on the source side; by default the
        embedding size. The target side has no NN."""
        dropout: DropoutRate = 0.0
        """Dropout on the context."""

    def __init__(self, config: Config, *, size: int, memory_size: int | None) -> None:
        super().__init__(config, size=size, memory_size=memory_size)
        if memory_size is None:
            context_size = config.hidden_size or size
            self.network = nn.Sequential(
                Linear(size, context_size), nn.Tanh(), Linear(context_size, context_size)
            )
        else:
            context_size = memory_size
        self.gate = Linear(context_size, size)
        self.dropout = Dropout(config.dropout)

    def forward(self, embedded: Tensor, mask: Tensor, memory: Memory | None = None) -> Tensor:
        return embedded * self.gates(embedded, mask, memory).unsqueeze(1)

    def gates(self, embedded: Tensor, mask: Tensor, memory: Memory | None = None) -> Tensor:
        """Return the gate of each sentence (B, E), between 0 and 1."""
        if memory is None:
            context = masked_mean(self.network(embedded), mask)
        else:
            context = memory.mean()
        return self._gates_from_context(context)

    def _gates_from_context(self, context: Tensor) -> Tensor:
        return self.gate(self.dropout(context)).sigmoid()

    def start(self, memory: Memory) -> Tensor:
        return self._gates_from_context(memory.mean())

    def step(self, words: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return words * state, state

    def reorder(self, state: Tensor, rows: Tensor) -> Tensor:
        return state.index_select(0, rows)
