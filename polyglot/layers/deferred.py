"""A matrix that is used once a step of a long recurrence, and gets its gradient in one product at the end.

Autograd would form a gradient of the matrix's full size at every step and add them up: for small batches, mostly traffic
through memory. Here each step only keeps what it read and what came back, and one product over all steps makes the gradient.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from polyglot.layers.linear import LaidOut


class DeferredLinear:
    """x -> W x + b for many x, one after the other."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        """weight (O, I), bias (O) or none"""
        self.matrix = _Matrix(weight, bias)
        # Every step depends on the ticket and the ticket on the matrix: autograd comes back to it when all steps are done.
        self.ticket = _Collect.apply(weight, bias, self.matrix) if torch.is_grad_enabled() else None

    def __call__(self, inputs: Tensor) -> Tensor:
        """inputs (N, I) -> (N, O)"""
        return self.matrix.product(inputs) if self.ticket is None else _Step.apply(inputs, self.ticket, self.matrix)


class _Matrix:
    """What the steps share. It does not know the ticket: a circle would keep it alive long after its step."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        device = weight.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weight.dtype
        self.dtype, weight = dtype, weight.detach().to(dtype)
        self.there = LaidOut(weight, None if bias is None else bias.detach().to(dtype))
        self.back = LaidOut(weight.t()) if torch.is_grad_enabled() else None
        self.inputs: list[Tensor] = []
        self.gradients: list[Tensor] = []
        self.backward_pass = -1

    def product(self, inputs: Tensor) -> Tensor:
        return self.there(inputs.to(self.dtype))

    def keep(self, inputs: Tensor, gradient: Tensor) -> None:
        """Keep a step for the one product, and forget what a backward pass left that never came to the matrix."""
        current = torch._C._current_graph_task_id()
        if current != self.backward_pass:
            self.backward_pass, self.inputs, self.gradients = current, [], []
        self.inputs.append(inputs)
        self.gradients.append(gradient)

    def collect(self) -> tuple[Tensor, Tensor]:
        """All inputs (T·N, I) and gradients (T·N, O), one below the other."""
        (inputs, self.inputs), (gradients, self.gradients) = (self.inputs, []), (self.gradients, [])
        return torch.cat(inputs), torch.cat(gradients)


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs: Tensor, ticket: Tensor, matrix: _Matrix) -> Tensor:  # noqa: ANN001
        ctx.matrix = matrix
        ctx.save_for_backward(inputs)
        return matrix.product(inputs)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, Tensor, None]:  # noqa: ANN001
        ctx.matrix.keep(*ctx.saved_tensors, gradient)
        return ctx.matrix.back(gradient), gradient.new_zeros(()), None


class _Collect(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight: Tensor, bias: Tensor | None, matrix: _Matrix) -> Tensor:  # noqa: ANN001
        ctx.matrix, ctx.bias_dtype = matrix, None if bias is None else bias.dtype
        return weight.new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN001
        inputs, gradients = ctx.matrix.collect()
        bias = None if ctx.bias_dtype is None else gradients.sum(dim=0, dtype=ctx.bias_dtype)
        return gradients.t() @ inputs.to(gradients.dtype), bias, None
