"""A matrix that is used once a step of a long recurrence, and gets its gradient in one product at the end.

Autograd would form a gradient of the matrix's full size at every step and add them up: for small batches, mostly traffic
through memory. Here each step only keeps what it read and what came back, and one product over all steps makes the gradient.
"""

from __future__ import annotations

import torch
from torch import Tensor


class DeferredLinear:
    """x -> x W + b for many x, one after the other. Inputs (N, I), weight (I, O), bias (O) -> (N, O)"""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        self.weight, self.bias = weight, bias
        self.inputs: list[Tensor] = []
        self.gradients: list[Tensor] = []
        # Every step depends on the ticket and the ticket on the matrix: autograd comes back to it when all steps are done.
        self.ticket = _Collect.apply(weight, bias, self) if torch.is_grad_enabled() else None

    def __call__(self, inputs: Tensor) -> Tensor:
        if self.ticket is None:
            return torch.addmm(self.bias, inputs, self.weight)
        return _Step.apply(inputs, self.ticket, self)


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs: Tensor, ticket: Tensor, linear: DeferredLinear) -> Tensor:  # noqa: ANN001
        ctx.linear = linear
        ctx.save_for_backward(inputs)
        return torch.addmm(linear.bias, inputs, linear.weight)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, Tensor, None]:  # noqa: ANN001
        linear = ctx.linear
        linear.inputs.append(*ctx.saved_tensors)
        linear.gradients.append(gradient)
        return gradient @ linear.weight.t().to(gradient.dtype), gradient.new_zeros(()), None


class _Collect(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight: Tensor, bias: Tensor, linear: DeferredLinear) -> Tensor:  # noqa: ANN001
        ctx.linear = linear
        return weight.new_zeros(())

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, Tensor, None]:  # noqa: ANN001
        linear = ctx.linear
        inputs, gradients = torch.cat(linear.inputs), torch.cat(linear.gradients)
        linear.inputs, linear.gradients = [], []
        return inputs.t().to(gradients.dtype) @ gradients, gradients.sum(dim=0), None
