"""OpenNMT-py's decoders behind our interface. They keep their state inside; here it is taken out after each step and put back before the
next."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from polyglot.layers.linear import resize
from polyglot.layers.opennmt import DECODER_LOCK, PassThroughEmbedding, TransformerConfig, real_lengths, import_opennmt
from polyglot.layers.positions import Positions
from polyglot.layers.recurrent import RecurrentDecoderConfig
from polyglot.model.decoders.base import DECODERS, Decoder
from polyglot.model.memory import Memory


class RnnState(NamedTuple):
    """Where N hypotheses stand."""

    hidden: tuple[Tensor, ...]
    """h and c, or h alone, each (layers, N, D)"""
    feed: Tensor
    """(1, N, D) the last output"""


@DECODERS.register("onmt_rnn")
class OpenNmtRnnDecoder(Decoder):
    """`StdRNNDecoder` or, with input feeding, `InputFeedRNNDecoder` of OpenNMT-py 3.0.4; needs the extra `import_opennmt`.

    It starts from the mean of the memory as ours do, or as in OpenNMT-py from the final states of an encoder `onmt_rnn`.
    """

    class Config(RecurrentDecoderConfig):
        cell: Literal["LSTM", "GRU"] = "LSTM"
        """Its `rnn_type`."""
        input_feeding: bool = True
        """Feed each output back beside the next word: its `input_feed`."""
        start: Literal["mean", "final"] = "mean"
        """The first state: the mean of the memory, or the last states of the encoder, layer by layer; then that is an `onmt_rnn` alike."""

    def __init__(self, config: Config, *, input_size: int, memory_size: int) -> None:
        super().__init__()
        self.size, self.layer_count, self.lstm = config.size, config.layers, config.cell == "LSTM"
        self.initial_state_size, self.final = config.size, config.start == "final"
        self.memory = resize(memory_size, config.size)
        decoders = import_opennmt("decoders.decoder")
        kind = decoders.InputFeedRNNDecoder if config.input_feeding else decoders.StdRNNDecoder
        given = {
            "attn_type": config.attention,
            "dropout": config.dropout if config.layers > 1 else 0.0,
            "embeddings": PassThroughEmbedding(input_size),
        }
        self.theirs = kind(config.cell, False, config.layers, config.size, **given)
        self.theirs.dropout.p = (
            config.dropout
        )  # on the output also where one layer has none in between

    def forward(self, embedded: Tensor, mask: Tensor, memory: Memory) -> Tensor:
        states, _ = self._run(embedded, self.start(memory), memory)
        return states

    def initial_state(self, memory: Memory) -> Tensor:
        return memory.final[0][:, -1] if self.final else self.memory(memory.mean())

    def start(self, memory: Memory) -> RnnState:
        if self.final:
            hidden = tuple(part.transpose(0, 1).contiguous() for part in memory.final)
        else:
            hidden = (self.initial_state(memory).expand(self.layer_count, -1, -1).contiguous(),) * (
                2 if self.lstm else 1
            )
        return RnnState(hidden, torch.zeros_like(hidden[0][:1]))

    def step(self, words: Tensor, state: RnnState, memory: Memory) -> tuple[Tensor, RnnState]:
        states, state = self._run(words.unsqueeze(1), state, memory)
        return states.squeeze(1), state

    def reorder(self, state: RnnState, rows: Tensor, sentences: Tensor | None) -> RnnState:
        return RnnState(
            tuple(part.index_select(1, rows) for part in state.hidden),
            state.feed.index_select(1, rows),
        )

    def _run(self, embedded: Tensor, state: RnnState, memory: Memory) -> tuple[Tensor, RnnState]:
        """embedded (N, T, E) -> (N, T, D) and the state after them"""
        rows, real = _for_each(len(embedded), self.memory(memory.states), memory.mask)
        with DECODER_LOCK:
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
    """`TransformerDecoder` of OpenNMT-py 3.0.4 with its positions; needs the extra `import_opennmt`."""

    class Config(TransformerConfig):
        pass

    def __init__(self, config: Config, *, input_size: int, memory_size: int) -> None:
        super().__init__()
        self.size = config.size
        self.inputs, self.memory = resize(input_size, config.size), resize(memory_size, config.size)
        self.positions = Positions("sinusoidal", size=config.size, longest=1)
        kind = import_opennmt("decoders.transformer").TransformerDecoder
        shape = (config.layers, config.size, config.heads, config.feed_forward)
        self.theirs = kind(
            *shape,
            False,
            "scaled-dot",
            config.dropout,
            config.attention_dropout,
            PassThroughEmbedding(config.size),
            0,
            False,
            False,
            0,
            0,
        )

    def forward(self, embedded: Tensor, mask: Tensor, memory: Memory) -> Tensor:
        return self._run(self.positions(self.inputs(embedded)), memory)[0]

    def start(self, memory: Memory) -> TransformerState:
        return TransformerState([], 0)

    def prepare_words(self, embedded: Tensor, state: TransformerState) -> Tensor:
        """(U, E) -> (U, D), where the words stand now"""
        return self.positions(self.inputs(embedded).unsqueeze(1), state.length).squeeze(1)

    def step(
        self, words: Tensor, state: TransformerState, memory: Memory
    ) -> tuple[Tensor, TransformerState]:
        states, caches = self._run(words.unsqueeze(1), memory, state)
        return states.squeeze(1), TransformerState(caches, state.length + 1)

    def reorder(
        self, state: TransformerState, rows: Tensor, sentences: Tensor | None
    ) -> TransformerState:
        chosen = lambda cache: {key: part.index_select(0, rows) for key, part in cache.items()}  # noqa: E731
        return state._replace(
            caches=[
                {name: chosen(cache) for name, cache in caches.items()} for caches in state.caches
            ]
        )

    def _run(
        self, states: Tensor, memory: Memory, before: TransformerState | None = None
    ) -> tuple[Tensor, list[dict[str, dict[str, Tensor]]]]:
        """states (N, T, D) of whole targets, or of one word after what was written before -> (N, T, D) and the caches after it"""
        rows, real = _for_each(len(states), self.memory(memory.states), memory.mask)
        layers = self.theirs.transformer_layers
        with DECODER_LOCK:
            for layer, caches in zip(layers, before.caches if before else ()):
                for name, cache in caches.items():
                    getattr(layer, name).layer_cache = True, dict(cache)
            self.theirs.state = {"src": rows}
            states, _ = self.theirs(
                states, rows, step=before.length if before else None, src_len=real
            )
            self.theirs.state = {}
            return states, [
                {
                    name: getattr(layer, name).layer_cache[1]
                    for name in ("self_attn", "context_attn")
                }
                for layer in layers
            ]


def _for_each(hypotheses: int, memory: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """The memory of each hypothesis and its lengths: theirs do not share one among those of a sentence. -> (N, K, D), (N,)"""
    times = hypotheses // len(memory)
    return memory.repeat_interleave(times, dim=0), real_lengths(memory, mask).repeat_interleave(
        times, dim=0
    )
