"""Matrix products in bfloat16 or in 8-bit integers; for translation only, without gradients.

Only the products change. Layer norms, softmax and sums stay in float32, so that rounding errors
stay small.

`int8` is dynamic quantisation: each output has a scale, computed once from the weights, and each
row of the inputs has a scale, computed at each product. So a sentence does not depend on the other
sentences in its batch, and no text is needed for calibration.
"""

from __future__ import annotations

import copy
from typing import Literal, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from polyglot.layers import onednn
from polyglot.layers.onednn import Activation

Precision = Literal["float32", "bf16", "int8"]
PRECISIONS: tuple[Precision, ...] = ("float32", "bf16", "int8")
MINIMUM_SIZE = 32
"""Inputs and outputs that a matrix needs; a smaller product costs less than its conversion."""
LARGEST_INTEGER = 127
"""Largest 8-bit integer: inputs and weights are scaled to ±127."""
SMALLEST_MAXIMUM = 1e-30
"""Lower bound of the largest number of a row, so that a row of zeros causes no division by 0."""


class LowPrecisionMatrix(Protocol):
    """Matrix W (O, I) with a bias (O), prepared once for many products."""

    def __call__(self, inputs: Tensor) -> Tensor:
        """Return W x + b in float32: inputs (N, I) in float32 -> (N, O)."""

    def scaled(self, factors: Tensor) -> LowPrecisionMatrix:
        """Return the matrix whose outputs are multiplied by factors (O)."""


class Bfloat16Matrix:
    """Product of bfloat16 numbers; the sums and the bias are float32."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.original = weight
        self.weight = weight.to(torch.bfloat16)
        self.bias = bias
        self.is_packed = onednn.HAS_BFLOAT16 and weight.device.type == "cpu"
        if self.is_packed:
            self.weight = onednn.pack(self.weight)

    def __call__(self, inputs: Tensor) -> Tensor:
        inputs = inputs.to(torch.bfloat16)
        if self.is_packed:
            outputs = onednn.multiply(inputs, self.weight, None)
        else:
            outputs = functional.linear(inputs, self.weight)
        if self.bias is None:
            return outputs.float()
        return outputs + self.bias  # float32

    def scaled(self, factors: Tensor) -> Bfloat16Matrix:
        bias = None if self.bias is None else self.bias * factors
        return Bfloat16Matrix(self.original * factors.unsqueeze(1), bias)


class Int8Matrix:
    """Product of 8-bit integers; the sums are 32-bit integers."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        largest_weights = weight.abs().amax(dim=1).clamp_(min=SMALLEST_MAXIMUM)
        scales = largest_weights / LARGEST_INTEGER  # (O,)
        integers = (weight / scales.unsqueeze(1)).round_().to(torch.int8)
        self.matrix = onednn.pack_int8(integers, scales)
        self.bias = bias

    def __call__(self, inputs: Tensor) -> Tensor:
        largest_inputs = inputs.abs().amax(dim=1, keepdim=True).clamp_(min=SMALLEST_MAXIMUM)
        scaled = inputs * (LARGEST_INTEGER / largest_inputs)
        outputs = onednn.multiply_int8(scaled, self.matrix)
        # If an input is NaN, its row has the scale NaN, and so have the outputs.
        row_scales = largest_inputs / LARGEST_INTEGER  # (N, 1)
        if self.bias is None:
            return outputs.mul_(row_scales)
        return torch.addcmul(self.bias, outputs, row_scales)

    def scaled(self, factors: Tensor) -> Int8Matrix:
        result = copy.copy(self)
        result.matrix = self.matrix._replace(scales=self.matrix.scales * factors)
        if self.bias is not None:
            result.bias = self.bias * factors
        return result


class LowPrecisionLinear:
    """Linear layer with the interface of `PackedLinear`."""

    def __init__(self, matrix: LowPrecisionMatrix, *, activation: Activation = "none") -> None:
        self.matrix = matrix
        self.activation = activation

    def __call__(self, inputs: Tensor, *, plus: Tensor | None = None) -> Tensor:
        """inputs (..., I) -> (..., O); plus (..., O) is added, only without an activation."""
        assert plus is None or self.activation == "none"
        outputs = self.matrix(inputs.flatten(0, -2))
        outputs = outputs.view(*inputs.shape[:-1], -1)
        if plus is not None:
            return outputs.add_(plus)
        if self.activation == "none":
            return outputs
        return getattr(functional, self.activation)(outputs)


def pack_low_precision(
    weight: Tensor,
    bias: Tensor | None,
    precision: Precision,
) -> LowPrecisionMatrix | None:
    """Convert a matrix (O, I) and a bias (O); None if its products stay in float32."""
    is_small = min(weight.shape) < MINIMUM_SIZE
    if precision == "float32" or is_small or weight.dtype != torch.float32:
        return None
    if precision == "bf16":
        return Bfloat16Matrix(weight, bias)
    return Int8Matrix(weight, bias)


def available_precisions(device: torch.device) -> list[Precision]:
    """Return the precisions that this device computes without loss of speed, slowest first."""
    precisions: list[Precision] = ["float32"]
    if device.type == "cpu":
        has_bfloat16 = onednn.HAS_BFLOAT16
    else:
        has_bfloat16 = device.type == "cuda" and torch.cuda.is_bf16_supported()
    if has_bfloat16:
        precisions.append("bf16")
    if device.type == "cpu" and onednn.HAS_INT8:
        precisions.append("int8")
    return precisions


@torch.no_grad()
def set_precision(model: nn.Module, precision: Precision) -> None:
    """Choose the precision of the products of a model that translates.

    Linear layers are converted now: call it again if their parameters change.
    """
    for module in model.modules():
        if hasattr(module, "precision"):
            module.precision = precision
        if hasattr(module, "low_precision"):
            module.low_precision = pack_low_precision(module.weight, module.bias, precision)
