"""A matrix, or one of each sentence, that is used once a step of a long recurrence and gets its gradient in one product at the end.

Autograd would form a gradient of the matrix's full size at every step and add them up: for small batches, mostly traffic
through memory. Here each step only keeps what it read and what came back, and one product over all steps makes the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from polyglot.layers.linear import LaidOut, product_type


class DeferredLinear:
    """x -> W x + b for many x, one after the other; W may be given in parts that stand side by side, [W_1 W_2 …]."""

    def __init__(self, *parts: Tensor, bias: Tensor | None = None) -> None:
        """parts: each (O, I_p), of a matrix (O, I); or one (B, O, I), a matrix of each sentence, without bias. bias (O) or none"""
        self.matrix = _Matrix(parts, bias)
        # Every step depends on the ticket and the ticket on the matrix: autograd comes back to it when all steps are done.
        self.ticket = _Collect.apply(self.matrix, bias, *parts) if torch.is_grad_enabled() else None

    def __call__(self, inputs: Tensor, *, plus: Tensor | None = None) -> Tensor:
        """inputs (N, I), plus (N, O) that is added -> (N, O); of sentences (B, M, I) -> (B, M, O)"""
        return (
            self.matrix.product(inputs, plus)
            if self.ticket is None
            else _Step.apply(inputs, plus, self.ticket, self.matrix)
        )


class _Matrix:
    """What the steps share. It does not know the ticket: a circle would keep it alive long after its step."""

    def __init__(self, parts: Sequence[Tensor], bias: Tensor | None) -> None:
        assert parts[0].dim() == 2 or (len(parts) == 1 and bias is None)
        weight = (
            parts[0].detach()
            if len(parts) == 1
            else torch.cat([part.detach() for part in parts], dim=1)
        )
        self.dtype = product_type(weight)
        weight = weight.to(self.dtype)
        bias = None if bias is None else bias.detach().to(self.dtype)
        self.there = _OfSentences(weight) if weight.dim() == 3 else LaidOut(weight, bias)
        self.back = None
        if torch.is_grad_enabled():
            self.back = _OfSentences(weight.mT) if weight.dim() == 3 else LaidOut(weight.t())
        self.inputs: list[Tensor] = []
        self.gradients: list[Tensor] = []
        self.backward_pass = -1

    def product(self, inputs: Tensor, plus: Tensor | None) -> Tensor:
        return self.there(inputs.to(self.dtype), plus=None if plus is None else plus.to(self.dtype))

    def keep(self, inputs: Tensor, gradient: Tensor) -> None:
        """Keep a step for the one product, and forget what a backward pass left that never came to the matrix."""
        current = torch._C._current_graph_task_id()
        if current != self.backward_pass:
            self.backward_pass, self.inputs, self.gradients = current, [], []
        self.inputs.append(inputs)
        self.gradients.append(gradient)

    def collect(self) -> tuple[Tensor, Tensor]:
        """All inputs (T·N, I) and gradients (T·N, O), one below the other; of sentences (B, T·M, I) and (B, T·M, O)."""
        (inputs, self.inputs), (gradients, self.gradients) = (self.inputs, []), (self.gradients, [])
        return torch.cat(inputs, dim=-2), torch.cat(gradients, dim=-2)


class _OfSentences:
    """A matrix of each sentence, as `LaidOut` is one of all."""

    def __init__(self, matrices: Tensor) -> None:
        self.matrices = matrices.mT

    def __call__(self, inputs: Tensor, *, plus: Tensor | None = None) -> Tensor:
        outputs = inputs @ self.matrices
        return outputs if plus is None else outputs + plus


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx, inputs: Tensor, plus: Tensor | None, ticket: Tensor, matrix: _Matrix
    ) -> Tensor:  # noqa: ANN001
        ctx.matrix, ctx.plus = matrix, plus is not None
        ctx.save_for_backward(inputs)
        return matrix.product(inputs, plus)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN001
        ctx.matrix.keep(*ctx.saved_tensors, gradient)
        return (
            ctx.matrix.back(gradient),
            gradient if ctx.plus else None,
            gradient.new_zeros(()),
            None,
        )


class _Collect(torch.autograd.Function):
    @staticmethod
    def forward(ctx, matrix: _Matrix, bias: Tensor | None, *parts: Tensor) -> Tensor:  # noqa: ANN001
        ctx.matrix, ctx.bias_dtype, ctx.widths = (
            matrix,
            None if bias is None else bias.dtype,
            [part.shape[-1] for part in parts],
        )
        return parts[0].new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN001
        inputs, gradients = ctx.matrix.collect()
        bias = None if ctx.bias_dtype is None else gradients.sum(dim=0, dtype=ctx.bias_dtype)
        return (
            None,
            bias,
            *(gradients.mT @ part for part in inputs.to(gradients.dtype).split(ctx.widths, dim=-1)),
        )
