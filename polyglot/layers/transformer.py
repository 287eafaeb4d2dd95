"""The blocks of a Transformer (Vaswani et al. 2017): attention of several heads, feed-forward networks, and the way around them.

H heads of d = D / H numbers each. Whole sentences run through PyTorch's fused attention; single steps of decoding, whose few
queries would not fill its blocks, through plain products over a cache (`steps.py`).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from polyglot.core.registry import ComponentConfig
from polyglot.layers.dropout import Dropout
from polyglot.layers.linear import Linear
from polyglot.layers.masks import fused_attention
from polyglot.layers.positions import rotated

EPSILON = 1e-6
"""Keeps the division of a layer norm away from zero: that of Tensor2Tensor and OpenNMT-py."""


class BlockConfig(ComponentConfig):
    """What Transformer layers of any size share."""

    layers: int = Field(6, ge=1, le=256)
    """How many layers are stacked."""
    heads: int = Field(8, ge=1, le=1024)
    """Attention heads H; they divide the size."""
    feed_forward: int = Field(2048, ge=1, le=1048576)
    """Size of the hidden layer of the feed-forward networks."""
    activation: Literal["relu", "gelu", "swiglu"] = "relu"
    """Of the feed-forward networks; `swiglu` (Shazeer 2020) has a third matrix."""
    norm: Literal["pre", "post"] = "pre"
    """Layer norm before each block, with one more at the end (Xiong et al. 2020), or after each sum, as in the first Transformer."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on what each block adds to the states."""
    attention_dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout on the attention weights."""
    activation_dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout inside the feed-forward networks."""


class TransformerConfig(BlockConfig):
    """A stack of layers with a size and positions of its own."""

    size: int = Field(512, ge=1, le=65536)
    """State size D."""
    positions: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal"
    """How a word knows its place (Vaswani et al. 2017, section 3.5; Gehring et al. 2017; Su et al. 2021)."""
    longest: int = Field(512, ge=1, le=1000000)
    """Places that `learned` positions tell apart; later ones count as the last."""

    @model_validator(mode="after")
    def _heads_fit(self) -> TransformerConfig:
        if problem := heads_problem(self.size, self.heads):
            raise ValueError(problem)
        if self.positions == "rotary" and self.size // self.heads % 2:
            raise ValueError(
                f"rotary positions need heads of even size, found size {self.size} / heads {self.heads} = {self.size // self.heads}"
            )
        return self


def heads_problem(size: int, heads: int) -> str | None:
    """The sentence for heads that do not divide a size."""
    return (
        f"{heads} heads cannot share size {size}; use a number that divides it"
        if size % heads
        else None
    )


class SelfAttention(nn.Module):
    """Every position attends to every other of its sentence."""

    def __init__(self, size: int, config: BlockConfig, *, rotary: bool = False) -> None:
        super().__init__()
        self.heads, self.rotary, self.share = config.heads, rotary, config.attention_dropout
        self.inputs = Linear(size, 3 * size)  # queries, keys and values in one product
        self.output = Linear(size, size)

    def forward(self, states: Tensor, mask: Tensor | None, *, causal: bool = False) -> Tensor:
        """states (B, S, D), mask (B, S) or None -> (B, S, D); causal: no position sees what follows it"""
        queries, keys, values = self._split(states)
        if self.rotary:
            queries, keys = rotated(queries), rotated(keys)
        share = self.share if self.training else 0.0
        return self.output(
            merged(fused_attention(queries, keys, values, mask=mask, causal=causal, dropout=share))
        )

    def _split(self, states: Tensor) -> tuple[Tensor, ...]:
        """queries, keys and values, each (B, H, S, d)"""
        return (
            self.inputs(states).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        )


