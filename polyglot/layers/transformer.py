"""Blocks of a Transformer (Vaswani et al. 2017): multi-head attention, feed-forward, residual.

H heads of d = D / H numbers each. Whole sentences use PyTorch's fused attention. Single decoding
steps have too few queries for it, and use plain products over a cache
(`incremental_transformer.py`).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from polyglot.core.registry import ComponentConfig
from polyglot.core.setting_types import DropoutRate, HeadCount, LayerCount, PositionCount, Size
from polyglot.layers.dropout import Dropout
from polyglot.layers.linear import Linear
from polyglot.layers.masks import fused_attention
from polyglot.layers.positions import rotate

EPSILON = 1e-6
"""Epsilon of layer norms, as in Tensor2Tensor and OpenNMT-py."""


class BlockConfig(ComponentConfig):
    """Settings of Transformer layers, without the size."""

    layers: LayerCount = 6
    """Number of stacked layers."""
    heads: HeadCount = 8
    """Attention heads H; they divide the size."""
    feed_forward: int = Field(2048, ge=1, le=1048576)
    """Size of the hidden layer of the feed-forward networks."""
    activation: Literal["relu", "gelu", "swiglu"] = "relu"
    """Activation of the feed-forward networks; `swiglu` (Shazeer 2020) has a third matrix."""
    norm: Literal["pre", "post"] = "pre"
    """Layer norm before each block and at the end (`pre`, Xiong et al. 2020) or after each sum."""
    dropout: DropoutRate = 0.1
    """Dropout on the output of each block, before the residual sum."""
    attention_dropout: DropoutRate = 0.0
    """Dropout on the attention weights."""
    activation_dropout: DropoutRate = 0.0
    """Dropout inside the feed-forward networks."""


class TransformerConfig(BlockConfig):
    """Settings of a stack of Transformer layers."""

    used_with = {"longest": ("positions", ("learned",))}  # see `ComponentConfig`

    size: Size = 512
    """State size D."""
    positions: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal"
    """Position encoding (Vaswani et al. 2017, section 3.5; Gehring et al. 2017; Su et al. 2021)."""
    longest: PositionCount = 512
    """Number of `learned` positions; later words use the last one."""

    @model_validator(mode="after")
    def _heads_fit(self) -> TransformerConfig:
        error = heads_error(self.size, self.heads)
        if error:
            raise ValueError(error)
        head_size = self.size // self.heads
        if self.positions == "rotary" and head_size % 2:
            raise ValueError(
                f"rotary positions need heads of even size, found size {self.size} / "
                f"heads {self.heads} = {head_size}"
            )
        return self


def heads_error(size: int, heads: int) -> str | None:
    """Error message if the number of heads does not divide the size, otherwise None."""
    if size % heads == 0:
        return None
    return f"{heads} heads cannot share size {size}; use a number that divides it"


class SelfAttention(nn.Module):
    """Self-attention: every position attends to all positions of its sentence."""

    def __init__(self, size: int, config: BlockConfig, *, rotary: bool = False) -> None:
        super().__init__()
        self.heads = config.heads
        self.rotary = rotary
        self.dropout = config.attention_dropout
        self.inputs = Linear(size, 3 * size)  # queries, keys and values in one product
        self.output = Linear(size, size)

    def forward(self, states: Tensor, mask: Tensor | None, *, causal: bool = False) -> Tensor:
        """states (B, S, D), mask (B, S) or None -> (B, S, D); causal: attend only to the left"""
        queries, keys, values = self._split(states)
        if self.rotary:
            queries = rotate(queries)
            keys = rotate(keys)
        contexts = fused_attention(
            queries,
            keys,
            values,
            mask=mask,
            causal=causal,
            dropout=self.dropout if self.training else 0.0,
        )
        return self.output(merge_heads(contexts))

    def _split(self, states: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values, each (B, H, S, d)."""
        parts = self.inputs(states).unflatten(-1, (3, self.heads, -1))  # (B, S, 3, H, d)
        return parts.permute(2, 0, 3, 1, 4).unbind(0)


