"""Encoder and decoder of one language, with embeddings, options and the output layer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig
from polyglot.layers.accumulated_linear import AccumulatedLinear
from polyglot.layers.linear import Linear, resize
from polyglot.layers.low_precision import LowPrecisionLinear
from polyglot.layers.selected_rows import SelectedRowsLinear
from polyglot.model.decoders import DECODERS
from polyglot.model.embedding import Embedding, EmbeddingConfig
from polyglot.model.encoders import ENCODERS, FinalStates
from polyglot.model.inner_states import InnerStates
from polyglot.model.memory import Memory
from polyglot.model.options import build_options, options_at
from polyglot.model.options.base import Place

OutputLayer = AccumulatedLinear | SelectedRowsLinear | LowPrecisionLinear
"""Output layer of a search, prepared for many steps."""


class EncodedSource(NamedTuple):
    """Output of the encoder of a language for B sentences."""

    states: Tensor
    """(B, S, D), 0 on padding"""
    final_states: FinalStates | None
    """final states, if this encoder passes them to the decoder"""
    context: Tensor | None
    """(B, C): context of the source words, if the encoder has a context gate"""


class LanguageEncoder(nn.Module):
    """Map token ids of one language to states of the size that the bridge takes."""

    def __init__(
        self,
        config: ComponentConfig,
        embedding: EmbeddingConfig,
        *,
        table: nn.Embedding,
        states_size: int,
        options: Iterable[ComponentConfig] = (),
        share_with: LanguageEncoder | None = None,
    ) -> None:
        """share_with: encoder of another language; everything except the embeddings is shared."""
        super().__init__()
        self.embedding = Embedding(embedding, table)
        if share_with is not None:
            self.body = share_with.body
            self.options = share_with.options
            self.projection = share_with.projection
            return

        self.body = ENCODERS.build(config, input_size=embedding.size)
        arguments = {
            "embedding": {"size": embedding.size, "memory_size": None},
            "states": {"input_size": embedding.size, "size": self.body.size},
        }
        self.options = build_options(options, arguments=arguments)
        self.projection = resize(self.body.size, states_size)

    def shared_modules(self) -> nn.ModuleDict:
        """Return the modules that the languages of a sharing group have in common."""
        modules = {"body": self.body, "projection": self.projection, "options": self.options}
        return nn.ModuleDict(modules)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """tokens and mask (B, S) -> states (B, S, D), 0 on padding"""
        return self.encode(tokens, mask).states

    def encode(self, tokens: Tensor, mask: Tensor) -> EncodedSource:
        """tokens and mask (B, S) -> states, and what bypasses the bridge"""
        words = self.embedding(tokens)
        context = None
        for option in options_at(self.options, "embedding"):
            words, context_of_option = option.with_context(words, mask)
            if context_of_option is not None:
                context = context_of_option

        states, final_states = self.body.with_final_states(words, mask)
        for option in options_at(self.options, "states"):
            states = option(states, words, mask)

        projected = self.projection(states) * mask.unsqueeze(-1)
        return EncodedSource(projected, final_states, context)


class DecoderState(NamedTuple):
    """Decoding state of N hypotheses in one language."""

    body: Any
    """Decoding state of the body."""
    output: OutputLayer
    """Output layer (V, D); with vocabulary selection, only the rows of the selected words. Its
    matrix is prepared once for all steps, except with words selected for each sentence."""
    before_body: tuple[Any, ...]
    """State of each option between the embeddings and the body."""
    after_body: tuple[Any, ...]
    """State of each option between the body and the output layer."""


class LanguageDecoder(nn.Module):
    """Decode the target words of one language from any memory."""

    def __init__(
        self,
        config: ComponentConfig,
        embedding: EmbeddingConfig,
        *,
        table: nn.Embedding,
        memory_size: int,
        options: Iterable[ComponentConfig] = (),
        language_token: bool = False,
        share_with: LanguageDecoder | None = None,
        share_output: bool = False,
    ) -> None:
        """language_token: see `Embedding`.

        share_with: decoder of another language; the body and the options are shared.
        share_output: the output layer is shared too.
        """
        super().__init__()
        self.embedding = Embedding(embedding, table, language_token=language_token)
        if share_with is not None:
            self.body = share_with.body
            self.options = share_with.options
        else:
            self.body = DECODERS.build(config, input_size=embedding.size, memory_size=memory_size)
            self.options = self._build_options(
                options, embedding.size, memory_size, table.num_embeddings
            )

        if share_with is not None and share_output:
            self.output = share_with.output
        else:
            self.output = Linear(self.body.output_states_size, table.num_embeddings)
        if embedding.tie_output:
            self.output.weight = table.weight
        self.share_output = share_output

    def _build_options(
        self,
        options: Iterable[ComponentConfig],
        embedding_size: int,
        memory_size: int,
        vocabulary_size: int,
    ) -> nn.ModuleDict:
        arguments = {
            "embedding": {"size": embedding_size, "memory_size": memory_size},
            "states": {
                "input_size": embedding_size,
                "size": self.body.output_states_size,
                "is_target": True,
            },
            "decoder": {
                "initial_state_size": self.body.initial_state_size or memory_size,
                "inner_size": self.body.inner_size or self.body.output_states_size,
                "size": self.body.output_states_size,
                "memory_size": memory_size,
                "vocabulary_size": vocabulary_size,
            },
        }
        return build_options(options, arguments=arguments)

    def shared_modules(self) -> nn.ModuleDict:
        """Return the modules that the languages of a sharing group have in common."""
        modules = {"body": self.body, "options": self.options}
        if self.share_output:
            modules["output"] = self.output
        return nn.ModuleDict(modules)

    def forward(self, target_in: Tensor, target_mask: Tensor, memory: Memory) -> Tensor:
        """target_in and target_mask (B, T) -> states (B, T, D), before the output layer"""
        states, _ = self.with_inner_states(target_in, target_mask, memory)
        return states

    def with_inner_states(
        self,
        target_in: Tensor,
        target_mask: Tensor,
        memory: Memory,
    ) -> tuple[Tensor, InnerStates]:
        """Return the states of `forward`, and the inner states of the body."""
        words = self.embedding(target_in)
        for option in options_at(self.options, "embedding"):
            words = option(words, target_mask, memory)

        states, inner = self.body.with_inner_states(words, target_mask, memory)
        for option in options_at(self.options, "states"):
            states = option(states, None, target_mask)
        return states, inner

    def word_predictor(self, loss: str) -> nn.Module | None:
        """Return the word predictor that the named loss trains; None if no option has one."""
        for option in options_at(self.options, "decoder"):
            predictor = option.word_predictors().get(loss)
            if predictor is not None:
                return predictor
        return None

    def start(self, memory: Memory, words: Tensor | None = None) -> DecoderState:
        """Return the state before the first word, with one row for each sentence of the memory.

        words: with vocabulary selection, the words that get logits: (U,) for all sentences, or
        (B, U) for each sentence.
        """
        return DecoderState(
            self.body.start(memory),
            self._output_layer(words),
            self._start_options("embedding", memory),
            self._start_options("states", memory),
        )

    def _start_options(self, place: Place, memory: Memory) -> tuple[Any, ...]:
        """Return the first states of the options at one place."""
        return tuple(option.start(memory) for option in options_at(self.options, place))

    def _output_layer(self, words: Tensor | None) -> OutputLayer:
        """Prepare the output layer for a search, for all words or for selected words.

        Words of each sentence (B, U) are always computed in the type of the weights, because
        `SelectedRowsLinear` copies rows of the original matrix.
        """
        weight = self.output.weight
        bias = self.output.bias
        if words is None and self.output.low_precision is not None:
            return LowPrecisionLinear(self.output.low_precision)
        if words is None:
            return AccumulatedLinear(weight, bias=bias)
        if words.dim() == 1:
            return AccumulatedLinear(
                weight.index_select(0, words),
                bias=bias.index_select(0, words),
                precision=self.output.precision,
            )
        return SelectedRowsLinear(weight, bias, words)

    def step(
        self,
        tokens: Tensor,
        state: DecoderState,
        memory: Memory,
    ) -> tuple[Tensor, DecoderState]:
        """tokens (N,) -> logits (N, V) of the next word, and the next state

        With vocabulary selection, the logits are those of the selected words (N, U).
        """
        # Options make a word depend on its context, so equal words have different inputs. On other
        # devices than the CPU, a search for equal words would wait for the device.
        before_body = state.before_body
        if before_body or tokens.device.type != "cpu":
            embedded = self.embedding(tokens)
            words, before_body = self._step_embedding_options(embedded, before_body)
            prepared_words = self.body.prepare_words(words, state.body)
        else:
            distinct_tokens, rows = tokens.unique(return_inverse=True)
            distinct_words = self.embedding(distinct_tokens)
            distinct_prepared = self.body.prepare_words(distinct_words, state.body)
            prepared_words = distinct_prepared.index_select(0, rows)

        states, body = self.body.step(prepared_words, state.body, memory)
        states, after_body = self._step_states_options(states, state.after_body)
        next_state = state._replace(body=body, before_body=before_body, after_body=after_body)
        return state.output(states), next_state

    def _step_embedding_options(
        self,
        words: Tensor,
        states: tuple[Any, ...],
    ) -> tuple[Tensor, tuple[Any, ...]]:
        """Apply the options to embedded words (N, E), and return their next states."""
        next_states = []
        for option, state in zip(options_at(self.options, "embedding"), states):
            words, next_state = option.step(words, state)
            next_states.append(next_state)
        return words, tuple(next_states)

    def _step_states_options(
        self,
        states: Tensor,
        option_states: tuple[Any, ...],
    ) -> tuple[Tensor, tuple[Any, ...]]:
        """Apply the options to the body's states (N, D), and return their next states."""
        next_states = []
        for option, state in zip(options_at(self.options, "states"), option_states):
            states, next_state = option.step(states, state)
            next_states.append(next_state)
        return states, tuple(next_states)

    def reorder(self, state: DecoderState, rows: Tensor, sentences: Tensor | None) -> DecoderState:
        """Return a state whose new row n is the old row rows[n]; rows has shape (N',).

        sentences: indices (B',) of the sentences to keep, or None to keep all of them.
        """
        before_body = self._reorder_options("embedding", state.before_body, rows)
        after_body = self._reorder_options("states", state.after_body, rows)

        output = state.output
        if sentences is not None and isinstance(output, SelectedRowsLinear):
            output = output.select(sentences)

        body = self.body.reorder(state.body, rows, sentences)
        return DecoderState(body, output, before_body, after_body)

    def _reorder_options(
        self,
        place: Place,
        option_states: tuple[Any, ...],
        rows: Tensor,
    ) -> tuple[Any, ...]:
        """Reorder the states of the options at one place."""
        reordered = []
        for option, option_state in zip(options_at(self.options, place), option_states):
            reordered.append(option.reorder(option_state, rows))
        return tuple(reordered)
