"""The Transformer decoder, which in search keeps the keys and values of what it has written."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn

from polyglot.layers.cache import Cache
from polyglot.layers.positions import Positions
from polyglot.layers.resize import resize
from polyglot.layers.transformer import CrossAttentionLayer, TransformerConfig, final_norm
from polyglot.model.decoders.base import DECODERS, Decoder
from polyglot.model.memory import Memory


class DecodingState(NamedTuple):
    """Where N hypotheses of B sentences stand, layer by layer."""

    caches: tuple[Cache | None, ...]
    """of what they have written; None before the first word"""
    memories: tuple[tuple[Tensor, Tensor], ...]
    """keys (B, H, d, K) and values (B, H, K, d) of the memory, computed once a sentence"""


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
        self.layers = nn.ModuleList(CrossAttentionLayer(config.size, config, **given) for _ in range(config.layers))
        self.norm = final_norm(config.size, config)

    def forward(self, embedded: Tensor, mask: Tensor, memory: Memory) -> Tensor:
        states = self.positions(self.inputs(embedded))
        for layer in self.layers:
            states = layer(states, memory.states, memory.mask)
        return self.norm(states)

    def start(self, memory: Memory) -> DecodingState:
        return DecodingState((None,) * len(self.layers), tuple(layer.cross.prepare(memory.states) for layer in self.layers))

    def read(self, embedded: Tensor, state: DecodingState) -> Tensor:
        """(U, E) -> (U, D), where the words stand now"""
        written = state.caches[0].length if state.caches[0] else 0
        return self.positions(self.inputs(embedded).unsqueeze(1), written).squeeze(1)

    def step(self, words: Tensor, state: DecodingState, memory: Memory) -> tuple[Tensor, DecodingState]:
        states = words
        caches = []
        for layer, cache, prepared in zip(self.layers, state.caches, state.memories):
            states, cache = layer.step(states, cache, prepared, memory.mask)
            caches.append(cache)
        return self.norm(states), state._replace(caches=tuple(caches))

    def reorder(self, state: DecodingState, rows: Tensor, sentences: Tensor | None) -> DecodingState:
        if sentences is None and len(rows) == len(state.memories[0][0]):
            return state  # one hypothesis a sentence, and every sentence stays: nothing has moved
        caches = tuple(cache and cache.reorder(rows) for cache in state.caches)
        if sentences is None:
            return state._replace(caches=caches)
        memories = tuple(tuple(part.index_select(0, sentences) for part in prepared) for prepared in state.memories)
        return DecodingState(caches, memories)
