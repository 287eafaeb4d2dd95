"""Word prediction: heads that predict target words without order; trained with extra losses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Protocol

import torch
from pydantic import model_validator
from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig
from polyglot.core.setting_types import DropoutRate, Size
from polyglot.layers.attention import Attention
from polyglot.layers.dropout import Dropout
from polyglot.layers.linear import Linear
from polyglot.model.inner_states import InnerStates
from polyglot.model.memory import Memory
from polyglot.model.options.base import OPTIONS, DecoderOption


class DecoderOutput(Protocol):
    """Fields of the model's output that a state-based predictor uses."""

    states: Tensor
    """States that the decoder's output layer projects, (B, T, D)."""
    inner: InnerStates
    memory: Memory
    decoder: Any
    """Decoder of the target language, whose `body` has `last_layer`."""

    @property
    def projection(self) -> nn.Linear:
        """Output layer of the decoder."""


class InitialWordPredictor(nn.Module):
    """Predictor of all target words from the decoder's initial state: WP-E.

    p(w given x) = softmax(W · tanh(U [s₀; c])), with biases; c = Σ_i α_i h_i with the rows h_i
    of the memory, where α is the softmax over i of att(s₀, h_i). Source: Weng et al. 2017, section
    4.1, equations 14 to 18.
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

    def vocabulary_parameters(self) -> Iterable[nn.Parameter]:
        return self.output.parameters()


class OwnLayersPredictor(nn.Module):
    """Predictor of the words still to come, with separate layers: a variant of WP-D.

    p_j = softmax(W · tanh(U [tanh(P h_j); c_j])), with biases. h_j is the state that the decoder's
    output layer projects. c_j comes from a separate attention over the memory.
    """

    def __init__(
        self,
        config: WordPrediction.Config,
        *,
        size: int,
        memory_size: int,
        vocabulary_size: int,
    ) -> None:
        super().__init__()
        hidden_size = config.hidden_size or size
        self.attention = Attention("general", query_size=size, memory_size=memory_size)
        self.state = Linear(size, size)
        self.combine = Linear(size + memory_size, hidden_size)
        self.dropout = Dropout(config.dropout)
        self.output = Linear(hidden_size, vocabulary_size)

    def forward(self, output: DecoderOutput) -> Tensor:
        """Return the hidden layer (B, T, H), which `output_layer` projects to words."""
        memory = output.memory
        keys = self.attention.keys(memory.states)
        contexts, _ = self.attention(output.states, keys, memory.states, memory.attention_mask)
        combined = torch.cat([self.state(output.states).tanh(), contexts], dim=2)
        return self.dropout(self.combine(combined).tanh())

    def output_layer(self, output: DecoderOutput) -> nn.Linear:
        """Return the layer from hidden states to words."""
        return self.output

    def vocabulary_parameters(self) -> Iterable[nn.Parameter]:
        return self.output.parameters()


class DecoderLayersPredictor(nn.Module):
    """Predictor of the words still to come, with the layers of the decoder: WP-D.

    p_j = softmax(W · t(tanh(P s_j + b), c_j)) at step j (Weng et al. 2017, section 4.2, equations
    19 to 21). W is the output layer of the decoder, and t its last non-linear layer, whose input
    s_j is replaced by tanh(P s_j + b). The other inputs of t are those of the translation at this
    step. A decoder without a separate last layer, such as a Transformer, has
    p_j = softmax(W · tanh(P s_j + b)).
    """

    def __init__(self, *, inner_size: int) -> None:
        super().__init__()
        self.state = Linear(inner_size, inner_size)

    def forward(self, output: DecoderOutput) -> Tensor:
        """Return the hidden layer (B, T, D), which `output_layer` projects to words."""
        states = self.state(output.inner.states).tanh()
        return output.decoder.body.last_layer(output.inner._replace(states=states))

    def output_layer(self, output: DecoderOutput) -> nn.Linear:
        """Return the layer from hidden states to words."""
        return output.projection

    def vocabulary_parameters(self) -> Iterable[nn.Parameter]:
        return ()


@OPTIONS.register("word_prediction")
class WordPrediction(DecoderOption):
    """Predict the target words without their order (Weng et al. 2017).

    The initial state of the decoder predicts all words, and the state of each step the words still
    to come. The option only adds the losses `initial_words` and `remaining_words`: translation with
    the whole vocabulary is not slower. The prediction from the initial state can select the output
    words of search (vocabulary selection).
    """

    class Config(DecoderOption.Config):
        used_with = {"layers": ("predict", ("states", "both"))}

        predict: Literal["initial", "states", "both"] = "both"
        """From the initial state (WP-E of Weng et al. 2017), each state (WP-D), or both (WP-ED)."""
        layers: Literal["decoder", "own"] = "decoder"
        """Layers of the prediction from each state. `decoder`: the last layer and the output layer
        of the decoder, as in Weng et al. 2017. `own`: separate layers and a separate attention."""
        hidden_size: Size | None = None
        """Size of the hidden layer before each separate output layer; by default the size of the
        decoder."""
        dropout: DropoutRate = 0.0
        """Dropout on these hidden layers."""

        @model_validator(mode="after")
        def _validate_own_layers(self) -> WordPrediction.Config:
            has_settings = self.hidden_size is not None or self.dropout > 0
            if has_settings and self.predict == "states" and self.layers == "decoder":
                raise ValueError(
                    "hidden_size and dropout have no effect on 'states' with the layers of the "
                    "decoder; leave them out or use layers: own"
                )
            return self

    def __init__(
        self,
        config: ComponentConfig,
        *,
        initial_state_size: int,
        inner_size: int,
        size: int,
        memory_size: int,
        vocabulary_size: int,
    ) -> None:
        super().__init__(
            config,
            initial_state_size=initial_state_size,
            inner_size=inner_size,
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
            if config.layers == "own":
                self.states = OwnLayersPredictor(config, **sizes)
            else:
                self.states = DecoderLayersPredictor(inner_size=inner_size)

    def word_predictors(self) -> dict[str, nn.Module]:
        predictors: dict[str, nn.Module] = {}
        if self.initial is not None:
            predictors["initial_words"] = self.initial
        if self.states is not None:
            predictors["remaining_words"] = self.states
        return predictors

    def vocabulary_parameters(self) -> Iterable[nn.Parameter]:
        for predictor in self.word_predictors().values():
            yield from predictor.vocabulary_parameters()
