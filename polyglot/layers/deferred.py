"""A matrix that is used once a step of a long recurrence, and gets its gradient in one product at the end.

Autograd would form a gradient of the matrix's full size at every step and add them up: for small batches, mostly traffic
through memory. Here each step only keeps what it read and what came back, and one product over all steps makes the gradient.

Sentences stand in columns: of a matrix and a few columns, the threads share out the rows of the matrix. With sentences in rows
they would share out what there is little of, and be a third slower.
"""

from __future__ import annotations

import torch
from torch import Tensor


class DeferredLinear:
    """x -> W x + b for many x, one after the other. Inputs (I, N), weight (O, I), bias (O) or none -> (O, N)"""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self.weight = weight
        self.bias = None if bias is None else bias.unsqueeze(1)
        # Laid out for its own product: the way back goes through it as often as the way there.
        self.transposed = weight.detach().t().contiguous() if torch.is_grad_enabled() else None
        self.inputs: list[Tensor] = []
        self.gradients: list[Tensor] = []
        # Every step depends on the ticket and the ticket on the matrix: autograd comes back to it when all steps are done.
        self.ticket = _Collect.apply(weight, bias, self) if torch.is_grad_enabled() else None

    def __call__(self, inputs: Tensor) -> Tensor:
        return self.product(inputs) if self.ticket is None else _Step.apply(inputs, self.ticket, self)

    def product(self, inputs: Tensor) -> Tensor:
        return self.weight @ inputs if self.bias is None else torch.addmm(self.bias, self.weight, inputs)


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs: Tensor, ticket: Tensor, linear: DeferredLinear) -> Tensor:  # noqa: ANN001
        ctx.linear = linear
        ctx.save_for_backward(inputs)
        return linear.product(inputs)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, Tensor, None]:  # noqa: ANN001
        linear = ctx.linear
        linear.inputs.append(*ctx.saved_tensors)
        linear.gradients.append(gradient)
        return linear.transposed.to(gradient.dtype) @ gradient, gradient.new_zeros(()), None


class _Collect(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight: Tensor, bias: Tensor | None, linear: DeferredLinear) -> Tensor:  # noqa: ANN001
        ctx.linear, ctx.biased = linear, bias is not None
        return weight.new_zeros(())

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN001
        linear = ctx.linear
        inputs, gradients = torch.cat(linear.inputs, dim=1), torch.cat(linear.gradients, dim=1)
        linear.inputs, linear.gradients = [], []
        return gradients @ inputs.t().to(gradients.dtype), gradients.sum(dim=1) if ctx.biased else None, None


class Turned(torch.autograd.Function):
    """Rows to columns or back, contiguous on the way back as well: products of small matrices crawl over strides. (N, D) -> (D, N)"""

    @staticmethod
    def forward(ctx, states: Tensor) -> Tensor:  # noqa: ANN001
        return states.t().contiguous()

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:  # noqa: ANN001
        return gradient.t().contiguous()


def turned(states: Tensor) -> Tensor:
    """The transpose, laid out anew. (N, D) -> (D, N)"""
    return Turned.apply(states)
