"""Word prediction: beside its states, a decoder learns to say which words are still to come."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig
from polyglot.layers.attention import Attention
from polyglot.layers.dropout import Dropout
from polyglot.layers.linear import Linear
from polyglot.model.memory import Memory
from polyglot.model.options.base import OPTIONS, DecoderOption


class InitialWordPredictor(nn.Module):
    """p(w given x) = softmax(W · tanh(U [s₀; c])), c = Σ α_i h_i with α = softmax(att(s₀, h_i)): WP-E (section 3.1)."""

    def __init__(
        self,
        config: WordPrediction.Config,
        *,
        initial_state_size: int,
        size: int,
        memory_size: int,
        vocabulary_size: int,
    ) -> None:
        super().__init__()
        hidden = config.hidden_size or size
        self.attention = Attention("mlp", query_size=initial_state_size, memory_size=memory_size)
        self.combine = Linear(initial_state_size + memory_size, hidden)
        self.dropout = Dropout(config.dropout)
        self.output = Linear(hidden, vocabulary_size)

    def forward(self, first: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """first (B, ·), memory (B, K, D) -> what is projected to words (B, H), and the attention of s₀ (B, K)"""
        contexts, weights = self.attention(
            first.unsqueeze(1), self.attention.keys(memory.states), memory.states, memory.mask
        )
        hidden = self.combine(torch.cat([first, contexts.squeeze(1)], dim=1)).tanh()
        return self.dropout(hidden), weights.squeeze(1)


class RemainingWordPredictor(nn.Module):
    """p_j = softmax(W · tanh(U [tanh(P s_j); c_j])) of the words not yet written at step j: WP-D (section 3.2).

    c_j comes from an attention of its own over the memory: decoders of every kind have states, but not every one has a single context.
    """

    def __init__(
        self, config: WordPrediction.Config, *, size: int, memory_size: int, vocabulary_size: int
    ) -> None:
        super().__init__()
        hidden = config.hidden_size or size
        self.attention = Attention("general", query_size=size, memory_size=memory_size)
        self.state = Linear(size, size)
        self.combine = Linear(size + memory_size, hidden)
        self.dropout = Dropout(config.dropout)
        self.output = Linear(hidden, vocabulary_size)

    def forward(self, states: Tensor, memory: Memory) -> Tensor:
        """states (B, T, D), memory (B, K, ·) -> what is projected to words (B, T, H)"""
        contexts, _ = self.attention(
            states, self.attention.keys(memory.states), memory.states, memory.mask
        )
        return self.dropout(
            self.combine(torch.cat([self.state(states).tanh(), contexts], dim=2)).tanh()
        )


@OPTIONS.register("word_prediction")
class WordPrediction(DecoderOption):
    """Predicts the words of the target, in no order: from the decoder's initial state, and at each step those to come (Weng et al. 2017).

    It only adds losses, `initial_words` and `remaining_words`: translating with the whole vocabulary costs what it costs without it.
    What it predicts from the initial state can choose the output words of search.
    """

    class Config(DecoderOption.Config):
        predict: Literal["initial", "states", "both"] = "both"
        """From the initial state (the paper's WP-E), from each state (WP-D), or both (WP-ED)."""
        hidden_size: int | None = Field(None, ge=1, le=65536)
        """Size of the layer that is projected to words; by default that of the decoder."""
        dropout: float = Field(0.0, ge=0, lt=1)
        """Dropout on that layer."""

    def __init__(
        self,
        config: ComponentConfig,
        *,
        initial_state_size: int,
        size: int,
        memory_size: int,
        vocabulary_size: int,
    ) -> None:
        super().__init__(
            config,
            initial_state_size=initial_state_size,
            size=size,
            memory_size=memory_size,
            vocabulary_size=vocabulary_size,
        )
        given = {"size": size, "memory_size": memory_size, "vocabulary_size": vocabulary_size}
        self.initial = (
            InitialWordPredictor(config, initial_state_size=initial_state_size, **given)
            if config.predict != "states"
            else None
        )
        self.states = RemainingWordPredictor(config, **given) if config.predict != "initial" else None

    def word_predictors(self) -> dict[str, nn.Module]:
        predictors: dict[str, nn.Module] = {}
        if self.initial is not None:
            predictors["initial_words"] = self.initial
        if self.states is not None:
            predictors["remaining_words"] = self.states
        return predictors

    def vocabulary_parameters(self) -> Iterable[nn.Parameter]:
        return [
            parameter
            for part in (self.initial, self.states)
            if part is not None
            for parameter in part.output.parameters()
        ]
