"""What gates do in recurrence, number by number: few passes over the numbers, there and back."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

sigmoid_backward, tanh_backward = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward


def tanh(states: Tensor) -> Tensor:
    """The hyperbolic tangent, differentiable once. Any shape; in float32 on a CPU rounded at 1e-7."""
    return _Tanh.apply(states)


def lstm_cell_(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """h and c after a step (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000), differentiable once.

    gates (N, 4·D): input, forget, new and output gates before their activations, which are written over them; cell (N, D) -> each (N, D)
    """
    return _LstmCell.apply(gates, cell)


class _Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, states: Tensor) -> Tensor:  # noqa: ANN001
        result = _tanh(states)
        ctx.save_for_backward(result)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor) -> Tensor:  # noqa: ANN001
        return tanh_backward(gradient, *ctx.saved_tensors)


class _LstmCell(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:  # noqa: ANN001
        keep, forget, new, show = gates.chunk(4, dim=1)
        gates[:, : 2 * cell.shape[1]].sigmoid_()
        new.copy_(_tanh(new))
        show.sigmoid_()
        after = forget * cell + keep * new
        shown = _tanh(after)
        ctx.save_for_backward(gates, cell, shown)
        return show * shown, after

    @staticmethod
    @once_differentiable
    def backward(ctx, for_hidden: Tensor, for_after: Tensor) -> tuple[Tensor, Tensor]:  # noqa: ANN001
        gates, cell, shown = ctx.saved_tensors
        keep, forget, new, show = gates.chunk(4, dim=1)
        for_after = for_after + tanh_backward(for_hidden * show, shown)
        result = torch.empty_like(gates)
        for_keep, for_forget, for_new, for_show = result.chunk(4, dim=1)
        torch.mul(for_after, new, out=for_keep)
        torch.mul(for_after, cell, out=for_forget)
        torch.mul(for_hidden, shown, out=for_show)
        for_new.copy_(tanh_backward(for_after * keep, new))
        two = 2 * cell.shape[1]
        sigmoid_backward.grad_input(result[:, :two], gates[:, :two], grad_input=result[:, :two])
        sigmoid_backward.grad_input(for_show, show, grad_input=for_show)
        return result, for_after * forget


def _tanh(states: Tensor) -> Tensor:
    """As 2σ(2x) - 1, where PyTorch's σ is several times as fast. Half precisions would lose what is near 0 in the subtraction."""
    if states.dtype != torch.float32 or states.device.type != "cpu":
        return torch.tanh(states)
    return states.add(states).sigmoid_().mul_(2).sub_(1)
