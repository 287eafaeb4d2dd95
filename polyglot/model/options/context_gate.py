"""The context gate: a mask on word embeddings, the same for all words of a sentence, that its context decides."""

from __future__ import annotations

from pydantic import Field
from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig
from polyglot.layers.dropout import Dropout
from polyglot.layers.linear import Linear
from polyglot.layers.masks import masked_mean
from polyglot.model.memory import Memory
from polyglot.model.options.base import OPTIONS, EmbeddingOption


@OPTIONS.register("context_gate")
class ContextGate(EmbeddingOption):
    """e_t ↦ e_t ⊙ σ(W c + b) with a context c of the source sentence (Choi, Cho and Bengio 2017, section 3).

    On the source side c is the mean over the words of NN(e_t), NN a feed-forward network of one hidden layer. A decoder must not
    depend on which language was encoded: on the target side c is the mean of the rows of the memory.
    """

    class Config(ComponentConfig):
        hidden_size: int | None = Field(None, ge=1, le=65536)
        """Size of the hidden layer of NN and of its context; by default that of the embeddings. The target side has no NN."""
        dropout: float = Field(0.0, ge=0, lt=1)
        """Dropout on the context."""

    def __init__(self, config: Config, *, size: int, memory_size: int | None) -> None:
        super().__init__(config, size=size, memory_size=memory_size)
        if memory_size is None:
            hidden = config.hidden_size or size
            self.network = nn.Sequential(Linear(size, hidden), nn.Tanh(), Linear(hidden, hidden))
        self.gate = Linear(memory_size or hidden, size)
        self.dropout = Dropout(config.dropout)

    def forward(self, embedded: Tensor, mask: Tensor, memory: Memory | None = None) -> Tensor:
        return embedded * self.gates(embedded, mask, memory).unsqueeze(1)

    def gates(self, embedded: Tensor, mask: Tensor, memory: Memory | None = None) -> Tensor:
        """The gate of each sentence, in (0, 1) up to the rounding of its type: (B, E)"""
        return self._gates_from_context(
            masked_mean(self.network(embedded), mask) if memory is None else memory.mean()
        )

    def start(self, memory: Memory) -> Tensor:
        return self._gates_from_context(memory.mean())

    def _gates_from_context(self, context: Tensor) -> Tensor:
        return self.gate(self.dropout(context)).sigmoid()

    def step(self, words: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return words * state, state

    def reorder(self, state: Tensor, rows: Tensor) -> Tensor:
        return state.index_select(0, rows)
