"""Matrix that is used at every step of a recurrence, with one product for its whole gradient.

Autograd would form a gradient of the matrix's full size at every step and add them up. For small
batches that is mostly memory traffic. Here a step only keeps its inputs and its gradients, and one
product over all steps forms the gradient of the matrix.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from polyglot.layers.autograd_pass import current_backward_pass
from polyglot.layers.linear import PackedLinear, pack_matrix, product_type
from polyglot.layers.low_precision import Precision


class AccumulatedLinear:
    """x -> W x + b for many x in turn; W may be given as parts side by side, [W_1 W_2 …]."""

    def __init__(
        self,
        *parts: Tensor,
        bias: Tensor | None = None,
        precision: Precision = "float32",
    ) -> None:
        """Take the parts (O, I_p) of a matrix (O, I), with a bias (O) or None.

        Alternatively take one tensor (B, O, I), a matrix for each sentence, without a bias.
        precision: of the products without gradients.
        """
        if torch.is_grad_enabled():
            precision = "float32"
        self.matrix = _SharedMatrix(parts, bias, precision)
        self.ticket = None
        if torch.is_grad_enabled():
            # Every step depends on the ticket, and the ticket on the matrix: autograd returns to
            # the matrix when all steps are done.
            self.ticket = _CollectGradient.apply(self.matrix, bias, *parts)

    def __call__(self, inputs: Tensor, *, plus: Tensor | None = None) -> Tensor:
        """inputs (N, I) -> (N, O), with plus (N, O) added; or (B, M, I) -> (B, M, O)"""
        if self.ticket is None:
            return self.matrix.product(inputs, plus)
        return _Step.apply(inputs, plus, self.ticket, self.matrix)


class _SharedMatrix:
    """State that the steps share.

    It has no reference to the ticket: a reference cycle would keep it alive after its update.
    """

    def __init__(
        self,
        parts: Sequence[Tensor],
        bias: Tensor | None,
        precision: Precision,
    ) -> None:
        assert parts[0].dim() == 2 or (len(parts) == 1 and bias is None)
        weight = parts[0].detach()
        if len(parts) > 1:
            weight = torch.cat([part.detach() for part in parts], dim=1)
        self.dtype = product_type(weight)
        weight = weight.to(self.dtype)
        bias = None if bias is None else bias.detach().to(self.dtype)
        is_batched = weight.dim() == 3
        if is_batched:
            self.forward_product = _BatchedLinear(weight)
        else:
            self.forward_product = pack_matrix(weight, bias, precision)
        self.backward_product = None
        if torch.is_grad_enabled():
            if is_batched:
                self.backward_product = _BatchedLinear(weight.mT)
            else:
                self.backward_product = PackedLinear(weight.t())
        self.inputs: list[Tensor] = []
        self.gradients: list[Tensor] = []
        self.backward_pass = -1

    def product(self, inputs: Tensor, plus: Tensor | None) -> Tensor:
        plus = None if plus is None else plus.to(self.dtype)
        return self.forward_product(inputs.to(self.dtype), plus=plus)

    def add_step(self, inputs: Tensor, gradient: Tensor) -> None:
        """Keep one step; drop steps of an earlier backward pass that never reached the matrix."""
        current = current_backward_pass()
        if current != self.backward_pass:
            self.backward_pass = current
            self.inputs = []
            self.gradients = []
        self.inputs.append(inputs)
        self.gradients.append(gradient)

    def collect(self) -> tuple[Tensor, Tensor]:
        """Return inputs (T·N, I) and gradients (T·N, O) of all steps, and forget them.

        Batched matrices give (B, T·M, I) and (B, T·M, O).
        """
        inputs = torch.cat(self.inputs, dim=-2)
        gradients = torch.cat(self.gradients, dim=-2)
        self.inputs = []
        self.gradients = []
        return inputs, gradients


class _BatchedLinear:
    """One matrix for each sentence, with the interface of `PackedLinear`."""

    def __init__(self, matrices: Tensor) -> None:
        self.matrices = matrices.mT

    def __call__(self, inputs: Tensor, *, plus: Tensor | None = None) -> Tensor:
        outputs = inputs @ self.matrices
        return outputs if plus is None else outputs + plus


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx,
        inputs: Tensor,
        plus: Tensor | None,
        ticket: Tensor,
        matrix: _SharedMatrix,
    ) -> Tensor:
        ctx.matrix = matrix
        ctx.has_plus = plus is not None
        ctx.save_for_backward(inputs)
        return matrix.product(inputs, plus)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (inputs,) = ctx.saved_tensors
        ctx.matrix.add_step(inputs, gradient)
        input_gradient = ctx.matrix.backward_product(gradient)
        plus_gradient = gradient if ctx.has_plus else None
        # The ticket needs no gradient: autograd counts the steps that have arrived at it.
        return input_gradient, plus_gradient, None, None


class _CollectGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, matrix: _SharedMatrix, bias: Tensor | None, *parts: Tensor) -> Tensor:
        ctx.matrix = matrix
        ctx.bias_dtype = None if bias is None else bias.dtype
        ctx.widths = [part.shape[-1] for part in parts]
        return parts[0].new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor) -> tuple[Tensor | None, ...]:
        inputs, gradients = ctx.matrix.collect()
        bias_gradient = None
        if ctx.bias_dtype is not None:
            bias_gradient = gradients.sum(dim=0, dtype=ctx.bias_dtype)
        inputs_of_parts = inputs.to(gradients.dtype).split(ctx.widths, dim=-1)
        part_gradients = [gradients.mT @ part for part in inputs_of_parts]
        return None, bias_gradient, *part_gradients
