"""What one language owns: its encoder and its decoder, each with embeddings and options, the decoder with the output layer."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from polyglot.tasks.batch import BOS, PAD
from polyglot.layers.deferred import DeferredLinear
from polyglot.layers.dropout import Dropout
from polyglot.layers.linear import Linear, RowsOfSentences
from polyglot.layers.resize import resize
from polyglot.model.decoders import DECODERS
from polyglot.model.encoders import ENCODERS, FinalStates
from polyglot.model.memory import Memory
from polyglot.model.options import Option, WordPrediction, build_options, placed
from polyglot.core.registry import ComponentConfig


class EmbeddingConfig(ComponentConfig):
    """Word embeddings of one language."""

    size: int = Field(512, ge=1, le=65536)
    """Embedding size E."""
    dropout: float = Field(0.3, ge=0, lt=1)
    """Dropout on the embeddings."""
    scale: bool = True
    """Multiply embeddings by √E, so that they enter at unit size and learn at the pace of the rest (Vaswani et al. 2017, section 3.4)."""
    tie_sides: bool = False
    """One table for the encoder and the decoder of a language."""
    tie_output: bool = False
    """The decoder's table is its output layer too; needs `decoder.size` equal to `embedding.size`."""


class Embedding(nn.Module):
    """Token ids to embedded words, around a table that others may share."""

    def __init__(self, config: EmbeddingConfig, table: nn.Embedding, *, tag: bool = False) -> None:
        """tag: the language has a vector of its own in the place of bos, by which a decoder of several knows what to write."""
        super().__init__()
        self.table = table
        self.language = nn.Parameter(torch.zeros(1, config.size)) if tag else None
        self.scale = config.size**0.5 if config.scale else 1.0
        self.dropout = Dropout(config.dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        """tokens (...) -> (..., E)"""
        words = self.table(tokens)
        if self.language is not None:
            words = torch.where((tokens == BOS).unsqueeze(-1), self.language.to(words.dtype), words)
        return self.dropout(words * self.scale)


def embedding_table(vocabulary_size: int, size: int) -> nn.Embedding:
    """A (V, E) table whose pad row is 0; as an embedding it has no gradient."""
    return nn.Embedding(vocabulary_size, size, padding_idx=PAD)


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
        words, states = {"size": embedding.size, "memory_size": None}, {"input_size": embedding.size, "size": self.body.size}
        self.options = like.options if like else build_options(options, embedding=words, states=states)
        self.projection = like.projection if like else resize(self.body.size, states_size)

    def shared(self) -> nn.ModuleDict:
        """What others of its group have, too."""
        return nn.ModuleDict({"body": self.body, "projection": self.projection, "options": self.options})

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
        self.body = like.body if like else DECODERS.build(config, input_size=embedding.size, memory_size=memory_size)
        words = {"size": embedding.size, "memory_size": memory_size}
        beside = {"first_size": self.body.first_size or memory_size, "size": self.body.size, "vocabulary_size": table.num_embeddings}
        self.options = like.options if like else build_options(options, embedding=words, decoder={**beside, "memory_size": memory_size})
        self.output = like.output if like and same_words else Linear(self.body.size, table.num_embeddings)
        if embedding.tie_output:
            self.output.weight = table.weight
        self.same_words = same_words

    def shared(self) -> nn.ModuleDict:
        """What others of its group have, too."""
        return nn.ModuleDict({"body": self.body, "options": self.options, **({"output": self.output} if self.same_words else {})})

    def forward(self, target_in: Tensor, target_mask: Tensor, memory: Memory) -> Tensor:
        """target_in and target_mask (B, T) -> states (B, T, D), still to be projected"""
        words = self.embedding(target_in)
        for option in placed(self.options, "embedding"):
            words = option(words, target_mask, memory)
        return self.body(words, target_mask, memory)

    @property
    def predictor(self) -> WordPrediction | None:
        """What predicts words beside its states, where it has that option."""
        return next((option for option in self.options.values() if isinstance(option, WordPrediction)), None)

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

    def step(self, tokens: Tensor, state: LanguageState, memory: Memory) -> tuple[Tensor, LanguageState]:
        """tokens (N,) -> scores (N, V) of the next word, or of the chosen ones, before the softmax, and the state after it"""
        if state.options:  # no two words are alike in their contexts
            words, options = self._in_context(self.embedding(tokens), state.options)
            read, state = self.body.read(words, state.body), state._replace(options=options)
        else:
            different, rows = tokens.unique(return_inverse=True)
            read = self.body.read(self.embedding(different), state.body).index_select(0, rows)
        states, body = self.body.step(read, state.body, memory)
        return state.output(states), state._replace(body=body)

    def reorder(self, state: LanguageState, rows: Tensor, sentences: Tensor | None) -> LanguageState:
        """The state whose row n is the old row rows[n] (N',), of the sentences that stay (B',), or of all when None."""
        options = tuple(option.reorder(own, rows) for option, own in zip(placed(self.options, "embedding"), state.options))
        output = state.output.select(sentences) if isinstance(state.output, RowsOfSentences) and sentences is not None else state.output
        return LanguageState(self.body.reorder(state.body, rows, sentences), output, options)

    def _in_context(self, words: Tensor, states: tuple[Any, ...]) -> tuple[Tensor, tuple[Any, ...]]:
        """What the options make of embedded words (N, E), and their states after it."""
        after = []
        for option, state in zip(placed(self.options, "embedding"), states):
            words, state = option.step(words, state)
            after.append(state)
        return words, tuple(after)


class Unfilled(TorchFunctionMode):
    """Inside, modules do not draw the first values of their parameters: they come from `initialize` or a checkpoint.

    What is drawn through `torch.nn.init` is named itself, since the mode is off inside its own handler.
    """

    DRAWS = {Tensor.uniform_, Tensor.normal_, nn.init.uniform_, nn.init.normal_, nn.init.kaiming_uniform_}

    def __torch_function__(self, function, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        kwargs = kwargs or {}
        if function in self.DRAWS:
            return kwargs["tensor"] if "tensor" in kwargs else args[0]
        return function(*args, **kwargs)


def initialize(module: nn.Module, *, initial_range: float | None, seed: str, name: str) -> None:
    """Draw every parameter of the component of that name anew, each from a generator of its own.

    The bodies and options of one role and size start as the same function, so that languages have less far to a common space; words have
    nothing to do with the words of the same number elsewhere, so embeddings and output layers start differently.

    Uniform in ±initial_range as the paper's program does, or, when None, Glorot for matrices, orthogonal for recurrence,
    1/√E for embeddings, 0 for biases but 1 for the forget gate (Jozefowicz et al. 2015). Layer norms always start as what they are
    without parameters.
    """
    role = name.partition(".")[0]
    norms = {id(parameter) for child in module.modules() if isinstance(child, nn.LayerNorm) for parameter in child.parameters()}
    of_words = {id(parameter) for child in module.modules() if isinstance(child, Option) for parameter in child.of_each_word()}
    for key, parameter in module.named_parameters():
        if id(parameter) in norms:
            nn.init.constant_(parameter, 1.0 if key.endswith("weight") else 0.0)
            continue
        owner = role if key.startswith(("body.", "options.")) and id(parameter) not in of_words else name
        generator = torch.Generator().manual_seed(zlib.crc32(f"{seed}/{owner}/{key}".encode()))
        if initial_range is not None:
            nn.init.uniform_(parameter, -initial_range, initial_range, generator=generator)
        elif parameter.dim() < 2:
            nn.init.zeros_(parameter)
        elif "embedding" in f"{name}.{key}":
            nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5, generator=generator)
        elif "weight_hh" in key:
            for gate in parameter.split(parameter.shape[1]):
                nn.init.orthogonal_(gate, generator=generator)
        elif key.endswith("matrices"):
            for matrix in parameter.split(parameter.shape[1]):
                nn.init.xavier_uniform_(matrix, generator=generator)
        else:
            nn.init.xavier_uniform_(parameter, generator=generator)
    if initial_range is None:
        for recurrence in (child for child in module.modules() if isinstance(child, nn.LSTM)):
            for name, parameter in recurrence.named_parameters():
                if name.startswith("bias_ih"):
                    nn.init.ones_(parameter.data[recurrence.hidden_size : 2 * recurrence.hidden_size])
    for table in (child for child in module.modules() if isinstance(child, nn.Embedding)):
        with torch.no_grad():
            table.weight[PAD].zero_()
