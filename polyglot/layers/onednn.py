"""Private oneDNN operators of PyTorch, those that torch.compile uses for linear layers.

Tested with torch 2.13. If a version lacks an operator, `AVAILABLE` is False and
`polyglot.layers.linear` uses `torch.nn.functional.linear`.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Activation = Literal["none", "relu", "gelu"]
OPERATORS = ("_linear_pointwise", "_reorder_linear_weight", "_is_mkldnn_bf16_supported")
AVAILABLE = torch.backends.mkldnn.is_available() and all(
    hasattr(torch.ops.mkldnn, operator) for operator in OPERATORS
)
HAS_BFLOAT16 = AVAILABLE and torch.ops.mkldnn._is_mkldnn_bf16_supported()
PACKED_ROWS = 256
"""Hint for packing: the number of rows to expect. Other numbers are as fast."""
CACHE_LINE = 16
"""float32 numbers in a line of the cache."""


def is_faster(inputs: Tensor, weight: Tensor) -> bool:
    """True if oneDNN can compute the product, and is faster than the BLAS; not for empty inputs."""
    return (
        AVAILABLE
        and inputs.device.type == "cpu"
        and inputs.dtype == weight.dtype == torch.float32
        and inputs.numel() > 0
    )


def pack(weight: Tensor) -> Tensor:
    """Copy of a matrix (O, I) in the layout that oneDNN's kernels prefer."""
    if weight.t().is_contiguous():
        weight = _transpose_copy(weight.t())
    return torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), PACKED_ROWS)


def multiply(
    inputs: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    *,
    activation: Activation = "none",
    plus: Tensor | None = None,
) -> Tensor:
    """W x + b + plus, or activation(W x + b). weight: (O, I), packed or plain."""
    if not weight.is_mkldnn and not weight.t().is_contiguous():
        weight = weight.contiguous()  # oneDNN would multiply a slice number by number
    bias = None if bias is None else bias.contiguous()  # oneDNN ignores the strides of a bias
    inputs = inputs.contiguous()
    if plus is not None:
        return torch.ops.mkldnn._linear_pointwise.binary(
            inputs, plus.contiguous(), weight, bias, "add"
        )
    return torch.ops.mkldnn._linear_pointwise(inputs, weight, bias, activation, [], "none")


def _transpose_copy(matrix: Tensor) -> Tensor:
    """Transposed copy, by way of rows that are an odd number of cache lines apart.

    With rows a power of two apart, all numbers of a column would share a few cache lines.
    """
    lines = -(-matrix.shape[1] // CACHE_LINE)
    row_length = CACHE_LINE * (lines + 1 - lines % 2)
    spaced = matrix.new_empty(len(matrix), row_length)[:, : matrix.shape[1]]
    return spaced.copy_(matrix).t().contiguous()
