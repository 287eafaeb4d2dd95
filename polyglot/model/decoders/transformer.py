"""Transformer decoder; in search it caches the keys and values of the prefixes."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from polyglot.layers.incremental_transformer import IncrementalDecoderLayer
from polyglot.layers.kv_cache import CacheMask, KeyValueCache, select_rows_in_place
from polyglot.layers.linear import resize
from polyglot.layers.positions import Positions
from polyglot.layers.transformer import CrossAttentionLayer, TransformerConfig, final_norm
from polyglot.model.decoders.base import DECODERS, Decoder
from polyglot.model.memory import Memory


class DecodingState(NamedTuple):
    """Decoding state of N hypotheses of B sentences.

    The first three fields have one item per layer.
    """

    layers: tuple[IncrementalDecoderLayer, ...]
    """Layers; their matrices are prepared once (memory layout and dtype) for all steps."""
    caches: tuple[KeyValueCache, ...]
    """Keys and values of the prefixes."""
    memories: tuple[tuple[Tensor, Tensor], ...]
    """Keys (B, H, d, K) and values (B, H, K, d) of the memory, computed once for each sentence."""
    cache_mask: CacheMask
    """Cache slots that each hypothesis may attend to."""
    position: int
    """Position of the next word, counted from 0."""


@DECODERS.register("transformer")
class TransformerDecoder(Decoder):
    """Layers of self-attention, attention over the memory and feed-forward networks.

    Source: Vaswani et al. 2017, section 3.1.
    """

    class Config(TransformerConfig, Decoder.Config):
        pass

    def __init__(self, config: Config, *, input_size: int, memory_size: int) -> None:
        super().__init__()
        self.output_states_size = config.size
        self.inputs = resize(input_size, config.size)
        self.positions = Positions(config.positions, size=config.size, longest=config.longest)

        rotary = config.positions == "rotary"
        self.layers = nn.ModuleList()
        for _ in range(config.layers):
            self.layers.append(
                CrossAttentionLayer(config.size, config, memory_size=memory_size, rotary=rotary)
            )
        self.norm = final_norm(config.size, config)

    def forward(self, embedded: Tensor, mask: Tensor, memory: Memory) -> Tensor:
        states = self.positions(self.inputs(embedded))
        for layer in self.layers:
            states = layer(states, memory.states, memory.attention_mask)
        return self.norm(states)

    @torch.no_grad()
    def start(self, memory: Memory) -> DecodingState:
        layers = []
        caches = []
        memories = []
        for layer in self.layers:
            incremental = IncrementalDecoderLayer(layer)
            layers.append(incremental)
            heads = layer.attention.heads
            caches.append(
                KeyValueCache.empty(memory.states, heads=heads, size=self.output_states_size)
            )
            memories.append(incremental.cross.prepare(memory.states))

        return DecodingState(
            tuple(layers),
            tuple(caches),
            tuple(memories),
            CacheMask.empty(memory.states),
            position=0,
        )

    def prepare_words(self, embedded: Tensor, state: DecodingState) -> Tensor:
        """Project the words and add the current position. (U, E) -> (U, D)"""
        inputs = self.inputs(embedded).unsqueeze(1)
        return self.positions(inputs, state.position).squeeze(1)

    @torch.no_grad()
    def step(
        self,
        prepared_words: Tensor,
        state: DecodingState,
        memory: Memory,
    ) -> tuple[Tensor, DecodingState]:
        """Compute one step in evaluation mode: no gradients and no dropout."""
        sentences = len(memory.states)
        caches = state.caches
        cache_mask = state.cache_mask
        # The hypotheses of a sentence share one cache (see layers/kv_cache.py). Each step adds one
        # slot per hypothesis. When the cache is full, slots that no hypothesis uses are dropped.
        if cache_mask.is_full(len(prepared_words) // sentences):
            slots, cache_mask = cache_mask.compact(sentences)
            caches = tuple(cache.gather_slots(slots, cache_mask.capacity) for cache in caches)
        cache_mask = cache_mask.add_slots(sentences)

        states = prepared_words
        # Each layer adds its keys and values to its cache in place.
        for layer, cache, layer_memory in zip(state.layers, caches, state.memories):
            states = layer(
                states,
                cache,
                layer_memory,
                additive_mask=cache_mask.additive_mask,
                position=state.position,
                mask=memory.attention_mask,
            )

        next_state = state._replace(
            caches=caches, cache_mask=cache_mask, position=state.position + 1
        )
        return self.norm(states), next_state

    def reorder(
        self,
        state: DecodingState,
        rows: Tensor,
        sentences: Tensor | None,
    ) -> DecodingState:
        # Only the mask belongs to a hypothesis; the cache belongs to the sentence.
        state = state._replace(cache_mask=state.cache_mask.reorder(rows))
        if sentences is None:
            return state

        memories = []
        for keys, values in state.memories:
            keys = select_rows_in_place(keys, sentences)
            values = select_rows_in_place(values, sentences)
            memories.append((keys, values))
        caches = tuple(cache.select(sentences) for cache in state.caches)
        return state._replace(caches=caches, memories=tuple(memories))
