"""Output layer and cross-entropy as one operation that never holds more than a slice of the (tokens, V) scores."""

from __future__ import annotations

import torch
from torch import Tensor

from polyglot.layers.linear import pad_rows, product, product_type

SLICE_BYTES = {
    "cpu": 32 * 2**20,
    "cuda": 512 * 2**20,
}  # cpu: a usual batch in one slice, so that products are large; both bound the memory
CACHED_BYTES = {
    "cpu": 2**20
}  # float32 scores that a core's own cache holds while they are read again and again; elsewhere a whole slice


class ProjectedCrossEntropy(torch.autograd.Function):
    """Σ over tokens of the label-smoothed −log softmax(W h + b)[y], with its gradients computed slice by slice on the way.

    Scores (N, V) are the largest tensor of a step by far: written once and read many times, they would cost more than the
    matrix products. Each slice of rows is projected, turned into its own gradient in place, some rows at a time, and used at once.
    """

    @staticmethod
    def forward(  # noqa: ANN001
        ctx,
        states: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        shares: Tensor | None,
        smoothing: float,
        needed: bool,
    ) -> Tensor:
        """states (N, D), weight (V, D), bias (V), targets and shares (N, L), or one target for each row and no shares.

        needed: whether there will be a way back. The products are of the states' type, and sums over slices of the weight's.
        -> () the summed loss in float32
        """
        total = states.new_zeros((), dtype=torch.float32)
        grad_states = torch.empty_like(states) if needed else None
        mixed = states.dtype != weight.dtype
        grad_weight = (
            (torch.zeros_like if mixed or not len(states) else torch.empty_like)(weight)
            if needed
            else None
        )
        grad_bias = torch.zeros_like(bias, dtype=torch.float32) if needed else None
        projection, shift = weight.to(states.dtype), bias.to(states.dtype)
        most = max(1, SLICE_BYTES.get(states.device.type, SLICE_BYTES["cuda"]) // (4 * len(weight)))
        rows = (
            -(-len(states) // max(1, -(-len(states) // most))) or most
        )  # slices of nearly one size
        few = (
            max(1, CACHED_BYTES[states.device.type] // (4 * len(weight)))
            if states.device.type in CACHED_BYTES
            else rows
        )
        precise = (
            None
            if states.dtype == torch.float32
            else states.new_empty(min(few, rows), len(weight), dtype=torch.float32)
        )
        for start in range(0, len(states), rows):
            end = min(start + rows, len(states))
            part = pad_rows(states[start:end], states.dtype)
            made = product(
                part, projection, shift
            )  # of float32 these are the scores, else they are copied there and back
            for first in range(start, end, few):
                last = min(first + few, end)
                some = made[first - start : last - start]
                scores = some if precise is None else precise[: len(some)].copy_(some)
                total += _turned(
                    scores,
                    targets[first:last],
                    None if shares is None else shares[first:last],
                    smoothing,
                    needed,
                )
                if needed:
                    grad_bias += scores.sum(dim=0)
                    if precise is not None:
                        some.copy_(scores)
            if needed:
                made[end - start :] = (
                    0  # the rows that fill up have scores too, the bias: an infinite one would spoil the products
                )
                grad_states[start:end] = product(made, projection.t())[: end - start]
                if mixed:
                    grad_weight += made.t() @ part
                else:
                    grad_weight.addmm_(
                        made.t(), part, beta=float(start > 0)
                    )  # 0 for the first slice: what was there does not count
        if needed:
            ctx.save_for_backward(grad_states, grad_weight, grad_bias.to(bias.dtype))
        return total

    @staticmethod
    def backward(ctx, grad_total: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN001
        grad_states, grad_weight, grad_bias = ctx.saved_tensors
        # In place: each is used once (there is no second way back), and a copy of (V, D) would be another pass through memory.
        return (
            grad_states.mul_(grad_total),
            grad_weight.mul_(grad_total),
            grad_bias.mul_(grad_total),
            None,
            None,
            None,
            None,
        )


def _turned(
    scores: Tensor, targets: Tensor, shares: Tensor | None, smoothing: float, needed: bool
) -> Tensor:
    """The loss of N rows; their scores (N, V) in float32 become its gradient in place."""
    largest, chosen = scores.amax(dim=1), scores.gather(1, targets)
    mean = scores.mean(dim=1) if smoothing else 0.0
    gradient = torch.softmax(scores, dim=1, out=scores)
    # log Σ exp, from the softmax already made: its largest entry is at least 1/V, so this logarithm is safe.
    normaliser = largest - gradient.amax(dim=1).log()
    if shares is None:
        loss = (normaliser - (1 - smoothing) * chosen.squeeze(1) - smoothing * mean).sum()
    else:
        mass = shares.sum(dim=1)
        loss = (mass * normaliser - (shares * chosen).sum(dim=1)).sum()
    if needed:
        if smoothing:
            gradient.sub_(smoothing / scores.shape[1])
        if shares is not None:
            gradient.mul_(mass.unsqueeze(1))
        gradient.scatter_add_(
            1,
            targets,
            gradient.new_full(targets.shape, smoothing - 1) if shares is None else -shares,
        )
    return loss


def _typed(states: Tensor) -> Tensor:
    """In the type that products are made in, but float32 for float16: gradients of unlikely words would be 0 before the loss is scaled."""
    wanted = product_type(states)
    return states.to(torch.float32 if wanted == torch.float16 else wanted)


def projected_cross_entropy(
    states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, *, smoothing: float = 0.0
) -> Tensor:
    """The summed loss of N tokens; equals `F.cross_entropy(W h + b, y, reduction="sum", label_smoothing=smoothing)`."""
    states = _typed(states)
    with torch.autocast(states.device.type, enabled=False):
        return ProjectedCrossEntropy.apply(
            states, weight, bias, targets.unsqueeze(1), None, smoothing, torch.is_grad_enabled()
        )


def projected_bag_cross_entropy(
    states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, shares: Tensor
) -> Tensor:
    """−Σ_n Σ_l shares[n, l] · log softmax(W h_n + b)[targets[n, l]]: one softmax for each row, whatever the number of its targets.

    states (N, D), weight (V, D), bias (V), targets and shares (N, L), where 0 is for none -> () in float32
    """
    states = _typed(states)
    with torch.autocast(states.device.type, enabled=False):
        return ProjectedCrossEntropy.apply(
            states, weight, bias, targets, shares.float(), 0.0, torch.is_grad_enabled()
        )
