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
    """x -> W x + b for many x, one after the other."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        """weight (O, I), bias (O) or none"""
        self.matrix = _Matrix(weight, bias)
        # Every step depends on the ticket and the ticket on the matrix: autograd comes back to it when all steps are done.
        self.ticket = _Collect.apply(weight, bias, self.matrix) if torch.is_grad_enabled() else None

    def __call__(self, inputs: Tensor) -> Tensor:
        """inputs (I, N) -> (O, N)"""
        return self.matrix.product(inputs) if self.ticket is None else _Step.apply(inputs, self.ticket, self.matrix)


class _Matrix:
    """What the steps share. It does not know the ticket: a circle would keep it alive long after its step."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        device = weight.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weight.dtype
        self.weight = weight.detach().to(dtype)
        self.bias = None if bias is None else bias.detach().to(dtype).unsqueeze(1)
        # Laid out for its own product: the way back goes through it as often as the way there.
        self.transposed = self.weight.t().contiguous() if torch.is_grad_enabled() else None
        self.inputs: list[Tensor] = []
        self.gradients: list[Tensor] = []
        self.backward_pass = -1

    def product(self, inputs: Tensor) -> Tensor:
        inputs = inputs.to(self.weight.dtype)
        return self.weight @ inputs if self.bias is None else torch.addmm(self.bias, self.weight, inputs)

    def keep(self, inputs: Tensor, gradient: Tensor) -> None:
        """Keep a step for the one product, and forget what a backward pass left that never came to the matrix."""
        current = torch._C._current_graph_task_id()
        if current != self.backward_pass:
            self.backward_pass, self.inputs, self.gradients = current, [], []
        self.inputs.append(inputs)
        self.gradients.append(gradient)

    def collect(self) -> tuple[Tensor, Tensor]:
        """All inputs (I, T·N) and gradients (O, T·N), side by side."""
        (inputs, self.inputs), (gradients, self.gradients) = (self.inputs, []), (self.gradients, [])
        return torch.cat(inputs, dim=1), torch.cat(gradients, dim=1)


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs: Tensor, ticket: Tensor, matrix: _Matrix) -> Tensor:  # noqa: ANN001
        ctx.matrix = matrix
        ctx.save_for_backward(inputs)
        return matrix.product(inputs)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, Tensor, None]:  # noqa: ANN001
        ctx.matrix.keep(*ctx.saved_tensors, gradient)
        return ctx.matrix.transposed @ gradient, gradient.new_zeros(()), None


class _Collect(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight: Tensor, bias: Tensor | None, matrix: _Matrix) -> Tensor:  # noqa: ANN001
        ctx.matrix, ctx.bias_dtype = matrix, None if bias is None else bias.dtype
        return weight.new_zeros(())

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN001
        inputs, gradients = ctx.matrix.collect()
        bias = None if ctx.bias_dtype is None else gradients.sum(dim=1, dtype=ctx.bias_dtype)
        return gradients @ inputs.t().to(gradients.dtype), bias, None


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
