"""What one language owns: its encoder and its decoder, each with embeddings and options, the decoder with the output layer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig
from polyglot.layers.accumulated_linear import DeferredLinear
from polyglot.layers.linear import Linear, RowsOfSentences, resize
from polyglot.model.decoders import DECODERS
from polyglot.model.embedding import Embedding, EmbeddingConfig
from polyglot.model.encoders import ENCODERS, FinalStates
from polyglot.model.memory import Memory
from polyglot.model.options import WordPrediction, build_options, placed


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
        like: LanguageEncoder | None = None,
    ) -> None:
        """like: the encoder of another language, to share all but the embeddings with."""
        super().__init__()
        self.embedding = Embedding(embedding, table)
        self.body = like.body if like else ENCODERS.build(config, input_size=embedding.size)
        words, states = (
            {"size": embedding.size, "memory_size": None},
            {"input_size": embedding.size, "size": self.body.size},
        )
        self.options = (
            like.options if like else build_options(options, embedding=words, states=states)
        )
        self.projection = like.projection if like else resize(self.body.size, states_size)

    def shared(self) -> nn.ModuleDict:
        """What others of its group have, too."""
        return nn.ModuleDict(
            {"body": self.body, "projection": self.projection, "options": self.options}
        )

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """tokens and mask (B, S) -> states (B, S, D), 0 on padding"""
        return self.read(tokens, mask)[0]

    def read(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, FinalStates | None]:
        """The same, and what a decoder may start from where the encoder hands it on."""
        words = self.embedding(tokens)
        for option in placed(self.options, "embedding"):
            words = option(words, mask)
        states, final = self.body.read(words, mask)
        for option in placed(self.options, "states"):
            states = option(states, words, mask)
        return self.projection(states) * mask.unsqueeze(-1), final


class LanguageState(NamedTuple):
    """Where N hypotheses in one language stand."""

    body: Any
    """what the decoder keeps of them"""
    output: DeferredLinear | RowsOfSentences
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
        tag: bool = False,
        like: LanguageDecoder | None = None,
        same_words: bool = False,
    ) -> None:
        """tag: see Embedding. like: the decoder of another language to share the body with. same_words: and the output layer, too."""
        super().__init__()
        self.embedding = Embedding(embedding, table, tag=tag)
        self.body = (
            like.body
            if like
            else DECODERS.build(config, input_size=embedding.size, memory_size=memory_size)
        )
        words = {"size": embedding.size, "memory_size": memory_size}
        beside = {
            "first_size": self.body.first_size or memory_size,
            "size": self.body.size,
            "vocabulary_size": table.num_embeddings,
        }
        self.options = (
            like.options
            if like
            else build_options(
                options, embedding=words, decoder={**beside, "memory_size": memory_size}
            )
        )
        self.output = (
            like.output if like and same_words else Linear(self.body.size, table.num_embeddings)
        )
        if embedding.tie_output:
            self.output.weight = table.weight
        self.same_words = same_words

    def shared(self) -> nn.ModuleDict:
        """What others of its group have, too."""
        return nn.ModuleDict(
            {
                "body": self.body,
                "options": self.options,
                **({"output": self.output} if self.same_words else {}),
            }
        )

    def forward(self, target_in: Tensor, target_mask: Tensor, memory: Memory) -> Tensor:
        """target_in and target_mask (B, T) -> states (B, T, D), still to be projected"""
        words = self.embedding(target_in)
        for option in placed(self.options, "embedding"):
            words = option(words, target_mask, memory)
        return self.body(words, target_mask, memory)

    @property
    def predictor(self) -> WordPrediction | None:
        """What predicts words beside its states, where it has that option."""
        return next(
            (option for option in self.options.values() if isinstance(option, WordPrediction)), None
        )

    def start(self, memory: Memory, words: Tensor | None = None) -> LanguageState:
        """The decoding state before the first word, one row a sentence of the memory (B, K, D).

        words: the only ones that will have scores, the same for all (U,) or those of each sentence (B, U).
        """
        options = tuple(option.start(memory) for option in placed(self.options, "embedding"))
        weight, bias = self.output.weight, self.output.bias
        if words is None:
            output = DeferredLinear(weight, bias=bias)
        elif words.dim() == 1:
            output = DeferredLinear(weight.index_select(0, words), bias=bias.index_select(0, words))
        else:
            output = RowsOfSentences(weight, bias, words)
        return LanguageState(self.body.start(memory), output, options)

    def step(
        self, tokens: Tensor, state: LanguageState, memory: Memory
    ) -> tuple[Tensor, LanguageState]:
        """tokens (N,) -> scores (N, V) of the next word, or of the chosen ones, before the softmax, and the state after it"""
        if state.options:  # no two words are alike in their contexts
            words, options = self._in_context(self.embedding(tokens), state.options)
            read, state = self.body.read(words, state.body), state._replace(options=options)
        else:
            different, rows = tokens.unique(return_inverse=True)
            read = self.body.read(self.embedding(different), state.body).index_select(0, rows)
        states, body = self.body.step(read, state.body, memory)
        return state.output(states), state._replace(body=body)

    def reorder(
        self, state: LanguageState, rows: Tensor, sentences: Tensor | None
    ) -> LanguageState:
        """The state whose row n is the old row rows[n] (N',), of the sentences that stay (B',), or of all when None."""
        options = tuple(
            option.reorder(own, rows)
            for option, own in zip(placed(self.options, "embedding"), state.options)
        )
        output = (
            state.output.select(sentences)
            if isinstance(state.output, RowsOfSentences) and sentences is not None
            else state.output
        )
        return LanguageState(self.body.reorder(state.body, rows, sentences), output, options)

    def _in_context(self, words: Tensor, states: tuple[Any, ...]) -> tuple[Tensor, tuple[Any, ...]]:
        """What the options make of embedded words (N, E), and their states after it."""
        after = []
        for option, state in zip(placed(self.options, "embedding"), states):
            words, state = option.step(words, state)
            after.append(state)
        return words, tuple(after)
