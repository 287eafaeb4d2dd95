"""A Transformer layer one position at a time, for search: its matrices laid out once, keys and values kept, sums taken on the way.

N rows are the hypotheses of B sentences, as many of each, side by side: to a sentence's cache and memory they are so many queries.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from polyglot.layers.kv_cache import Cache
from polyglot.layers.linear import LaidOut
from polyglot.layers.masks import masked_softmax
from polyglot.layers.positions import rotated
from polyglot.layers.transformer import (
    Around,
    CrossAttention,
    CrossAttentionLayer,
    FeedForward,
    SelfAttention,
    merged,
)


class LayerSteps:
    """What a layer in evaluation adds to the states of the next position of each hypothesis."""

    def __init__(self, layer: CrossAttentionLayer) -> None:
        self.attention, self.around_attention = (
            SelfAttentionSteps(layer.attention),
            layer.around_attention,
        )
        self.cross, self.around_cross = CrossAttentionSteps(layer.cross), layer.around_cross
        self.feed_forward, self.around_feed_forward = (
            FeedForwardSteps(layer.feed_forward),
            layer.around_feed_forward,
        )

    def __call__(
        self,
        states: Tensor,
        cache: Cache,
        memory: tuple[Tensor, Tensor],
        *,
        penalty: Tensor,
        place: int,
        mask: Tensor | None,
    ) -> Tensor:
        """states (N, D) of words that stand at `place`, memory as prepared, penalty (N, P) of `Seen`, mask (B, K) -> (N, D)"""
        states = _go(self.around_attention, states, self.attention, cache, penalty, place)
        states = _go(self.around_cross, states, self.cross, memory, mask)
        return _go(self.around_feed_forward, states, self.feed_forward)


def _go(around: Around, states: Tensor, block, *given) -> Tensor:  # noqa: ANN001, ANN002
    states = block(around.enter(states), states, *given)
    return states if around.before else around.norm(states)


class SelfAttentionSteps:
    """Attention to what a hypothesis has written."""

    def __init__(self, attention: SelfAttention) -> None:
        self.heads, self.rotary = attention.heads, attention.rotary
        size = attention.output.in_features
        scale = (
            torch.ones(3, size)
            .index_fill_(0, torch.tensor(0), (size // self.heads) ** -0.5)
            .flatten()
            .to(attention.inputs.weight)
        )
        self.inputs = LaidOut(
            attention.inputs.weight * scale.unsqueeze(1), attention.inputs.bias * scale
        )  # √d is in the queries already
        self.output = LaidOut(attention.output.weight, attention.output.bias)

    def __call__(
        self, states: Tensor, before: Tensor, cache: Cache, penalty: Tensor, place: int
    ) -> Tensor:
        sentences = len(cache.keys)
        parts = (
            self.inputs(states)
            .view(sentences, -1, 3, self.heads, cache.keys.shape[3])
            .permute(2, 0, 3, 1, 4)
        )
        queries, keys, values = parts.unbind(0)  # each (B, H, M, d)
        if self.rotary:
            queries, keys = (
                rotated(part.reshape(-1, 1, 1, part.shape[3]), place).view(part.shape)
                for part in (queries, keys)
            )
        keys, values = cache.write(penalty.shape[1] - keys.shape[2], keys, values)
        scores = queries @ keys.transpose(2, 3) + penalty.view(sentences, 1, -1, keys.shape[2])
        return self.output(
            merged(torch.softmax(scores, dim=-1) @ values).flatten(0, 1), plus=before
        )


class CrossAttentionSteps:
    """Attention to the memory of a sentence."""

    def __init__(self, cross: CrossAttention) -> None:
        self.heads, self.memory, scale = (
            cross.heads,
            cross.memory,
            (cross.queries.out_features // cross.heads) ** -0.5,
        )
        self.queries = LaidOut(cross.queries.weight * scale, cross.queries.bias * scale)
        self.output = LaidOut(cross.output.weight, cross.output.bias)

    def prepare(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """What is compared with and mixed, computed once a sentence. (B, K, M) -> keys (B, H, d, K), values (B, H, K, d)"""
        keys, values = (
            self.memory(memory).unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        )
        return keys.transpose(2, 3).contiguous(), values.contiguous()

    def __call__(
        self, states: Tensor, before: Tensor, memory: tuple[Tensor, Tensor], mask: Tensor | None
    ) -> Tensor:
        keys, values = memory
        queries = (
            self.queries(states).view(len(keys), -1, self.heads, keys.shape[2]).transpose(1, 2)
        )
        weights = masked_softmax(queries @ keys, None if mask is None else mask[:, None, None])
        return self.output(merged(weights @ values).flatten(0, 1), plus=before)


class FeedForwardSteps:
    """The feed-forward network."""

    def __init__(self, feed_forward: FeedForward) -> None:
        self.gated, hidden, output = feed_forward.gated, feed_forward.hidden, feed_forward.output
        self.hidden = LaidOut(
            hidden.weight, hidden.bias, activation="none" if self.gated else feed_forward.activation
        )
        self.output = LaidOut(output.weight, output.bias)

    def __call__(self, states: Tensor, before: Tensor) -> Tensor:
        hidden = self.hidden(states)
        if self.gated:
            gate, hidden = hidden.chunk(2, dim=-1)
            hidden = functional.silu(gate) * hidden
        return self.output(hidden, plus=before)
