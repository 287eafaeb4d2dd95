"""OpenNMT-py's decoders behind our interface. They keep their state inside; here it is taken out after each step and put back before the next."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import Field, model_validator
from torch import Tensor

from polyglot.layers.opennmt import Embedded, lengths, opennmt
from polyglot.layers.positions import Positions
from polyglot.layers.resize import resize
from polyglot.layers.transformer import heads_problem
from polyglot.model.decoders.base import DECODERS, Decoder
from polyglot.model.memory import Memory
from polyglot.registry import ComponentConfig


class RnnState(NamedTuple):
    """Where N hypotheses stand."""

    hidden: tuple[Tensor, ...]
    """h and c, or h alone, each (layers, N, D)"""
    feed: Tensor
    """(1, N, D) the last output"""


@DECODERS.register("onmt_rnn")
class OpenNmtRnnDecoder(Decoder):
    """`StdRNNDecoder` or, with input feeding, `InputFeedRNNDecoder` of OpenNMT-py 3.0.4; needs the extra `opennmt`.

    It starts from the mean of the memory as ours do: a bridge hands on no final state of an encoder.
    """

    class Config(ComponentConfig):
        size: int = Field(512, ge=1, le=65536)
        """State size D."""
        layers: int = Field(2, ge=1, le=256)
        """How many layers are stacked."""
        cell: Literal["LSTM", "GRU"] = "LSTM"
        """Its `rnn_type`."""
        attention: Literal["dot", "general", "mlp"] = "general"
        """Its `global_attention`."""
        input_feeding: bool = True
        """Feed each output back beside the next word: its `input_feed`."""
        dropout: float = Field(0.3, ge=0, lt=1)
        """Dropout between layers and on the output."""

    def __init__(self, config: Config, *, input_size: int, memory_size: int) -> None:
        super().__init__()
        self.size, self.layer_count, self.lstm = config.size, config.layers, config.cell == "LSTM"
        self.memory = resize(memory_size, config.size)
        decoders = opennmt("decoders.decoder")
        kind = decoders.InputFeedRNNDecoder if config.input_feeding else decoders.StdRNNDecoder
        given = {"attn_type": config.attention, "dropout": config.dropout if config.layers > 1 else 0.0, "embeddings": Embedded(input_size)}
        self.theirs = kind(config.cell, False, config.layers, config.size, **given)
        self.theirs.dropout.p = config.dropout  # on the output also where one layer has none in between

    def forward(self, embedded: Tensor, mask: Tensor, memory: Memory) -> Tensor:
        states, _ = self._run(embedded, self.start(memory), memory)
        return states

    def start(self, memory: Memory) -> RnnState:
        initial = self.memory(memory.mean())
        stacked = initial.expand(self.layer_count, -1, -1).contiguous()
        return RnnState((stacked,) * (2 if self.lstm else 1), initial.new_zeros(1, *initial.shape))

    def step(self, words: Tensor, state: RnnState, memory: Memory) -> tuple[Tensor, RnnState]:
        states, state = self._run(words.unsqueeze(1), state, memory)
        return states.squeeze(1), state

    def reorder(self, state: RnnState, rows: Tensor, sentences: Tensor | None) -> RnnState:
        return RnnState(tuple(part.index_select(1, rows) for part in state.hidden), state.feed.index_select(1, rows))

    def _run(self, embedded: Tensor, state: RnnState, memory: Memory) -> tuple[Tensor, RnnState]:
        """embedded (N, T, E) -> (N, T, D) and the state after them"""
        rows, real = _for_each(len(embedded), self.memory(memory.states), memory.mask)
        self.theirs.state = {"hidden": state.hidden, "input_feed": state.feed, "coverage": None}
        states, _ = self.theirs(embedded, rows, src_len=real)
        after, self.theirs.state = self.theirs.state, {}
        return states, RnnState(tuple(after["hidden"]), after["input_feed"])


class TransformerState(NamedTuple):
    """Where N hypotheses stand."""

    caches: list[dict[str, dict[str, Tensor]]]
    """of each layer, by its attention: keys and values (N, H, ·, d); none before the first word"""
    length: int


@DECODERS.register("onmt_transformer")
class OpenNmtTransformerDecoder(Decoder):
    """`TransformerDecoder` of OpenNMT-py 3.0.4 with its positions; needs the extra `opennmt`."""

    class Config(ComponentConfig):
        size: int = Field(512, ge=1, le=65536)
        """State size D."""
        layers: int = Field(6, ge=1, le=256)
        """How many layers are stacked."""
        heads: int = Field(8, ge=1, le=1024)
        """Attention heads; they divide the size."""
        feed_forward: int = Field(2048, ge=1, le=1048576)
        """Size of the hidden layer of the feed-forward networks: its `transformer_ff`."""
        dropout: float = Field(0.1, ge=0, lt=1)
        """Dropout on what each block adds, and inside the feed-forward networks."""
        attention_dropout: float = Field(0.1, ge=0, lt=1)
        """Dropout on the attention weights."""

        @model_validator(mode="after")
        def _heads_fit(self) -> OpenNmtTransformerDecoder.Config:
            if problem := heads_problem(self.size, self.heads):
                raise ValueError(problem)
            return self

    def __init__(self, config: Config, *, input_size: int, memory_size: int) -> None:
        super().__init__()
        self.size = config.size
        self.inputs, self.memory = resize(input_size, config.size), resize(memory_size, config.size)
        self.positions = Positions("sinusoidal", size=config.size, longest=1)
        kind = opennmt("decoders.transformer").TransformerDecoder
        shape = (config.layers, config.size, config.heads, config.feed_forward)
        self.theirs = kind(*shape, False, "scaled-dot", config.dropout, config.attention_dropout, Embedded(config.size), 0, False, False, 0, 0)

    def forward(self, embedded: Tensor, mask: Tensor, memory: Memory) -> Tensor:
        return self._run(self.positions(self.inputs(embedded)), memory, step=None)

    def start(self, memory: Memory) -> TransformerState:
        return TransformerState([], 0)

    def read(self, embedded: Tensor, state: TransformerState) -> Tensor:
        """(U, E) -> (U, D), where the words stand now"""
        return self.positions(self.inputs(embedded).unsqueeze(1), state.length).squeeze(1)

    def step(self, words: Tensor, state: TransformerState, memory: Memory) -> tuple[Tensor, TransformerState]:
        for layer, caches in zip(self.theirs.transformer_layers, state.caches):
            for name, cache in caches.items():
                getattr(layer, name).layer_cache = True, dict(cache)
        states = self._run(words.unsqueeze(1), memory, step=state.length)
        after = [{name: getattr(layer, name).layer_cache[1] for name in ("self_attn", "context_attn")} for layer in self.theirs.transformer_layers]
        return states.squeeze(1), TransformerState(after, state.length + 1)

    def reorder(self, state: TransformerState, rows: Tensor, sentences: Tensor | None) -> TransformerState:
        chosen = lambda cache: {key: part.index_select(0, rows) for key, part in cache.items()}  # noqa: E731
        return state._replace(caches=[{name: chosen(cache) for name, cache in caches.items()} for caches in state.caches])

    def _run(self, states: Tensor, memory: Memory, *, step: int | None) -> Tensor:
        rows, real = _for_each(len(states), self.memory(memory.states), memory.mask)
        self.theirs.state = {"src": rows}
        states, _ = self.theirs(states, rows, step=step, src_len=real)
        self.theirs.state = {}
        return states


def _for_each(hypotheses: int, memory: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """The memory of each hypothesis and its lengths: theirs do not share one among those of a sentence. -> (N, K, D), (N,)"""
    times = hypotheses // len(memory)
    return memory.repeat_interleave(times, dim=0), lengths(memory, mask).repeat_interleave(times, dim=0)
