"""Matrix products over rows of states, in oneDNN where it is fastest.

float32 on a CPU: PyTorch calls the BLAS that it was built with. oneDNN's kernels are faster, above
all for few rows and with a packed matrix (`evaluation/benchmarks/products.py --only linear`).

bfloat16 on a CPU: PyTorch calls oneDNN, but adds the bias in a separate pass, and oneDNN compiles
a kernel for each new number of rows. That takes longer than the product of a narrow layer, and two
batches rarely have the same number of words. So the number of rows is padded (`pad_rows`).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from polyglot.layers import autocast, onednn
from polyglot.layers.low_precision import (
    LowPrecisionLinear,
    LowPrecisionMatrix,
    Precision,
    pack_low_precision,
)
from polyglot.layers.onednn import Activation

FEW_ROWS = 256
"""Products with up to this number of rows are not padded. They come from steps of a recurrence or
of a search, and the next step has the same number of rows, so that its kernel exists."""
AUTOCAST_TYPES = (torch.float32, torch.bfloat16, torch.float16)
"""Types that autocast changes; it leaves float64 and whole numbers alone."""


class Linear(nn.Linear):
    """`nn.Linear` computed by `linear`: same parameters, same values up to rounding."""

    precision: Precision = "float32"
    """Precision of products without gradients (`low_precision.set_precision`)."""
    low_precision: LowPrecisionMatrix | None = None
    """Matrix of these products; None in float32."""

    def forward(self, inputs: Tensor) -> Tensor:
        """inputs (..., I) -> (..., O)"""
        if self.low_precision is None or torch.is_grad_enabled():
            return linear(inputs, self.weight, self.bias)
        return LowPrecisionLinear(self.low_precision)(inputs)


def linear(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x -> W x + b, differentiable once. inputs (..., I), weight (O, I), bias (O) -> (..., O)"""
    dtype = product_type(inputs)
    same_type = product_type(weight) == dtype
    if bias is not None:
        same_type = same_type and product_type(bias) == dtype
    if same_type and _needs_padding(inputs, dtype):
        rows = inputs.reshape(-1, inputs.shape[-1])
        padded = pad_rows(rows, dtype)
        if bias is not None:
            bias = bias.to(dtype)
        outputs = _LinearFunction.apply(padded, weight.to(dtype), bias)
        outputs = outputs[: len(rows)]
        return outputs.view(*inputs.shape[:-1], len(weight))
    if not onednn.is_faster(inputs, weight) or torch.is_autocast_enabled("cpu"):
        return functional.linear(inputs, weight, bias)
    return _LinearFunction.apply(inputs, weight, bias)


def product_type(tensor: Tensor) -> torch.dtype:
    """Type of products with a tensor: autocast's type if it applies, otherwise its own type."""
    if tensor.dtype not in AUTOCAST_TYPES:
        return tensor.dtype
    return autocast.autocast_type(tensor.device.type) or tensor.dtype


