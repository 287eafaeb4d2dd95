"""Private oneDNN operators of PyTorch, those that torch.compile uses for linear layers.

Tested with torch 2.13. If a version lacks an operator, `AVAILABLE` is False and
`polyglot.layers.linear` uses `torch.nn.functional.linear`. Without the operators for 8-bit integers
`HAS_INT8` is False, and translation in `int8` is refused.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor

Activation = Literal["none", "relu", "gelu"]
OPERATORS = ("_linear_pointwise", "_reorder_linear_weight", "_is_mkldnn_bf16_supported")
AVAILABLE = torch.backends.mkldnn.is_available() and all(
    hasattr(torch.ops.mkldnn, operator) for operator in OPERATORS
)
HAS_BFLOAT16 = AVAILABLE and torch.ops.mkldnn._is_mkldnn_bf16_supported()
INT8_OPERATORS = ("qlinear_prepack", "qlinear_pointwise")
# VNNI: instructions that add products of 8-bit integers in 32 bits. Processors without them add
# pairs of products in 16 bits, which overflow.
HAS_INT8 = (
    AVAILABLE
    and all(hasattr(torch.ops.onednn, operator) for operator in INT8_OPERATORS)
    and getattr(torch.cpu, "_is_vnni_supported", lambda: False)()
)
PACKED_ROWS = 256
"""Hint for packing: the number of rows to expect. Other numbers are as fast."""
CACHE_LINE = 16
"""float32 numbers in a line of the cache."""
INT8_ZERO = 128
"""Number that stands for 0 in the inputs of a product of 8-bit integers, which are unsigned."""


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
        # For a matrix with gaps between its rows, oneDNN would use its slowest kernel.
        weight = weight.contiguous()
    bias = None if bias is None else bias.contiguous()  # oneDNN ignores the strides of a bias
    inputs = inputs.contiguous()
    if plus is not None:
        return torch.ops.mkldnn._linear_pointwise.binary(
            inputs, plus.contiguous(), weight, bias, "add"
        )
    return torch.ops.mkldnn._linear_pointwise(inputs, weight, bias, activation, [], "none")


class Int8Weights(NamedTuple):
    """Matrix of 8-bit integers with a scale for each output."""

    packed: Tensor
    scales: Tensor
    """(O,)"""
    zeros: Tensor
    """(O,) number that stands for 0: always 0"""


def pack_int8(integers: Tensor, scales: Tensor) -> Int8Weights:
    """Prepare a matrix of integers (O, I) with a scale (O) for each output."""
    packed = torch.ops.onednn.qlinear_prepack(integers.contiguous(), [PACKED_ROWS, len(integers)])
    zeros = torch.zeros(len(integers), dtype=torch.int32)
    return Int8Weights(packed, scales, zeros)


def multiply_int8(inputs: Tensor, weights: Int8Weights) -> Tensor:
    """Round inputs (N, I) to integers, and multiply. Inputs within ±127 -> (N, O) in float32."""
    # Conversion to int16 cuts off the fraction, so adding 0.5 rounds. The direct conversion from
    # float to uint8 is slow: PyTorch converts the numbers one by one.
    shifted = inputs.add(INT8_ZERO + 0.5).to(torch.int16).to(torch.uint8)
    return multiply_unsigned(shifted, weights)


def multiply_unsigned(inputs: Tensor, weights: Int8Weights) -> Tensor:
    """Multiply inputs (N, I), integers 1 … 255 for -127 … 127 -> (N, O) in float32."""
    return torch.ops.onednn.qlinear_pointwise(
        inputs,
        1.0,  # scale of the inputs
        INT8_ZERO,
        weights.packed,
        weights.scales,
        weights.zeros,
        None,  # bias
        1.0,  # scale of the outputs
        0,  # number that stands for 0 in the outputs
        torch.float32,
        "none",  # activation
        [],  # arguments of the activation
        "none",  # algorithm of the activation
    )


def _transpose_copy(matrix: Tensor) -> Tensor:
    """Transposed copy of a matrix, made in two steps.

    The first copy has an odd number of cache lines in each row. If it were a power of two, all
    numbers of a column would share a few cache lines, and reading a column would be slow.
    """
    lines = math.ceil(matrix.shape[1] / CACHE_LINE)
    is_even = lines % 2 == 0
    odd_lines = lines + 1 if is_even else lines
    row_length = CACHE_LINE * odd_lines
    spaced = matrix.new_empty(len(matrix), row_length)[:, : matrix.shape[1]]
    return spaced.copy_(matrix).t().contiguous()
