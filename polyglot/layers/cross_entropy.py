"""Output layer and cross-entropy in one operation, which never holds all (tokens, V) scores."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from polyglot.layers import autocast
from polyglot.layers.linear import pad_rows, product, product_type

SLICE_BYTES = {"cpu": 32 * 2**20, "cuda": 512 * 2**20}
"""float32 scores of a slice. On a CPU a usual batch is one slice, so that products are large."""
CACHED_BYTES = {"cpu": 2**20}
"""float32 scores that stay in the cache of a core while they are used. On a device that is not
listed, all scores of a slice are used at once."""


@dataclass(frozen=True)
class _Sizes:
    """Rows that are computed together."""

    slice_rows: int
    """Rows of one matrix product."""
    cached_rows: int
    """Rows of one pass of the softmax."""

    @classmethod
    def of(cls, states: Tensor, vocabulary_size: int) -> _Sizes:
        """Sizes for states (N, D), with V scores for each row; slices have nearly equal sizes."""
        device = states.device.type
        bytes_of_row = 4 * vocabulary_size  # float32
        most_rows = max(1, SLICE_BYTES.get(device, SLICE_BYTES["cuda"]) // bytes_of_row)
        slices = max(1, -(-len(states) // most_rows))
        slice_rows = -(-len(states) // slices) or most_rows
        if device not in CACHED_BYTES:
            return cls(slice_rows, slice_rows)
        return cls(slice_rows, max(1, CACHED_BYTES[device] // bytes_of_row))


class ProjectedCrossEntropy(torch.autograd.Function):
    """Σ over tokens of the label-smoothed −log softmax(W h + b)[y], with gradients slice by slice.

    Scores (N, V) are by far the largest tensor of an update. Written once and read many times,
    they would cost more than the matrix products. So each slice of rows is projected, turned into
    its own gradient in place, a few rows at a time, and used at once.
    """

    @staticmethod
    def forward(
        ctx,
        states: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        shares: Tensor | None,
        smoothing: float,
        needs_gradient: bool,
    ) -> Tensor:
        """Return the summed loss, a float32 scalar.

        states (N, D), weight (V, D), bias (V). There are two cases: targets (N, 1) without shares,
        one target word for each row; or targets and shares (N, L), several target words for each
        row, whose losses are weighted by the shares.
        Products have the type of the states, sums over slices that of the weight.
        """
        gradients = _Gradients(states, weight, bias) if needs_gradient else None
        projection = weight.to(states.dtype)
        shift = bias.to(states.dtype)
        sizes = _Sizes.of(states, len(weight))
        float_scores = None
        if states.dtype != torch.float32:
            rows = min(sizes.cached_rows, sizes.slice_rows)
            float_scores = states.new_empty(rows, len(weight), dtype=torch.float32)

        total = states.new_zeros((), dtype=torch.float32)
        for start in range(0, len(states), sizes.slice_rows):
            end = min(start + sizes.slice_rows, len(states))
            slice_states = pad_rows(states[start:end], states.dtype)
            slice_scores = product(slice_states, projection, shift)
            for first in range(start, end, sizes.cached_rows):
                last = min(first + sizes.cached_rows, end)
                total += _part_loss(
                    slice_scores[first - start : last - start],
                    targets[first:last],
                    None if shares is None else shares[first:last],
                    smoothing,
                    float_scores,
                    gradients,
                )
            if gradients is not None:
                # All scores of the slice are now replaced by their gradients.
                gradients.add_slice(slice_states, slice_scores, projection, start, end)

        if gradients is not None:
            ctx.save_for_backward(gradients.states, gradients.weight, gradients.bias.to(bias.dtype))
        return total

    @staticmethod
    def backward(ctx, total_gradient: Tensor) -> tuple[Tensor | None, ...]:
        states_gradient, weight_gradient, bias_gradient = ctx.saved_tensors
        # In place: each is used once, since there is no second backward pass, and a copy of (V, D)
        # would be another pass through memory.
        return (
            states_gradient.mul_(total_gradient),
            weight_gradient.mul_(total_gradient),
            bias_gradient.mul_(total_gradient),
            None,
            None,
            None,
            None,
        )


class _Gradients:
    """Gradients of states (N, D), weight (V, D) and bias (V), summed slice by slice."""

    def __init__(self, states: Tensor, weight: Tensor, bias: Tensor) -> None:
        self.is_mixed = states.dtype != weight.dtype
        self.states = torch.empty_like(states)
        if self.is_mixed or not len(states):
            self.weight = torch.zeros_like(weight)
        else:
            self.weight = torch.empty_like(weight)  # the first slice overwrites it
        self.bias = torch.zeros_like(bias, dtype=torch.float32)

    def add_slice(
        self,
        states: Tensor,
        score_gradients: Tensor,
        projection: Tensor,
        start: int,
        end: int,
    ) -> None:
        """Add a slice, whose scores (n, V) have become their gradients; n can be padded."""
        # The scores of padded rows are the bias of each word. If a bias is infinite, the products
        # below would be NaN.
        score_gradients[end - start :] = 0
        self.states[start:end] = product(score_gradients, projection.t())[: end - start]
        if self.is_mixed:
            self.weight += score_gradients.t() @ states
        else:
            # beta is 0 for the first slice, so that the uninitialised memory does not count.
            self.weight.addmm_(score_gradients.t(), states, beta=float(start > 0))


def _part_loss(
    part: Tensor,
    targets: Tensor,
    shares: Tensor | None,
    smoothing: float,
    float_scores: Tensor | None,
    gradients: _Gradients | None,
) -> Tensor:
    """Return the loss of the rows of a part, whose scores (n, V) stay in the cache.

    With gradients, the scores are replaced by their gradients, which are added to that of the bias.
    float_scores: memory for a copy of the scores in float32; None if they are float32.
    """
    scores = part if float_scores is None else float_scores[: len(part)].copy_(part)
    loss = _loss_and_gradient(scores, targets, shares, smoothing, gradients is not None)
    if gradients is None:
        return loss

    # The call above has replaced the scores by their gradients.
    score_gradients = scores
    gradients.bias += score_gradients.sum(dim=0)
    if float_scores is not None:
        part.copy_(score_gradients)
    return loss


def _loss_and_gradient(
    scores: Tensor,
    targets: Tensor,
    shares: Tensor | None,
    smoothing: float,
    needs_gradient: bool,
) -> Tensor:
    """Return the loss of N rows; replace their float32 scores (N, V) by the gradients in place."""
    largest = scores.amax(dim=1)
    chosen = scores.gather(1, targets)
    mean = scores.mean(dim=1) if smoothing else 0.0
    gradient = torch.softmax(scores, dim=1, out=scores)
    # log Σ exp, from the softmax: its largest entry is at least 1/V, so its logarithm is safe.
    normaliser = largest - gradient.amax(dim=1).log()
    if shares is None:
        loss = (normaliser - (1 - smoothing) * chosen.squeeze(1) - smoothing * mean).sum()
    else:
        mass = shares.sum(dim=1)
        loss = (mass * normaliser - (shares * chosen).sum(dim=1)).sum()
    if not needs_gradient:
        return loss
    if smoothing:
        gradient.sub_(smoothing / scores.shape[1])
    if shares is None:
        target_gradient = gradient.new_full(targets.shape, smoothing - 1)
    else:
        gradient.mul_(mass.unsqueeze(1))
        target_gradient = -shares
    gradient.scatter_add_(1, targets, target_gradient)
    return loss


def _product_states(states: Tensor) -> Tensor:
    """Convert states to the type of products, but to float32 for float16.

    In float16 the gradients of improbable words would be 0 before the loss is scaled.
    """
    dtype = product_type(states)
    return states.to(torch.float32 if dtype == torch.float16 else dtype)


def projected_cross_entropy(
    states: Tensor,
    weight: Tensor,
    bias: Tensor,
    targets: Tensor,
    *,
    smoothing: float = 0.0,
) -> Tensor:
    """Summed cross-entropy of N tokens with label smoothing.

    Equals `F.cross_entropy(W h + b, y, reduction="sum", label_smoothing=smoothing)`.
    states (N, D), weight (V, D), bias (V), targets (N,) -> () in float32
    """
    states = _product_states(states)
    needs_gradient = torch.is_grad_enabled()
    with autocast.without_autocast(states.device.type):
        return ProjectedCrossEntropy.apply(
            states, weight, bias, targets.unsqueeze(1), None, smoothing, needs_gradient
        )


def projected_bag_cross_entropy(
    states: Tensor,
    weight: Tensor,
    bias: Tensor,
    targets: Tensor,
    shares: Tensor,
) -> Tensor:
    """−Σ_n Σ_l shares[n, l] · log softmax(W h_n + b)[targets[n, l]], with one softmax for each n.

    states (N, D), weight (V, D), bias (V), targets and shares (N, L); share 0 for padding
    -> () in float32
    """
    states = _product_states(states)
    needs_gradient = torch.is_grad_enabled()
    with autocast.without_autocast(states.device.type):
        return ProjectedCrossEntropy.apply(
            states, weight, bias, targets, shares.float(), 0.0, needs_gradient
        )


@torch.no_grad()
def token_losses(states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """−log softmax(W h + b)[y] of each token, without gradients.

    states (N, D), weight (V, D), bias (V), targets (N,) -> (N,) in float32
    """
    states = _product_states(states)
    projection = weight.to(states.dtype)
    shift = bias.to(states.dtype)
    sizes = _Sizes.of(states, len(weight))
    losses = []
    with autocast.without_autocast(states.device.type):
        for start in range(0, len(states), sizes.slice_rows):
            end = start + sizes.slice_rows
            scores = product(states[start:end], projection, shift).float()
            chosen = scores.gather(1, targets[start:end].unsqueeze(1))
            losses.append(scores.logsumexp(dim=1) - chosen.squeeze(1))
    return torch.cat(losses)
