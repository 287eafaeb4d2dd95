"""Matrix products over rows of states, by oneDNN where that is fastest: float32 on a CPU, and bfloat16 in numbers of rows that come again.

For products of float32 PyTorch calls the BLAS it was built with. oneDNN's kernels are faster, the fewer the rows the more, and most of
all with the matrix laid out in advance; `evaluation/benchmarks/speed.py --only products` shows by how much on a machine. Those of
bfloat16 PyTorch has oneDNN make, but with the bias in a pass of its own, and with a kernel that is compiled for each number of rows that
comes by; that takes longer than the product of a narrow layer, and no two batches have as many words.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

KERNELS = (
    "_linear_pointwise",
    "_reorder_linear_weight",
    "_is_mkldnn_bf16_supported",
)  # what torch.compile uses
ONEDNN = torch.backends.mkldnn.is_available() and all(
    hasattr(torch.ops.mkldnn, kernel) for kernel in KERNELS
)
ROWS = 256
"""Rows that a matrix is laid out for: a hint that has to be given; other numbers are multiplied as fast."""
BFLOAT16 = ONEDNN and torch.ops.mkldnn._is_mkldnn_bf16_supported()
FEW_ROWS = 256
"""Up to so many are multiplied as they are: few rows are those of a step, as many as at the step before."""
CASTED = (torch.float32, torch.bfloat16, torch.float16)
"""Types that autocast changes; it leaves float64 and whole numbers as they are."""
LINE = 16
"""float32 numbers in a line of the cache"""
Activation = Literal["none", "relu", "gelu"]


class Linear(nn.Linear):
    """`nn.Linear` with `linear` inside: the same parameters, the same numbers and gradients up to rounding."""

    def forward(self, inputs: Tensor) -> Tensor:
        """inputs (..., I) -> (..., O)"""
        return linear(inputs, self.weight, self.bias)


def linear(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x -> W x + b, differentiable once. inputs (..., I), weight (O, I), bias (O) -> (..., O)"""
    kind = product_type(inputs)
    if _needs_even(inputs, kind) and all(
        each is None or product_type(each) == kind for each in (weight, bias)
    ):
        rows = inputs.reshape(-1, inputs.shape[-1])
        outputs = _Linear.apply(
            even_rows(rows, kind), weight.to(kind), None if bias is None else bias.to(kind)
        )
        return outputs[: len(rows)].view(*inputs.shape[:-1], len(weight))
    if not _fits(inputs, weight) or torch.is_autocast_enabled("cpu"):
        return functional.linear(inputs, weight, bias)
    return _Linear.apply(inputs, weight, bias)


def product_type(tensor: Tensor) -> torch.dtype:
    """The type that products with a tensor are made in: autocast's where it is on and casts tensors of this type, else the tensor's own."""
    device = tensor.device.type
    if (
        tensor.dtype not in CASTED
        or not torch.amp.is_autocast_available(device)
        or not torch.is_autocast_enabled(device)
    ):
        return tensor.dtype
    return torch.get_autocast_dtype(device)


def even_rows(rows: Tensor, kind: torch.dtype) -> Tensor:
    """rows (N, I) in that type; where oneDNN would compile a kernel for N, with zeros up to one of four numbers between two powers of two.

    -> (N', I), N' ≤ 1.25 N
    """
    if not _needs_even(rows, kind):
        return rows.to(kind)
    step = 1 << ((len(rows) - 1).bit_length() - 3)
    return functional.pad(rows.to(kind), (0, 0, 0, -len(rows) % step))


def product(
    inputs: Tensor, weight: Tensor, bias: Tensor | None = None, *, plus: Tensor | None = None
) -> Tensor:
    """The same for tensors of one type, outside of autograd and autocast; `plus` (..., O) is added."""
    of_one_type = all(each is None or each.dtype == weight.dtype for each in (inputs, bias, plus))
    if _fits(inputs, weight) or (of_one_type and _needs_even(inputs, weight.dtype)):
        return _multiply(inputs, weight, bias, plus=plus)
    outputs = functional.linear(inputs, weight, bias)
    return outputs if plus is None else outputs + plus


class LaidOut:
    """A matrix laid out once for many products, without gradients."""

    def __init__(
        self, weight: Tensor, bias: Tensor | None = None, *, activation: Activation = "none"
    ) -> None:
        """weight (O, I), bias (O) or none, of one type. activation: of the product, on the way to memory where oneDNN computes it"""
        self.bias, self.activation = bias, activation
        self.onednn = _fits(weight, weight)
        self.weight = _laid_out(weight) if self.onednn else weight.contiguous()

    def __call__(self, inputs: Tensor, *, plus: Tensor | None = None) -> Tensor:
        """inputs (..., I), plus (..., O) that is added, where there is no activation -> (..., O)"""
        assert plus is None or self.activation == "none"
        if self.onednn:
            if (
                self.activation == "relu"
            ):  # oneDNN's makes 0 of what is no number, and nobody would notice a spoilt model
                return _multiply(inputs, self.weight, self.bias).relu_()
            return _multiply(inputs, self.weight, self.bias, activation=self.activation, plus=plus)
        outputs = product(inputs, self.weight, self.bias, plus=plus)
        return (
            outputs if self.activation == "none" else getattr(functional, self.activation)(outputs)
        )


