"""Words transformed by the roles that they take, Σ_i r_i U_i e: in one matrix product, or role by role where many r_i are 0."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from polyglot.layers.linear import product, product_type

BLOCK = 512
"""Words whose R products r_i·e stand in memory together on a CPU: so many stay in its cache."""


def mix_roles(roles: Tensor, words: Tensor, matrices: Tensor, *, sparse: bool = False) -> Tensor:
    """Σ_i r_i U_i e of each word. roles (..., R), words (..., h), matrices (R·h, h), Uᵢᵀ below each other -> (..., h)

    sparse: many of the r_i are 0, by dropout or because r is one-hot. Then the words of a role are multiplied together and those
    that do not take it are left out, so that a one-hot r costs one product of h×h a word. Otherwise it is the one product (r ⊗ e)·M, of
    which r ⊗ e, R times as large as the words, is never kept: the way back makes it again.
    """
    dtype = product_type(matrices)
    flat = (part.reshape(-1, part.shape[-1]).to(dtype) for part in (roles, words))
    return (_RoleByRole if sparse else _AtOnce).apply(*flat, matrices.to(dtype)).view(words.shape)


class _AtOnce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, roles: Tensor, words: Tensor, matrices: Tensor) -> Tensor:  # noqa: ANN001
        ctx.save_for_backward(roles, words, matrices)
        columns = matrices.t()
        return torch.cat([product(_outer(*part), columns) for part in _blocks(roles, words)])

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, ...]:  # noqa: ANN001
        roles, words, matrices = ctx.saved_tensors
        for_roles, for_words, for_matrices = (
            torch.empty_like(roles),
            torch.empty_like(words),
            torch.zeros_like(matrices),
        )
        for own_roles, own_words, own, to_roles, to_words in _blocks(
            roles, words, gradient, for_roles, for_words
        ):
            back = product(own, matrices).unflatten(
                1, (-1, words.shape[1])
            )  # (n, R, h): what comes to each r_i·e
            torch.bmm(back, own_words.unsqueeze(2), out=to_roles.unsqueeze(2))
            torch.bmm(own_roles.unsqueeze(1), back, out=to_words.unsqueeze(1))
            for_matrices.addmm_(_outer(own_roles, own_words).t(), own)
        return for_roles, for_words, for_matrices


class _RoleByRole(torch.autograd.Function):
    @staticmethod
    def forward(ctx, roles: Tensor, words: Tensor, matrices: Tensor) -> Tensor:  # noqa: ANN001
        ctx.save_for_backward(roles, words, matrices)
        sums = _sums(words)
        for number, rows, matrix in _takers(roles, matrices):
            weighted = words.index_select(0, rows).mul_(roles[rows, number, None])
            sums.index_add_(0, rows, product(weighted, matrix.t()).to(sums.dtype))
        return sums.to(words.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, ...]:  # noqa: ANN001
        roles, words, matrices = ctx.saved_tensors
        for_roles, for_words, for_matrices = (
            torch.zeros_like(roles),
            _sums(words),
            torch.zeros_like(matrices),
        )
        for number, rows, matrix in _takers(roles, matrices):
            own, taking, shares = (
                gradient.index_select(0, rows),
                words.index_select(0, rows),
                roles[rows, number, None],
            )
            back = product(own, matrix)
            for_roles[rows, number] = torch.linalg.vecdot(back, taking)
            back.mul_(
                shares
            )  # in place, as below: what is as large as the words costs time to make
            for_words.index_add_(0, rows, back.to(for_words.dtype))
            size = matrices.shape[1]
            for_matrices[number * size : (number + 1) * size] = taking.mul_(shares).t() @ own
        return for_roles, for_words.to(words.dtype), for_matrices


def _sums(words: Tensor) -> Tensor:
    """Zeros to add what comes of up to R roles to, not in half precision: (N, h)"""
    return torch.zeros_like(words, dtype=torch.float32 if words.dtype.itemsize < 4 else words.dtype)


def _takers(roles: Tensor, matrices: Tensor) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Each role that somebody takes: its number, the words that do, and its matrix Uᵢᵀ. A word that does not has no gradient of it,
    either."""
    numbers, rows = (roles.t() != 0).nonzero(as_tuple=True)
    counts = torch.bincount(numbers, minlength=roles.shape[1]).tolist()
    for number, (own, matrix) in enumerate(
        zip(rows.split(counts), matrices.split(matrices.shape[1]))
    ):
        if len(own):
            yield number, own, matrix


def _outer(roles: Tensor, words: Tensor) -> Tensor:
    """r ⊗ e: (n, R), (n, h) -> (n, R·h)"""
    return (roles.unsqueeze(2) * words.unsqueeze(1)).flatten(1)


def _blocks(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """The same rows of each, some at a time; on an accelerator all of them."""
    size = BLOCK if tensors[0].device.type == "cpu" else max(1, len(tensors[0]))
    return zip(*(each.split(size) for each in tensors))
