"""Words transformed by the roles that they take: Σ_i r_i U_i e in one matrix product, and in one small product a word where r is one-hot."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from polyglot.layers.linear import product

BLOCK = 512
"""Words whose R products r_i·e stand in memory together: so many of them stay in a processor's cache."""


def combine(roles: Tensor, words: Tensor, matrices: Tensor) -> Tensor:
    """Σ_i r_i U_i e of each word. roles (..., R), words (..., h), matrices (R·h, h), Uᵢᵀ below each other -> (..., h)

    It is (r ⊗ e)·M, of which r ⊗ e, R times as large as the words, is never kept: the way back makes it again.
    """
    device = words.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else matrices.dtype
    flat = (part.reshape(-1, part.shape[-1]).to(dtype) for part in (roles, words))
    return _Combine.apply(*flat, matrices.to(dtype)).view(words.shape)


def combine_chosen(chosen: Tensor, words: Tensor, matrices: Tensor) -> Tensor:
    """U_i e where each word has the one role i: the words of a role together in one product. chosen (...), words (..., h) -> (..., h)"""
    rows, chosen = words.reshape(-1, words.shape[-1]), chosen.flatten()
    order = chosen.argsort()
    size = rows.shape[1]
    counts = torch.bincount(chosen, minlength=len(matrices) // size).tolist()
    groups = zip(rows[order].split(counts), matrices.split(size))
    found = torch.cat([product(own, matrix.t()) for own, matrix in groups if len(own)])
    return torch.empty_like(found).index_copy_(0, order, found).view(words.shape)


class _Combine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, roles: Tensor, words: Tensor, matrices: Tensor) -> Tensor:  # noqa: ANN001
        ctx.save_for_backward(roles, words, matrices)
        columns = matrices.t()
        return torch.cat([product(_outer(*part), columns) for part in _blocks(roles, words)])

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, ...]:  # noqa: ANN001
        roles, words, matrices = ctx.saved_tensors
        for_roles, for_words, for_matrices = torch.empty_like(roles), torch.empty_like(words), torch.zeros_like(matrices)
        parts = (_blocks(each) for each in (roles, words, gradient, for_roles, for_words))
        for (own_roles,), (own_words,), (own,), (to_roles,), (to_words,) in zip(*parts):
            back = product(own, matrices).unflatten(1, (-1, words.shape[1]))  # (n, R, h): what comes to each r_i·e
            torch.bmm(back, own_words.unsqueeze(2), out=to_roles.unsqueeze(2))
            torch.bmm(own_roles.unsqueeze(1), back, out=to_words.unsqueeze(1))
            for_matrices.addmm_(_outer(own_roles, own_words).t(), own)
        return for_roles, for_words, for_matrices


def _outer(roles: Tensor, words: Tensor) -> Tensor:
    """r ⊗ e: (n, R), (n, h) -> (n, R·h)"""
    return (roles.unsqueeze(2) * words.unsqueeze(1)).flatten(1)


def _blocks(*tensors: Tensor):  # noqa: ANN202
    """Rows of the same places, some at a time: on an accelerator all of them."""
    size = BLOCK if tensors[0].device.type == "cpu" else max(1, len(tensors[0]))
    return zip(*(each.split(size) for each in tensors))
