"""Decoders of OpenNMT-py behind the interface of our decoders.

They store the decoding state inside the module. Here the state is put into the module before a
step and taken out after it. The attribute `theirs` holds the module of OpenNMT-py; its name is
part of the checkpoint format.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from polyglot.layers.linear import resize
from polyglot.layers.opennmt import (
    DECODER_LOCK,
    PassThroughEmbedding,
    TransformerConfig,
    import_opennmt,
    real_lengths,
)
from polyglot.layers.positions import Positions
from polyglot.model.decoders.base import (
    DECODERS,
    AttentionDecoderConfig,
    Decoder,
    EncoderRequirement,
)
from polyglot.model.memory import Memory


class RnnState(NamedTuple):
    """Decoding state of N hypotheses in a recurrent decoder."""

    hidden: tuple[Tensor, ...]
    """(h, c), or (h,) of a GRU, each (layers, N, D)."""
    feed: Tensor
    """Previous output (1, N, D)."""


@DECODERS.register("onmt_rnn")
class OpenNmtRnnDecoder(Decoder):
    """`StdRNNDecoder` or, with input feeding, `InputFeedRNNDecoder` of OpenNMT-py 3.0.4.

    Needs the extra `opennmt`. The initial state is the mean of the memory, as in our decoders, or
    the final states of an `onmt_rnn` encoder, as in OpenNMT-py.
    """

    class Config(AttentionDecoderConfig):
        cell: Literal["LSTM", "GRU"] = "LSTM"
        """Type of recurrence, `rnn_type` in OpenNMT-py."""
        input_feeding: bool = True
        """Feed each output back beside the next word; `input_feed` in OpenNMT-py."""
        start: Literal["mean", "final"] = "mean"
        """Initial state: the mean of the memory, or the final states of the encoder layer by layer;
        `final` needs `onmt_rnn` encoders of the same size, layers and cell."""

        def encoder_requirement(self) -> EncoderRequirement | None:
            if self.start == "mean":
                return None
            settings = {
                "type": "onmt_rnn",
                "size": self.size,
                "layers": self.layers,
                "cell": self.cell,
            }
            return EncoderRequirement(
                "start", "final", settings, advice="make them alike or use 'mean'"
            )

    def __init__(self, config: Config, *, input_size: int, memory_size: int) -> None:
        super().__init__()
        self.output_states_size = config.size
        self.initial_state_size = config.size
        self.layer_count = config.layers
        self.is_lstm = config.cell == "LSTM"
        self.starts_from_final = config.start == "final"
        # Projections of memory rows; checkpoints call them `memory`.
        self.memory = resize(memory_size, config.size)

        decoders = import_opennmt("decoders.decoder")
        if config.input_feeding:
            decoder_type = decoders.InputFeedRNNDecoder
        else:
            decoder_type = decoders.StdRNNDecoder
        self.theirs = decoder_type(
            config.cell,
            False,  # bidirectional encoder
            config.layers,
            config.size,
            attn_type=config.attention,
            dropout=config.dropout if config.layers > 1 else 0.0,
            embeddings=PassThroughEmbedding(input_size),
        )
        # A single layer has no dropout between layers, but still has it on the output.
        self.theirs.dropout.p = config.dropout

    def forward(self, embedded: Tensor, mask: Tensor, memory: Memory) -> Tensor:
        states, _ = self._run(embedded, self.start(memory), memory)
        return states

    def initial_state(self, memory: Memory) -> Tensor:
        if self.starts_from_final:
            hidden = memory.final_states[0]
            return hidden[:, -1]
        return self.memory(memory.mean())

    def start(self, memory: Memory) -> RnnState:
        if self.starts_from_final:
            hidden = tuple(part.transpose(0, 1).contiguous() for part in memory.final_states)
        else:
            initial = self.initial_state(memory)
            repeated = initial.expand(self.layer_count, -1, -1).contiguous()
            hidden = (repeated, repeated) if self.is_lstm else (repeated,)
        return RnnState(hidden, torch.zeros_like(hidden[0][:1]))

    def step(
        self,
        prepared_words: Tensor,
        state: RnnState,
        memory: Memory,
    ) -> tuple[Tensor, RnnState]:
        states, next_state = self._run(prepared_words.unsqueeze(1), state, memory)
        return states.squeeze(1), next_state

    def reorder(self, state: RnnState, rows: Tensor, sentences: Tensor | None) -> RnnState:
        hidden = tuple(part.index_select(1, rows) for part in state.hidden)
        return RnnState(hidden, state.feed.index_select(1, rows))

    def _run(self, embedded: Tensor, state: RnnState, memory: Memory) -> tuple[Tensor, RnnState]:
        """embedded (N, T, E) -> states (N, T, D), and the next decoding state"""
        rows, lengths = _repeat_memory(
            self.memory(memory.states), memory.attention_mask, len(embedded)
        )
        with DECODER_LOCK:
            self.theirs.state = {"hidden": state.hidden, "input_feed": state.feed, "coverage": None}
            states, _ = self.theirs(embedded, rows, src_len=lengths)
            next_state = self.theirs.state
            self.theirs.state = {}
        return states, RnnState(tuple(next_state["hidden"]), next_state["input_feed"])


LayerCaches = dict[str, dict[str, Tensor]]
"""Keys and values (N, H, ·, d) of one layer, by the name of its attention."""


class TransformerState(NamedTuple):
    """Decoding state of N hypotheses in a Transformer decoder."""

    caches: list[LayerCaches]
    """One item per layer; empty before the first word."""
    length: int
    """Number of words in each prefix."""


@DECODERS.register("onmt_transformer")
class OpenNmtTransformerDecoder(Decoder):
    """`TransformerDecoder` of OpenNMT-py 3.0.4 with its positions; needs the extra `opennmt`."""

    class Config(TransformerConfig, Decoder.Config):
        pass

    def __init__(self, config: Config, *, input_size: int, memory_size: int) -> None:
        super().__init__()
        self.output_states_size = config.size
        self.inputs = resize(input_size, config.size)
        self.memory = resize(memory_size, config.size)
        self.positions = Positions("sinusoidal", size=config.size)
        decoder_type = import_opennmt("decoders.transformer").TransformerDecoder
        self.theirs = decoder_type(
            config.layers,
            config.size,
            config.heads,
            config.feed_forward,
            False,  # copy attention
            "scaled-dot",
            config.dropout,
            config.attention_dropout,
            PassThroughEmbedding(config.size),
            0,  # max_relative_positions
            False,  # average attention
            False,  # feed-forward network in average attention
            0,  # full-context alignment
            0,  # alignment layer
        )

    def forward(self, embedded: Tensor, mask: Tensor, memory: Memory) -> Tensor:
        states, _ = self._run(self.positions(self.inputs(embedded)), memory)
        return states

    def start(self, memory: Memory) -> TransformerState:
        return TransformerState([], 0)

    def prepare_words(self, embedded: Tensor, state: TransformerState) -> Tensor:
        """Project the words and add the current position. (U, E) -> (U, D)"""
        inputs = self.inputs(embedded).unsqueeze(1)
        return self.positions(inputs, state.length).squeeze(1)

    def step(
        self,
        prepared_words: Tensor,
        state: TransformerState,
        memory: Memory,
    ) -> tuple[Tensor, TransformerState]:
        states, caches = self._run(prepared_words.unsqueeze(1), memory, state)
        return states.squeeze(1), TransformerState(caches, state.length + 1)

    def reorder(
        self,
        state: TransformerState,
        rows: Tensor,
        sentences: Tensor | None,
    ) -> TransformerState:
        caches = [_select_hypotheses(layer_caches, rows) for layer_caches in state.caches]
        return state._replace(caches=caches)

    def _run(
        self,
        states: Tensor,
        memory: Memory,
        prefix: TransformerState | None = None,
    ) -> tuple[Tensor, list[LayerCaches]]:
        """states (N, T, D) -> states (N, T, D), and the caches after them

        prefix: the decoding state, if the states are one word (T = 1) after a prefix; None if they
        are whole targets.
        """
        rows, lengths = _repeat_memory(
            self.memory(memory.states), memory.attention_mask, len(states)
        )
        layers = self.theirs.transformer_layers
        with DECODER_LOCK:
            if prefix is not None:
                for layer, layer_caches in zip(layers, prefix.caches):
                    for name, cache in layer_caches.items():
                        attention = getattr(layer, name)
                        # True: use the cache. A copy, because OpenNMT-py writes into the dict.
                        attention.layer_cache = (True, dict(cache))

            self.theirs.state = {"src": rows}
            step = None if prefix is None else prefix.length
            states, _ = self.theirs(states, rows, step=step, src_len=lengths)
            self.theirs.state = {}

            caches = []
            for layer in layers:
                _, self_cache = layer.self_attn.layer_cache
                _, context_cache = layer.context_attn.layer_cache
                caches.append({"self_attn": self_cache, "context_attn": context_cache})
            return states, caches


def _select_hypotheses(layer_caches: LayerCaches, rows: Tensor) -> LayerCaches:
    """Copy the rows (N',) of every key and value of one layer."""
    selected: LayerCaches = {}
    for name, cache in layer_caches.items():
        selected[name] = {key: part.index_select(0, rows) for key, part in cache.items()}
    return selected


def _repeat_memory(memory: Tensor, mask: Tensor | None, hypotheses: int) -> tuple[Tensor, Tensor]:
    """Repeat the memory (B, K, D) and its lengths for each of N hypotheses: (N, K, D), (N,).

    In OpenNMT-py, the hypotheses of a sentence cannot share one memory.
    """
    repeats = hypotheses // len(memory)
    lengths = real_lengths(memory, mask)
    return memory.repeat_interleave(repeats, dim=0), lengths.repeat_interleave(repeats, dim=0)