class RowsOfSentences:
    """Some rows of a matrix for each of B sentences: its few words, where those of all together would be many."""

    def __init__(self, weight: Tensor, bias: Tensor, rows: Tensor) -> None:
        """weight (O, I), bias (O), rows (B, U)"""
        self.weight, self.bias = weight[rows], bias[rows].unsqueeze(1)
        self.there = torch.arange(len(rows), device=rows.device)

    def __call__(self, inputs: Tensor) -> Tensor:
        """inputs (B·M, I), those of a sentence side by side -> (B·M, U)"""
        inputs = inputs.unflatten(0, (len(self.there), -1))
        if len(self.there) == len(self.weight):
            return torch.baddbmm(self.bias, inputs, self.weight.transpose(1, 2)).flatten(0, 1)
        every = inputs.new_zeros(len(self.weight), *inputs.shape[1:]).index_copy_(
            0, self.there, inputs
        )
        return (
            torch.baddbmm(self.bias, every, self.weight.transpose(1, 2))
            .index_select(0, self.there)
            .flatten(0, 1)
        )

    def select(self, sentences: Tensor) -> RowsOfSentences:
        """Those of the sentences that stay. sentences (B',)

        The rows are copied only when half of their sentences have gone: until then it is cheaper to multiply some in vain.
        """
        result = RowsOfSentences.__new__(RowsOfSentences)
        result.weight, result.bias, result.there = (
            self.weight,
            self.bias,
            self.there.index_select(0, sentences),
        )
        if 2 * len(result.there) <= len(self.weight):
            result.weight, result.bias = (
                self.weight.index_select(0, result.there),
                self.bias.index_select(0, result.there),
            )
            result.there = torch.arange(len(result.there), device=sentences.device)
        return result


def _fits(inputs: Tensor, weight: Tensor) -> bool:
    """Whether oneDNN is the faster one for this product, and can do it: not with nothing in the rows, or no rows."""
    return (
        ONEDNN
        and inputs.device.type == "cpu"
        and inputs.dtype == weight.dtype == torch.float32
        and inputs.numel() > 0
    )


def _needs_even(inputs: Tensor, kind: torch.dtype) -> bool:
    """Whether a kernel would be compiled for just this number of rows. inputs (..., I)"""
    return (
        BFLOAT16
        and inputs.device.type == "cpu"
        and kind == torch.bfloat16
        and inputs.numel() > FEW_ROWS * inputs.shape[-1]
    )


def _laid_out(weight: Tensor) -> Tensor:
    return torch.ops.mkldnn._reorder_linear_weight(
        _transposed(weight.t()) if weight.t().is_contiguous() else weight.contiguous(), ROWS
    )


def _transposed(matrix: Tensor) -> Tensor:
    """Its transposed copy, by way of rows an odd number of cache lines apart: a power of two apart, a column's numbers would all be kept
    in the same few lines."""
    width = -(-matrix.shape[1] // LINE)
    apart = matrix.new_empty(len(matrix), LINE * (width + 1 - width % 2))[:, : matrix.shape[1]]
    return apart.copy_(matrix).t().contiguous()


def _multiply(
    inputs: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    *,
    activation: Activation = "none",
    plus: Tensor | None = None,
) -> Tensor:
    if not weight.is_mkldnn and not weight.t().is_contiguous():
        weight = weight.contiguous()  # a slice of a matrix would be multiplied number by number
    bias = None if bias is None else bias.contiguous()  # its strides would be overlooked
    if plus is not None:
        return torch.ops.mkldnn._linear_pointwise.binary(
            inputs.contiguous(), plus.contiguous(), weight, bias, "add"
        )
    return torch.ops.mkldnn._linear_pointwise(
        inputs.contiguous(), weight, bias, activation, [], "none"
    )


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:  # noqa: ANN001
        ctx.save_for_backward(inputs, weight)
        return _multiply(inputs, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN001
        inputs, weight = ctx.saved_tensors
        for_inputs, for_weight, for_bias = ctx.needs_input_grad
        rows = gradient.reshape(-1, gradient.shape[-1])
        return (
            product(gradient, weight.t()) if for_inputs else None,
            rows.t() @ inputs.reshape(-1, inputs.shape[-1])
            if for_weight
            else None,  # a sum over many rows: here the BLAS is faster
            rows.sum(dim=0) if for_bias else None,
        )


def resize(size: int, wanted: int) -> nn.Module:
    """Projection between two state sizes; the identity where they are equal."""
    return nn.Identity() if size == wanted else Linear(size, wanted)
