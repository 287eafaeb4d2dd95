"""What one language owns: its encoder and its decoder, each with embeddings and options, the decoder with the output layer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig
from polyglot.layers.accumulated_linear import AccumulatedLinear
from polyglot.layers.linear import Linear, SelectedRowsLinear, resize
from polyglot.model.decoders import DECODERS
from polyglot.model.embedding import Embedding, EmbeddingConfig
from polyglot.model.encoders import ENCODERS, FinalStates
from polyglot.model.memory import Memory
from polyglot.model.options import build_options, options_at


class LanguageEncoder(nn.Module):
    """Token ids of one language to states of the size that the bridge takes."""

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
        """share_with: the encoder of another language, to share all but the embeddings with."""
        super().__init__()
        self.embedding = Embedding(embedding, table)
        self.body = share_with.body if share_with else ENCODERS.build(config, input_size=embedding.size)
        words, states = (
            {"size": embedding.size, "memory_size": None},
            {"input_size": embedding.size, "size": self.body.size},
        )
        self.options = (
            share_with.options if share_with else build_options(options, embedding=words, states=states)
        )
        self.projection = share_with.projection if share_with else resize(self.body.size, states_size)

    def shared_modules(self) -> nn.ModuleDict:
        """What others of its group have, too."""
        return nn.ModuleDict(
            {"body": self.body, "projection": self.projection, "options": self.options}
        )

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """tokens and mask (B, S) -> states (B, S, D), 0 on padding"""
        return self.with_final_states(tokens, mask)[0]

    def with_final_states(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, FinalStates | None]:
        """The same, and what a decoder may start from where the encoder hands it on."""
        words = self.embedding(tokens)
        for option in options_at(self.options, "embedding"):
            words = option(words, mask)
        states, final = self.body.with_final_states(words, mask)
        for option in options_at(self.options, "states"):
            states = option(states, words, mask)
        return self.projection(states) * mask.unsqueeze(-1), final


class DecoderState(NamedTuple):
    """Where N hypotheses in one language stand."""

    body: Any
    """what the decoder keeps of them"""
    output: AccumulatedLinear | SelectedRowsLinear
    """(V, D): the output layer, laid out once for many steps; only some of its rows where the words are chosen"""
    options: tuple[Any, ...]
    """what each option between embeddings and body keeps of them"""


class LanguageDecoder(nn.Module):
    """Target words of one language from any memory."""

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
        """language_token: see Embedding. share_with: the decoder of another language to share the body with. share_output: and the output layer, too."""
        super().__init__()
        self.embedding = Embedding(embedding, table, language_token=language_token)
        self.body = (
            share_with.body
            if share_with
            else DECODERS.build(config, input_size=embedding.size, memory_size=memory_size)
        )
        words = {"size": embedding.size, "memory_size": memory_size}
        beside = {
            "initial_state_size": self.body.initial_state_size or memory_size,
            "size": self.body.size,
            "vocabulary_size": table.num_embeddings,
        }
        self.options = (
            share_with.options
            if share_with
            else build_options(
                options, embedding=words, decoder={**beside, "memory_size": memory_size}
            )
        )
        self.output = (
            share_with.output if share_with and share_output else Linear(self.body.size, table.num_embeddings)
        )
        if embedding.tie_output:
            self.output.weight = table.weight
        self.share_output = share_output

    def shared_modules(self) -> nn.ModuleDict:
        """What others of its group have, too."""
        return nn.ModuleDict(
            {
                "body": self.body,
                "options": self.options,
                **({"output": self.output} if self.share_output else {}),
            }
        )

    def forward(self, target_in: Tensor, target_mask: Tensor, memory: Memory) -> Tensor:
        """target_in and target_mask (B, T) -> states (B, T, D), still to be projected"""
        words = self.embedding(target_in)
        for option in options_at(self.options, "embedding"):
            words = option(words, target_mask, memory)
        return self.body(words, target_mask, memory)

    def word_predictor(self, loss: str) -> nn.Module | None:
        """Return the word predictor that the loss of that name trains; None if no option has one."""
        for option in options_at(self.options, "decoder"):
            predictor = option.word_predictors().get(loss)
            if predictor is not None:
                return predictor
        return None

    def start(self, memory: Memory, words: Tensor | None = None) -> DecoderState:
        """The decoding state before the first word, one row a sentence of the memory (B, K, D).

        words: the only ones that will have scores, the same for all (U,) or those of each sentence (B, U).
        """
        options = tuple(option.start(memory) for option in options_at(self.options, "embedding"))
        weight, bias = self.output.weight, self.output.bias
        if words is None:
            output = AccumulatedLinear(weight, bias=bias)
        elif words.dim() == 1:
            output = AccumulatedLinear(weight.index_select(0, words), bias=bias.index_select(0, words))
        else:
            output = SelectedRowsLinear(weight, bias, words)
        return DecoderState(self.body.start(memory), output, options)

    def step(
        self, tokens: Tensor, state: DecoderState, memory: Memory
    ) -> tuple[Tensor, DecoderState]:
        """tokens (N,) -> scores (N, V) of the next word, or of the chosen ones, before the softmax, and the state after it"""
        if state.options:  # no two words are alike in their contexts
            words, options = self._in_context(self.embedding(tokens), state.options)
            read, state = self.body.prepare_words(words, state.body), state._replace(options=options)
        else:
            different, rows = tokens.unique(return_inverse=True)
            read = self.body.prepare_words(self.embedding(different), state.body).index_select(0, rows)
        states, body = self.body.step(read, state.body, memory)
        return state.output(states), state._replace(body=body)

    def reorder(
        self, state: DecoderState, rows: Tensor, sentences: Tensor | None
    ) -> DecoderState:
        """The state whose row n is the old row rows[n] (N',), of the sentences that stay (B',), or of all when None."""
        options = tuple(
            option.reorder(own, rows)
            for option, own in zip(options_at(self.options, "embedding"), state.options)
        )
        output = (
            state.output.select(sentences)
            if isinstance(state.output, SelectedRowsLinear) and sentences is not None
            else state.output
        )
        return DecoderState(self.body.reorder(state.body, rows, sentences), output, options)

    def _in_context(self, words: Tensor, states: tuple[Any, ...]) -> tuple[Tensor, tuple[Any, ...]]:
        """What the options make of embedded words (N, E), and their states after it."""
        after = []
        for option, state in zip(options_at(self.options, "embedding"), states):
            words, state = option.step(words, state)
            after.append(state)
        return words, tuple(after)
