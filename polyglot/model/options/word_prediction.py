"""Word prediction: training-only heads that predict the words still to come."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig
from polyglot.core.setting_types import DropoutRate, Size
from polyglot.layers.attention import Attention
from polyglot.layers.dropout import Dropout
from polyglot.layers.linear import Linear
from polyglot.model.memory import Memory
from polyglot.model.options.base import OPTIONS, DecoderOption


class InitialWordPredictor(nn.Module):
    """p(w given x) = softmax(W · tanh(U [s₀; c])) of all target words: WP-E (section 3.1).

    c = Σ α_i h_i with α = softmax(att(s₀, h_i)).
    """

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
        hidden_size = config.hidden_size or size
        self.attention = Attention("mlp", query_size=initial_state_size, memory_size=memory_size)
        self.combine = Linear(initial_state_size + memory_size, hidden_size)
        self.dropout = Dropout(config.dropout)
        self.output = Linear(hidden_size, vocabulary_size)

    def forward(self, initial_state: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """initial_state (B, ·), memory (B, K, D) -> hidden (B, H), attention weights of s₀ (B, K)

        `output` projects the hidden layer to words.
        """
        queries = initial_state.unsqueeze(1)
        keys = self.attention.keys(memory.states)
        contexts, weights = self.attention(queries, keys, memory.states, memory.attention_mask)
        combined = torch.cat([initial_state, contexts.squeeze(1)], dim=1)
        return self.dropout(self.combine(combined).tanh()), weights.squeeze(1)


class RemainingWordPredictor(nn.Module):
    """p_j = softmax(W · tanh(U [tanh(P s_j); c_j])) of the words still to come at step j: WP-D.

    Source: section 3.2 of the paper. c_j comes from a separate attention over the memory, since
    not every decoder has a single context vector.
    """

    def __init__(
        self, config: WordPrediction.Config, *, size: int, memory_size: int, vocabulary_size: int
    ) -> None:
        super().__init__()
        hidden_size = config.hidden_size or size
        self.attention = Attention("general", query_size=size, memory_size=memory_size)
        self.state = Linear(size, size)
        self.combine = Linear(size + memory_size, hidden_size)
        self.dropout = Dropout(config.dropout)
        self.output = Linear(hidden_size, vocabulary_size)

    def forward(self, states: Tensor, memory: Memory) -> Tensor:
        """states (B, T, D), memory (B, K, ·) -> hidden (B, T, H), which `output` projects to words"""
        keys = self.attention.keys(memory.states)
        contexts, _ = self.attention(states, keys, memory.states, memory.attention_mask)
        combined = torch.cat([self.state(states).tanh(), contexts], dim=2)
        return self.dropout(self.combine(combined).tanh())


@OPTIONS.register("word_prediction")
class WordPrediction(DecoderOption):
    """Predict the target words without their order (Weng et al. 2017).

    The predictions are made from the decoder's initial state, and at each step for the words still
    to come. The option only adds the losses `initial_words` and `remaining_words`: translation with
    the whole vocabulary is not slower. The prediction from the initial state can select the output
    words of search (vocabulary selection).
    """

    class Config(DecoderOption.Config):
        predict: Literal["initial", "states", "both"] = "both"
        """From the initial state (the paper's WP-E), from each state (WP-D), or both (WP-ED)."""
        hidden_size: Size | None = None
        """Size of the layer that is projected to words; by default the size of the decoder."""
        dropout: DropoutRate = 0.0
        """Dropout on this layer."""

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
        sizes = {"size": size, "memory_size": memory_size, "vocabulary_size": vocabulary_size}
        self.initial = None
        self.states = None
        if config.predict != "states":
            self.initial = InitialWordPredictor(
                config, initial_state_size=initial_state_size, **sizes
            )
        if config.predict != "initial":
            self.states = RemainingWordPredictor(config, **sizes)

    def word_predictors(self) -> dict[str, nn.Module]:
        predictors: dict[str, nn.Module] = {}
        if self.initial is not None:
            predictors["initial_words"] = self.initial
        if self.states is not None:
            predictors["remaining_words"] = self.states
        return predictors

    def vocabulary_parameters(self) -> Iterable[nn.Parameter]:
        for predictor in self.word_predictors().values():
            yield from predictor.output.parameters()