def pad_rows(rows: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert rows (N, I) to a type, and pad them with zeros where oneDNN compiles a kernel for N.

    There are four padded sizes between two powers of two, so N' ≤ 1.25 N. -> (N', I)
    """
    converted = rows.to(dtype)
    if not _needs_padding(rows, dtype):
        return converted
    bits = (len(rows) - 1).bit_length()
    step = 1 << (bits - 3)
    additional_rows = -len(rows) % step
    return functional.pad(converted, (0, 0, 0, additional_rows))


def product(
    inputs: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    plus: Tensor | None = None,
) -> Tensor:
    """W x + b + plus for tensors of one type, without autograd and autocast; plus (..., O)."""
    same_type = True
    for tensor in (inputs, bias, plus):
        if tensor is not None and tensor.dtype != weight.dtype:
            same_type = False
    use_onednn = onednn.is_faster(inputs, weight)
    if use_onednn or (same_type and _needs_padding(inputs, weight.dtype)):
        return onednn.multiply(inputs, weight, bias, plus=plus)
    outputs = functional.linear(inputs, weight, bias)
    if plus is None:
        return outputs
    return outputs + plus


class PackedLinear:
    """Linear layer without gradients.

    Its matrix is prepared once (memory layout) for many products.
    """

    def __init__(
        self,
        weight: Tensor,
        bias: Tensor | None = None,
        *,
        activation: Activation = "none",
    ) -> None:
        """Pack weight (O, I) and bias (O), both of one type.

        activation: applied to the product, inside the kernel where oneDNN offers it.
        """
        self.bias = bias
        self.activation = activation
        # The inputs are not known yet; they will have the device and the type of the weight.
        self.is_packed = onednn.is_faster(weight, weight)
        if self.is_packed:
            self.weight = onednn.pack(weight)
        else:
            self.weight = weight.contiguous()

    def __call__(self, inputs: Tensor, *, plus: Tensor | None = None) -> Tensor:
        """inputs (..., I) -> (..., O); plus (..., O) is added, only without an activation."""
        assert plus is None or self.activation == "none"
        if not self.is_packed:
            outputs = product(inputs, self.weight, self.bias, plus=plus)
            if self.activation == "none":
                return outputs
            return getattr(functional, self.activation)(outputs)
        if self.activation == "relu":
            # oneDNN's ReLU turns NaN into 0, which would hide a damaged model.
            outputs = onednn.multiply(inputs, self.weight, self.bias)
            return outputs.relu_()
        return onednn.multiply(
            inputs,
            self.weight,
            self.bias,
            activation=self.activation,
            plus=plus,
        )


def pack_matrix(
    weight: Tensor,
    bias: Tensor | None,
    precision: Precision,
) -> PackedLinear | LowPrecisionLinear:
    """Prepare a matrix (O, I) for many products of a precision."""
    matrix = pack_low_precision(weight, bias, precision)
    if matrix is None:
        return PackedLinear(weight, bias)
    return LowPrecisionLinear(matrix)


def pack_layer(
    layer: Linear,
    *,
    factors: Tensor | None = None,
    activation: Activation = "none",
) -> PackedLinear | LowPrecisionLinear:
    """Prepare a layer for many products of its precision.

    factors: (O) multiply the outputs, before the activation.
    """
    if layer.low_precision is not None:
        matrix = layer.low_precision
        if factors is not None:
            matrix = matrix.scaled(factors)
        return LowPrecisionLinear(matrix, activation=activation)
    weight = layer.weight
    bias = layer.bias
    if factors is not None:
        weight = weight * factors.unsqueeze(1)
        bias = bias * factors
    return PackedLinear(weight, bias, activation=activation)


def _needs_padding(inputs: Tensor, dtype: torch.dtype) -> bool:
    """True if oneDNN would compile a kernel for this number of rows. inputs (..., I)"""
    return (
        onednn.HAS_BFLOAT16
        and inputs.device.type == "cpu"
        and dtype == torch.bfloat16
        and inputs.numel() > FEW_ROWS * inputs.shape[-1]
    )


class _LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        return onednn.multiply(inputs, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight = ctx.saved_tensors
        needs_inputs, needs_weight, needs_bias = ctx.needs_input_grad
        gradient_rows = gradient.reshape(-1, gradient.shape[-1])
        input_gradient = None
        weight_gradient = None
        bias_gradient = None
        if needs_inputs:
            input_gradient = product(gradient, weight.t())
        if needs_weight:
            # A sum over many rows: here the BLAS is faster.
            input_rows = inputs.reshape(-1, inputs.shape[-1])
            weight_gradient = gradient_rows.t() @ input_rows
        if needs_bias:
            bias_gradient = gradient_rows.sum(dim=0)
        return input_gradient, weight_gradient, bias_gradient


def resize(size: int, wanted: int) -> nn.Module:
    """Projection between two state sizes; the identity where they are equal."""
    if size == wanted:
        return nn.Identity()
    return Linear(size, wanted)
