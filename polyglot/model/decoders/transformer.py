"""The Transformer decoder, which in search keeps the keys and values of what it has written."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from polyglot.layers.incremental_transformer import IncrementalDecoderLayer
from polyglot.layers.kv_cache import KeyValueCache, CacheMask, select_rows_in_place
from polyglot.layers.linear import resize
from polyglot.layers.positions import Positions
from polyglot.layers.transformer import CrossAttentionLayer, TransformerConfig, final_norm
from polyglot.model.decoders.base import DECODERS, Decoder
from polyglot.model.memory import Memory


class DecodingState(NamedTuple):
    """Where N hypotheses of B sentences stand; of all but the last three, one a layer."""

    steps: tuple[IncrementalDecoderLayer, ...]
    """the layers, with their matrices laid out once for many steps"""
    caches: tuple[KeyValueCache, ...]
    """of what the hypotheses have written"""
    memories: tuple[tuple[Tensor, Tensor], ...]
    """keys (B, H, d, K) and values (B, H, K, d) of the memory, computed once a sentence"""
    seen: CacheMask
    """which of it each hypothesis attends to"""
    place: int
    """how many words there are before the next"""


@DECODERS.register("transformer")
class TransformerDecoder(Decoder):
    """Layers of self-attention, attention over the memory and feed-forward networks (Vaswani et al. 2017, section 3.1)."""

    class Config(TransformerConfig):
        pass

    def __init__(self, config: Config, *, input_size: int, memory_size: int) -> None:
        super().__init__()
        self.size = config.size
        self.inputs = resize(input_size, config.size)
        self.positions = Positions(config.positions, size=config.size, longest=config.longest)
        given = {"memory_size": memory_size, "rotary": config.positions == "rotary"}
        self.layers = nn.ModuleList(
            CrossAttentionLayer(config.size, config, **given) for _ in range(config.layers)
        )
        self.norm = final_norm(config.size, config)

    def forward(self, embedded: Tensor, mask: Tensor, memory: Memory) -> Tensor:
        states = self.positions(self.inputs(embedded))
        for layer in self.layers:
            states = layer(states, memory.states, memory.mask)
        return self.norm(states)

    @torch.no_grad()
    def start(self, memory: Memory) -> DecodingState:
        steps = tuple(IncrementalDecoderLayer(layer) for layer in self.layers)
        caches = tuple(
            KeyValueCache.empty(memory.states, heads=layer.heads, size=self.size)
            for layer in (one.attention for one in self.layers)
        )
        return DecodingState(
            steps,
            caches,
            tuple(step.cross.prepare(memory.states) for step in steps),
            CacheMask.empty(memory.states),
            place=0,
        )

    def prepare_words(self, embedded: Tensor, state: DecodingState) -> Tensor:
        """(U, E) -> (U, D), where the words stand now"""
        return self.positions(self.inputs(embedded).unsqueeze(1), state.place).squeeze(1)

    @torch.no_grad()
    def step(
        self, words: Tensor, state: DecodingState, memory: Memory
    ) -> tuple[Tensor, DecodingState]:
        """As for any decoder, in evaluation: without gradients and dropout."""
        sentences, caches, seen = len(memory.states), state.caches, state.seen
        if seen.is_full(len(words) // sentences):
            places, seen = seen.compact(sentences)
            caches = tuple(cache.gather_places(places, seen.room) for cache in caches)
        seen, states = seen.with_own_places(sentences), words
        for layer, cache, prepared in zip(state.steps, caches, state.memories):
            states = layer(
                states, cache, prepared, penalty=seen.penalty, place=state.place, mask=memory.mask
            )
        return self.norm(states), state._replace(caches=caches, seen=seen, place=state.place + 1)

    def reorder(
        self, state: DecodingState, rows: Tensor, sentences: Tensor | None
    ) -> DecodingState:
        state = state._replace(seen=state.seen.reorder(rows))
        if sentences is None:
            return state
        memories = tuple(
            tuple(select_rows_in_place(part, sentences) for part in prepared) for prepared in state.memories
        )
        return state._replace(
            caches=tuple(cache.select(sentences) for cache in state.caches), memories=memories
        )
