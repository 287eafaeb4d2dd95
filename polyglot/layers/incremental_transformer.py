"""Transformer decoder layer, one position at a time, for search.

Matrices are prepared once for many steps (layout or cast), and keys and values are cached.

The N rows are the hypotheses of B sentences. Every sentence has M = N / B hypotheses, in
consecutive rows. All hypotheses of a sentence attend to the cache and to the memory of this
sentence.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from polyglot.layers.kv_cache import KeyValueCache
from polyglot.layers.linear import pack_layer
from polyglot.layers.masks import masked_softmax
from polyglot.layers.positions import rotate
from polyglot.layers.transformer import (
    CrossAttention,
    CrossAttentionLayer,
    FeedForward,
    Residual,
    SelfAttention,
    merge_heads,
)


class IncrementalDecoderLayer:
    """Decoder layer in evaluation mode, applied to the next position of each hypothesis."""

    def __init__(self, layer: CrossAttentionLayer) -> None:
        self.attention = IncrementalSelfAttention(layer.attention)
        self.cross = IncrementalCrossAttention(layer.cross)
        self.feed_forward = IncrementalFeedForward(layer.feed_forward)
        self.around_attention = layer.around_attention
        self.around_cross = layer.around_cross
        self.around_feed_forward = layer.around_feed_forward

    def __call__(
        self,
        states: Tensor,
        cache: KeyValueCache,
        memory: tuple[Tensor, Tensor],
        *,
        additive_mask: Tensor,
        position: int,
        mask: Tensor | None,
    ) -> Tensor:
        """states (N, D) of words at `position` -> (N, D)

        memory: from `IncrementalCrossAttention.prepare`. additive_mask: (N, P) of `CacheMask`.
        mask: (B, K) of the memory.
        """
        inputs = self.around_attention.enter(states)
        states = self.attention(inputs, states, cache, additive_mask, position)
        states = _norm_after(self.around_attention, states)
        states = self.cross(self.around_cross.enter(states), states, memory, mask)
        states = _norm_after(self.around_cross, states)
        states = self.feed_forward(self.around_feed_forward.enter(states), states)
        return _norm_after(self.around_feed_forward, states)


def _norm_after(residual: Residual, states: Tensor) -> Tensor:
    """Layer norm after a block with `norm: post`; the block has added its input already."""
    return states if residual.is_pre_norm else residual.norm(states)


class IncrementalSelfAttention:
    """Attention over the prefix of a hypothesis."""

    def __init__(self, attention: SelfAttention) -> None:
        self.heads = attention.heads
        self.rotary = attention.rotary
        size = attention.output.in_features
        # The factor 1/√d is multiplied into the query part of the matrix.
        scale = attention.inputs.weight.new_ones(3, size)
        scale[0] = (size // self.heads) ** -0.5
        self.inputs = pack_layer(attention.inputs, factors=scale.flatten())
        self.output = pack_layer(attention.output)

    def __call__(
        self,
        states: Tensor,
        residual: Tensor,
        cache: KeyValueCache,
        additive_mask: Tensor,
        position: int,
    ) -> Tensor:
        """states and residual (N, D), additive_mask (N, P) -> residual + attention (N, D)"""
        sentences = len(cache.keys)
        head_size = cache.keys.shape[3]
        parts = self.inputs(states).view(sentences, -1, 3, self.heads, head_size)
        queries, new_keys, new_values = parts.permute(2, 0, 3, 1, 4).unbind(0)  # each (B, H, M, d)
        if self.rotary:
            queries = _rotate_heads(queries, position)
            new_keys = _rotate_heads(new_keys, position)

        # The mask has a slot for each hypothesis of this step already, after all other slots.
        slots = additive_mask.shape[1]
        hypotheses = new_keys.shape[2]
        keys, values = cache.write(slots - hypotheses, new_keys, new_values)

        mask_of_heads = additive_mask.view(sentences, 1, hypotheses, slots)
        scores = queries @ keys.transpose(2, 3) + mask_of_heads
        contexts = torch.softmax(scores, dim=-1) @ values
        return self.output(merge_heads(contexts).flatten(0, 1), plus=residual)


def _rotate_heads(heads: Tensor, position: int) -> Tensor:
    """Rotate (B, H, M, d), all at the same position."""
    return rotate(heads.reshape(-1, 1, 1, heads.shape[3]), position).view(heads.shape)


class IncrementalCrossAttention:
    """Attention over the memory of a sentence."""

    def __init__(self, cross: CrossAttention) -> None:
        self.heads = cross.heads
        self.memory = cross.memory
        scale = cross.queries.weight.new_full(
            (cross.queries.out_features,), (cross.queries.out_features // cross.heads) ** -0.5
        )
        self.queries = pack_layer(cross.queries, factors=scale)
        self.output = pack_layer(cross.output)

    def prepare(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Project the memory once for a sentence.

        (B, K, M) -> keys (B, H, d, K), values (B, H, K, d)
        """
        parts = self.memory(memory).unflatten(-1, (2, self.heads, -1))
        keys, values = parts.permute(2, 0, 3, 1, 4).unbind(0)
        return keys.transpose(2, 3).contiguous(), values.contiguous()

    def __call__(
        self,
        states: Tensor,
        residual: Tensor,
        memory: tuple[Tensor, Tensor],
        mask: Tensor | None,
    ) -> Tensor:
        """states and residual (N, D), mask (B, K) -> residual + attention (N, D)"""
        keys, values = memory
        queries = self.queries(states).view(len(keys), -1, self.heads, keys.shape[2])
        scores = queries.transpose(1, 2) @ keys
        weights = masked_softmax(scores, None if mask is None else mask[:, None, None])
        return self.output(merge_heads(weights @ values).flatten(0, 1), plus=residual)


class IncrementalFeedForward:
    """Feed-forward network with packed matrices."""

    def __init__(self, feed_forward: FeedForward) -> None:
        self.gated = feed_forward.gated
        activation = "none" if self.gated else feed_forward.activation
        self.hidden = pack_layer(feed_forward.hidden, activation=activation)
        self.output = pack_layer(feed_forward.output)

    def __call__(self, states: Tensor, residual: Tensor) -> Tensor:
        """states and residual (N, D) -> residual + network (N, D)"""
        hidden = self.hidden(states)
        if self.gated:
            gate, hidden = hidden.chunk(2, dim=-1)
            hidden = functional.silu(gate) * hidden
        return self.output(hidden, plus=residual)
