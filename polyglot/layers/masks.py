"""Padding, said once: a mask is boolean and True on real tokens; these are the program's only masked softmax and fused attention."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the last dimension; padding gets exactly 0, and a row without any real position is all zeros.

    scores (..., S), mask broadcastable to it or None when every position is real -> (..., S) of the same type.
    Half precisions are summed in float32.
    """
    precise = torch.promote_types(scores.dtype, torch.float32)
    if mask is None:
        return torch.softmax(scores, dim=-1, dtype=precise).to(scores.dtype)
    floor = torch.finfo(
        precise
    ).min  # finite, so that an empty row has no NaN before it is multiplied away
    weights = torch.softmax(scores.to(precise).masked_fill(~mask, floor), dim=-1) * mask
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
    """softmax(Q·Kᵀ / √d)·V in PyTorch's fused kernels; a query without any real position gets zeros (tested: their doing, not ours).

    queries (B, H, T, d), keys and values (B, H, S, d), mask (B, S) or None when every position is real -> (B, H, T, d).
    causal: a position sees itself and what is before it; without a mask, since padding comes last.
    """
    assert mask is None or not causal
    seen = None if mask is None else mask[:, None, None]
    if (
        queries.device.type == "cpu" and queries.dtype == torch.bfloat16
    ):  # its way back is several times as fast in float32
        with torch.autocast("cpu", enabled=False):
            precise = (part.float() for part in (queries, keys, values))
            return functional.scaled_dot_product_attention(
                *precise, attn_mask=seen, dropout_p=dropout, is_causal=causal
            ).to(queries.dtype)
    return functional.scaled_dot_product_attention(
        queries, keys, values, attn_mask=seen, dropout_p=dropout, is_causal=causal
    )


def masked_mean(states: Tensor, mask: Tensor | None) -> Tensor:
    """Mean over the positions that are real. states (B, S, D), mask (B, S) or None -> (B, D)."""
    if mask is None:
        return states.mean(dim=1)
    real = mask.unsqueeze(-1).to(states.dtype)
    return (states * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)


def flip_sentences(states: Tensor, mask: Tensor) -> Tensor:
    """Reverse each sentence within its own length; padding stays at the end. states (B, S, D), mask (B, S)."""
    positions = torch.arange(mask.shape[1], device=mask.device)
    last = mask.sum(dim=1, keepdim=True) - 1
    places = torch.where(mask, last - positions, positions)
    rows = places + mask.shape[1] * torch.arange(len(mask), device=mask.device).unsqueeze(1)
    return _Rearranged.apply(states, rows.flatten())


class _Rearranged(torch.autograd.Function):
    """Rows in another order, one that done twice is the first again: the way back of a selection would be a sum over rows."""

    @staticmethod
    def forward(ctx, states: Tensor, rows: Tensor) -> Tensor:  # noqa: ANN001
        ctx.save_for_backward(rows)
        return states.flatten(0, 1).index_select(0, rows).view(states.shape)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:  # noqa: ANN001
        return _Rearranged.apply(gradient, *ctx.saved_tensors), None
