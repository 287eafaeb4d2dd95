"""Masked operations; a mask is boolean and True on real tokens in the whole program."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the last dimension; padding gets exactly 0, and a row of padding is all zeros.

    scores (..., S), mask broadcastable to it or None without padding -> (..., S) of the same type.
    Half precisions are summed in float32.
    """
    precise = torch.promote_types(scores.dtype, torch.float32)
    if mask is None:
        weights = torch.softmax(scores, dim=-1, dtype=precise)
        return weights.to(scores.dtype)
    floor = torch.finfo(precise).min  # finite, since -inf would give NaN in a row of padding
    masked_scores = scores.to(precise).masked_fill(~mask, floor)
    weights = torch.softmax(masked_scores, dim=-1) * mask
    return weights.to(scores.dtype)


def fused_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    mask: Tensor | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> Tensor:
    """softmax(Q·Kᵀ / √d)·V in PyTorch's fused kernels; a query without real positions gets zeros.

    queries (B, H, T, d), keys and values (B, H, S, d), mask (B, S) or None -> (B, H, T, d).
    causal: a position attends only to itself and to the left. It takes no mask: padding comes after
    the real positions, so no real position attends to it. The kernels themselves return zeros for a
    row of padding, which a test checks.
    """
    assert mask is None or not causal
    options = {"dropout_p": dropout, "is_causal": causal}
    if mask is not None:
        options["attn_mask"] = mask[:, None, None]
    if queries.device.type == "cpu" and queries.dtype == torch.bfloat16:
        # The backward pass is several times faster in float32.
        with torch.autocast("cpu", enabled=False):
            contexts = functional.scaled_dot_product_attention(
                queries.float(),
                keys.float(),
                values.float(),
                **options,
            )
            return contexts.to(queries.dtype)
    return functional.scaled_dot_product_attention(queries, keys, values, **options)


def masked_mean(states: Tensor, mask: Tensor | None) -> Tensor:
    """Mean over the real positions. states (B, S, D), mask (B, S) or None -> (B, D)"""
    if mask is None:
        return states.mean(dim=1)
    real = mask.unsqueeze(-1).to(states.dtype)
    sums = (states * real).sum(dim=1)
    counts = real.sum(dim=1)
    return sums / counts.clamp(min=1)


def flip_sentences(states: Tensor, mask: Tensor) -> Tensor:
    """Reverse each sentence within its own length; states (B, S, D), mask (B, S) -> (B, S, D)."""
    sentences, length = mask.shape
    positions = torch.arange(length, device=mask.device)
    last = mask.sum(dim=1, keepdim=True) - 1
    reversed_positions = torch.where(mask, last - positions, positions)

    # Rows in the table of all positions of all sentences, (B·S, D).
    first_rows = length * torch.arange(sentences, device=mask.device)
    rows = reversed_positions + first_rows.unsqueeze(1)
    return _PermuteRows.apply(states, rows.flatten())


class _PermuteRows(torch.autograd.Function):
    """Permute rows by a permutation that is its own inverse.

    The gradient is then the same permutation; autograd would compute a sum over rows.
    """

    @staticmethod
    def forward(ctx, states: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        permuted = states.flatten(0, 1).index_select(0, rows)
        return permuted.view(states.shape)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        return _PermuteRows.apply(gradient, rows), None