class CrossAttention(nn.Module):
    """Cross-attention: positions attend to the rows of a memory."""

    def __init__(self, size: int, config: BlockConfig, *, memory_size: int) -> None:
        super().__init__()
        self.heads = config.heads
        self.dropout = config.attention_dropout
        self.queries = Linear(size, size)
        self.memory = Linear(memory_size, 2 * size)  # keys and values in one product
        self.output = Linear(size, size)

    def forward(self, states: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        """states (B, T, D), memory (B, K, M), mask (B, K) or None -> (B, T, D)"""
        keys, values = self._keys_and_values(memory)
        queries = self._queries(states)
        contexts = fused_attention(
            queries,
            keys,
            values,
            mask=mask,
            dropout=self.dropout if self.training else 0.0,
        )
        return self.output(merge_heads(contexts))

    def _queries(self, states: Tensor) -> Tensor:
        queries = self.queries(states).unflatten(-1, (self.heads, -1))  # (B, T, H, d)
        return queries.transpose(1, 2)

    def _keys_and_values(self, memory: Tensor) -> tuple[Tensor, ...]:
        parts = self.memory(memory).unflatten(-1, (2, self.heads, -1))  # (B, K, 2, H, d)
        return parts.permute(2, 0, 3, 1, 4).unbind(0)


def merge_heads(heads: Tensor) -> Tensor:
    """Concatenate the heads: (B, H, T, d) -> (B, T, D)"""
    return heads.transpose(1, 2).flatten(2)


class FeedForward(nn.Module):
    """Feed-forward network W₂·ReLU(W₁·x), with GELU, or with SwiGLU (Shazeer 2020).

    SwiGLU: W₂·(SiLU(W₁·x) ⊙ W₃·x).
    """

    def __init__(self, size: int, config: BlockConfig) -> None:
        super().__init__()
        self.activation = config.activation
        self.gated = config.activation == "swiglu"
        matrices = 2 if self.gated else 1
        self.hidden = Linear(size, matrices * config.feed_forward)
        self.dropout = Dropout(config.activation_dropout)
        self.output = Linear(config.feed_forward, size)

    def forward(self, states: Tensor) -> Tensor:
        """(..., D) -> (..., D)"""
        hidden = self.hidden(states)
        if self.gated:
            gate, hidden = hidden.chunk(2, dim=-1)
            hidden = functional.silu(gate) * hidden
        elif self.activation == "gelu":
            hidden = functional.gelu(hidden)
        else:
            hidden = hidden.relu()
        return self.output(self.dropout(hidden))


class Residual(nn.Module):
    """Residual connection around a block, with dropout and layer norm.

    The caller runs the block between `enter`, which returns its input, and `leave`, which takes its
    output. The layer norm is in `enter` with `norm: pre`, and in `leave` with `norm: post`.
    """

    def __init__(self, size: int, config: BlockConfig) -> None:
        super().__init__()
        self.is_pre_norm = config.norm == "pre"
        self.norm = nn.LayerNorm(size, eps=EPSILON)
        self.dropout = Dropout(config.dropout)

    def enter(self, states: Tensor) -> Tensor:
        """Input of the block."""
        if self.is_pre_norm:
            return self.norm(states)
        return states

    def leave(self, states: Tensor, output: Tensor) -> Tensor:
        """Residual sum of the states and the output of the block."""
        states = states + self.dropout(output)
        if self.is_pre_norm:
            return states
        return self.norm(states)


class SelfAttentionLayer(nn.Module):
    """Encoder layer: self-attention and a feed-forward network."""

    def __init__(self, size: int, config: BlockConfig, *, rotary: bool = False) -> None:
        super().__init__()
        self.attention = SelfAttention(size, config, rotary=rotary)
        self.around_attention = Residual(size, config)
        self.feed_forward = FeedForward(size, config)
        self.around_feed_forward = Residual(size, config)

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """states (B, S, D), mask (B, S) or None -> (B, S, D)"""
        inputs = self.around_attention.enter(states)
        attended = self.attention(inputs, mask)
        states = self.around_attention.leave(states, attended)

        inputs = self.around_feed_forward.enter(states)
        transformed = self.feed_forward(inputs)
        return self.around_feed_forward.leave(states, transformed)


class CrossAttentionLayer(nn.Module):
    """Decoder layer: self-attention, cross-attention and a feed-forward network."""

    def __init__(
        self,
        size: int,
        config: BlockConfig,
        *,
        memory_size: int,
        rotary: bool = False,
    ) -> None:
        super().__init__()
        self.attention = SelfAttention(size, config, rotary=rotary)
        self.around_attention = Residual(size, config)
        self.cross = CrossAttention(size, config, memory_size=memory_size)
        self.around_cross = Residual(size, config)
        self.feed_forward = FeedForward(size, config)
        self.around_feed_forward = Residual(size, config)

    def forward(
        self,
        states: Tensor,
        memory: Tensor,
        mask: Tensor | None,
        *,
        causal: bool = True,
    ) -> Tensor:
        """states (B, T, D), memory (B, K, M), mask (B, K) or None -> (B, T, D)

        causal: False in the Perceiver bridge, whose rows all attend to each other.
        """
        inputs = self.around_attention.enter(states)
        attended = self.attention(inputs, None, causal=causal)
        states = self.around_attention.leave(states, attended)

        inputs = self.around_cross.enter(states)
        attended = self.cross(inputs, memory, mask)
        states = self.around_cross.leave(states, attended)

        inputs = self.around_feed_forward.enter(states)
        transformed = self.feed_forward(inputs)
        return self.around_feed_forward.leave(states, transformed)


def final_norm(size: int, config: BlockConfig) -> nn.Module:
    """Layer norm after the last layer with `norm: pre`; the identity with `norm: post`."""
    if config.norm == "pre":
        return nn.LayerNorm(size, eps=EPSILON)
    return nn.Identity()
