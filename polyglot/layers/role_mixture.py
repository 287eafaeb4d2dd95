"""Mixture of role transformations, Σ_i r_i U_i e, of each word.

Computed as one matrix product, or role by role where many r_i are 0.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from polyglot.layers.linear import product, product_type

BLOCK = 512
"""Words of a block on a CPU: their R products r_i·e stay in the cache."""


def mix_roles(roles: Tensor, words: Tensor, matrices: Tensor, *, sparse: bool = False) -> Tensor:
    """Σ_i r_i U_i e of each word.

    roles (..., R), words (..., h), matrices (R·h, h) with the Uᵢᵀ below each other -> (..., h)

    Without `sparse`, it is one product (r ⊗ e)·M. The factor r ⊗ e is R times as large as the
    words; it is not stored, and the backward pass computes it again.

    With `sparse`, many r_i are 0, from dropout or since r is one-hot. Then the words of each role
    are multiplied together, so that a one-hot r costs one product of h×h for a word.
    """
    dtype = product_type(matrices)
    flat_roles = roles.reshape(-1, roles.shape[-1])
    flat_words = words.reshape(-1, words.shape[-1])
    function = _MixRoleByRole if sparse else _MixAtOnce
    mixtures = function.apply(
        flat_roles.to(dtype),
        flat_words.to(dtype),
        matrices.to(dtype),
    )
    return mixtures.view(words.shape)


class _MixAtOnce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, roles: Tensor, words: Tensor, matrices: Tensor) -> Tensor:
        ctx.save_for_backward(roles, words, matrices)
        columns = matrices.t()
        outputs = []
        for block_roles, block_words in _blocks(roles, words):
            outputs.append(product(_outer(block_roles, block_words), columns))
        return torch.cat(outputs)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, ...]:
        roles, words, matrices = ctx.saved_tensors
        roles_gradient = torch.empty_like(roles)
        words_gradient = torch.empty_like(words)
        matrices_gradient = torch.zeros_like(matrices)
        # The last two tensors of a block are parts of the results, which it writes.
        blocks = _blocks(roles, words, gradient, roles_gradient, words_gradient)
        size = words.shape[1]
        for block_roles, block_words, block_gradient, roles_result, words_result in blocks:
            # (n, R, h): gradient of each product r_i·e
            products_gradient = product(block_gradient, matrices).unflatten(1, (-1, size))
            torch.bmm(
                products_gradient,
                block_words.unsqueeze(2),
                out=roles_result.unsqueeze(2),
            )
            torch.bmm(
                block_roles.unsqueeze(1),
                products_gradient,
                out=words_result.unsqueeze(1),
            )
            matrices_gradient.addmm_(_outer(block_roles, block_words).t(), block_gradient)
        return roles_gradient, words_gradient, matrices_gradient


class _MixRoleByRole(torch.autograd.Function):
    @staticmethod
    def forward(ctx, roles: Tensor, words: Tensor, matrices: Tensor) -> Tensor:
        ctx.save_for_backward(roles, words, matrices)
        sums = _zero_sums(words)
        for role, rows, matrix in _words_of_roles(roles, matrices):
            weights = roles[rows, role, None]
            weighted = words.index_select(0, rows).mul_(weights)
            sums.index_add_(0, rows, product(weighted, matrix.t()).to(sums.dtype))
        return sums.to(words.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, ...]:
        roles, words, matrices = ctx.saved_tensors
        size = matrices.shape[1]
        roles_gradient = torch.zeros_like(roles)
        words_gradient = _zero_sums(words)
        matrices_gradient = torch.zeros_like(matrices)
        for role, rows, matrix in _words_of_roles(roles, matrices):
            role_gradient = gradient.index_select(0, rows)
            role_words = words.index_select(0, rows)
            weights = roles[rows, role, None]
            products_gradient = product(role_gradient, matrix)  # of each product r_i·e
            roles_gradient[rows, role] = torch.linalg.vecdot(products_gradient, role_words)

            # In place here and below: a new tensor of the size of the words costs time.
            weighted_gradient = products_gradient.mul_(weights)
            words_gradient.index_add_(0, rows, weighted_gradient.to(words_gradient.dtype))
            weighted_words = role_words.mul_(weights)
            start = role * size
            end = start + size
            matrices_gradient[start:end] = weighted_words.t() @ role_gradient
        return roles_gradient, words_gradient.to(words.dtype), matrices_gradient


def _zero_sums(words: Tensor) -> Tensor:
    """Zeros (N, h) for sums over up to R roles; float32 in place of a half precision."""
    is_half_precision = words.dtype.itemsize < 4
    dtype = torch.float32 if is_half_precision else words.dtype
    return torch.zeros_like(words, dtype=dtype)


def _words_of_roles(roles: Tensor, matrices: Tensor) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Iterate over the roles with nonzero weight: number, rows of the words, and matrix Uᵢᵀ.

    A word with weight 0 gets no gradient for the role either.
    """
    is_used = roles.t() != 0  # (R, N)
    numbers, rows = is_used.nonzero(as_tuple=True)
    counts = torch.bincount(numbers, minlength=len(is_used))
    rows_of_roles = rows.split(counts.tolist())
    matrix_of_roles = matrices.split(matrices.shape[1])
    for role, role_rows in enumerate(rows_of_roles):
        if len(role_rows):
            yield role, role_rows, matrix_of_roles[role]


def _outer(roles: Tensor, words: Tensor) -> Tensor:
    """r ⊗ e: (n, R), (n, h) -> (n, R·h)"""
    products = roles.unsqueeze(2) * words.unsqueeze(1)  # (n, R, h)
    return products.flatten(1)


def _blocks(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Split the rows of all tensors alike: into blocks on a CPU, into one block elsewhere."""
    size = BLOCK
    if tensors[0].device.type != "cpu":
        size = max(1, len(tensors[0]))
    blocks = [tensor.split(size) for tensor in tensors]
    return zip(*blocks)