class CrossAttention(nn.Module):
    """Positions attend to the rows of a memory."""

    def __init__(self, size: int, config: BlockConfig, *, memory_size: int) -> None:
        super().__init__()
        self.heads, self.share = config.heads, config.attention_dropout
        self.queries = Linear(size, size)
        self.memory = Linear(memory_size, 2 * size)  # keys and values in one product
        self.output = Linear(size, size)

    def forward(self, states: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        """states (B, T, D), memory (B, K, M), mask (B, K) or None -> (B, T, D)"""
        keys, values = self._keys_and_values(memory)
        share = self.share if self.training else 0.0
        return self.output(
            merged(fused_attention(self._queries(states), keys, values, mask=mask, dropout=share))
        )

    def _queries(self, states: Tensor) -> Tensor:
        return self.queries(states).unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def _keys_and_values(self, memory: Tensor) -> tuple[Tensor, ...]:
        return (
            self.memory(memory).unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        )


def merged(heads: Tensor) -> Tensor:
    """The heads side by side: (B, H, T, d) -> (B, T, D)"""
    return heads.transpose(1, 2).flatten(2)


class FeedForward(nn.Module):
    """W₂·ReLU(W₁·x), or with GELU, or SwiGLU's W₂·(SiLU(W₁·x) ⊙ W₃·x) (Shazeer 2020)."""

    def __init__(self, size: int, config: BlockConfig) -> None:
        super().__init__()
        self.gated, self.activation = config.activation == "swiglu", config.activation
        self.hidden = Linear(size, config.feed_forward * (2 if self.gated else 1))
        self.dropout = Dropout(config.activation_dropout)
        self.output = Linear(config.feed_forward, size)

    def forward(self, states: Tensor) -> Tensor:
        """(..., D) -> (..., D)"""
        hidden = self.hidden(states)
        if self.gated:
            gate, hidden = hidden.chunk(2, dim=-1)
            hidden = functional.silu(gate) * hidden
        else:
            hidden = functional.gelu(hidden) if self.activation == "gelu" else hidden.relu()
        return self.output(self.dropout(hidden))


class Around(nn.Module):
    """What surrounds a block: layer norm before it or after the sum, dropout on what it adds."""

    def __init__(self, size: int, config: BlockConfig) -> None:
        super().__init__()
        self.before = config.norm == "pre"
        self.norm = nn.LayerNorm(size, eps=EPSILON)
        self.dropout = Dropout(config.dropout)

    def enter(self, states: Tensor) -> Tensor:
        """What the block sees."""
        return self.norm(states) if self.before else states

    def leave(self, states: Tensor, change: Tensor) -> Tensor:
        """The states with what the block adds."""
        states = states + self.dropout(change)
        return states if self.before else self.norm(states)


class SelfAttentionLayer(nn.Module):
    """Self-attention and a feed-forward network: a layer of an encoder."""

    def __init__(self, size: int, config: BlockConfig, *, rotary: bool = False) -> None:
        super().__init__()
        self.attention, self.around_attention = (
            SelfAttention(size, config, rotary=rotary),
            Around(size, config),
        )
        self.feed_forward, self.around_feed_forward = (
            FeedForward(size, config),
            Around(size, config),
        )

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """states (B, S, D), mask (B, S) or None -> (B, S, D)"""
        states = self.around_attention.leave(
            states, self.attention(self.around_attention.enter(states), mask)
        )
        return self.around_feed_forward.leave(
            states, self.feed_forward(self.around_feed_forward.enter(states))
        )


class CrossAttentionLayer(nn.Module):
    """Self-attention, attention over a memory and a feed-forward network: a layer of a decoder."""

    def __init__(
        self, size: int, config: BlockConfig, *, memory_size: int, rotary: bool = False
    ) -> None:
        super().__init__()
        self.attention, self.around_attention = (
            SelfAttention(size, config, rotary=rotary),
            Around(size, config),
        )
        self.cross, self.around_cross = (
            CrossAttention(size, config, memory_size=memory_size),
            Around(size, config),
        )
        self.feed_forward, self.around_feed_forward = (
            FeedForward(size, config),
            Around(size, config),
        )

    def forward(
        self, states: Tensor, memory: Tensor, mask: Tensor | None, *, causal: bool = True
    ) -> Tensor:
        """states (B, T, D), memory (B, K, M), mask (B, K) or None -> (B, T, D)"""
        states = self.around_attention.leave(
            states, self.attention(self.around_attention.enter(states), None, causal=causal)
        )
        states = self.around_cross.leave(
            states, self.cross(self.around_cross.enter(states), memory, mask)
        )
        return self.around_feed_forward.leave(
            states, self.feed_forward(self.around_feed_forward.enter(states))
        )


def final_norm(size: int, config: BlockConfig) -> nn.Module:
    """What follows the last layer: a norm, where every block had its own before it."""
    return nn.LayerNorm(size, eps=EPSILON) if config.norm == "pre" else nn.Identity()
