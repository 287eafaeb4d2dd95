"""Matrix products over rows of states, by oneDNN where that is fastest: float32 on a CPU.

For such products PyTorch calls the BLAS it was built with. Its oneDNN kernels take a tenth less time for a thousand rows, a fifth
less for sixty, and with the matrix laid out in advance a small part of it for the few rows of a decoding step.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
ROWS = 256
"""Rows that a matrix is laid out for; it can be multiplied by any number."""


class Linear(nn.Linear):
    """`nn.Linear` with `linear` inside: the same parameters, the same numbers up to rounding."""

    def forward(self, inputs: Tensor) -> Tensor:
        """inputs (..., I) -> (..., O)"""
        return linear(inputs, self.weight, self.bias)


def linear(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x -> W x + b. inputs (..., I), weight (O, I), bias (O) -> (..., O)"""
    if not _fits(inputs, weight) or torch.is_autocast_enabled("cpu"):
        return functional.linear(inputs, weight, bias)
    return _Linear.apply(inputs, weight, bias)


def product(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """The same for tensors of one type, outside of autograd and autocast."""
    return _multiply(inputs, weight, bias) if _fits(inputs, weight) else functional.linear(inputs, weight, bias)


class LaidOut:
    """A matrix laid out once for many products, without gradients."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        """weight (O, I), bias (O) or none, of one type"""
        self.bias = bias
        self.onednn = _fits(weight, weight)
        self.weight = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), ROWS) if self.onednn else weight.contiguous()

    def __call__(self, inputs: Tensor) -> Tensor:
        """inputs (..., I) -> (..., O)"""
        return _multiply(inputs, self.weight, self.bias) if self.onednn else functional.linear(inputs, self.weight, self.bias)


def _fits(inputs: Tensor, weight: Tensor) -> bool:
    """Whether oneDNN is the faster one for this product, and can do it."""
    return ONEDNN and inputs.device.type == "cpu" and inputs.dtype == weight.dtype == torch.float32 and inputs.numel() > 0


def _multiply(inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if not weight.is_mkldnn and not weight.t().is_contiguous():
        weight = weight.contiguous()  # a slice of a matrix would be multiplied number by number
    return torch.ops.mkldnn._linear_pointwise(inputs.contiguous(), weight, bias, "none", [], "")


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:  # noqa: ANN001
        ctx.save_for_backward(inputs, weight)
        return _multiply(inputs, weight, bias)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN001
        inputs, weight = ctx.saved_tensors
        for_inputs, for_weight, for_bias = ctx.needs_input_grad
        rows = gradient.flatten(0, -2)
        return (
            product(gradient, weight.t()) if for_inputs else None,
            rows.t() @ inputs.flatten(0, -2) if for_weight else None,  # few rows and many columns: there the BLAS is faster
            rows.sum(dim=0) if for_bias else None,
        )
