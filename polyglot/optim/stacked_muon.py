"""Muon with one matrix product for all weights of a shape, in place of one for each weight."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Coefficients a, b and c of a Newton–Schulz step (Jordan et al. 2024)."""
STEPS = 5
"""Number of Newton–Schulz steps (Jordan et al. 2024)."""
SMALLEST_NORM = 1e-7
"""Smallest divisor of a matrix, so that a gradient of zeros stays zero."""
STACKED_NUMBERS = 2**24
"""Numbers that are orthogonalised together: 32 MiB in bfloat16. Larger stacks are not faster."""


class StackedMuon(torch.optim.Muon):
    """PyTorch's Muon with Nesterov momentum and the step size of Liu et al. 2025, section 2.2.

    The last bit of an update can differ from PyTorch's: on a CPU, bfloat16 products of a stack are
    rounded differently once in thousands of products.
    """

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        for group in self.param_groups:
            weights = [weight for weight in group["params"] if weight.grad is not None]
            if not weights:
                continue
            self._step_weights(weights, group)

    def _step_weights(
        self,
        weights: Sequence[nn.Parameter],
        group: dict,
    ) -> None:
        learning_rate = group["lr"]
        updates = self._momentum_updates(weights, group["momentum"])
        if group["weight_decay"]:
            torch._foreach_mul_(weights, 1 - learning_rate * group["weight_decay"])
        for indices in _stacks(updates):
            stack = orthogonalize(_stack([updates[index] for index in indices]))
            for index, direction in zip(indices, stack):
                weight = weights[index]
                if weight.shape != direction.shape:
                    direction = direction.T
                scale = 0.2 * math.sqrt(max(weight.shape))
                weight.add_(direction, alpha=-learning_rate * scale)

    def _momentum_updates(
        self,
        weights: Sequence[nn.Parameter],
        momentum: float,
    ) -> list[Tensor]:
        """Add the gradients to the running means, and return Nesterov's updates."""
        gradients = [weight.grad for weight in weights]
        means = []
        for weight in weights:
            state = self.state[weight]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = torch.zeros_like(weight)
            means.append(state["momentum_buffer"])
        torch._foreach_lerp_(means, gradients, 1 - momentum)
        return list(torch._foreach_lerp(gradients, means, momentum))


def orthogonalize(matrices: Tensor) -> Tensor:
    """Make the rows of matrices nearly orthonormal with five Newton–Schulz steps (Jordan et al.).

    matrices: (N, O, I) in bfloat16, O ≤ I; overwritten. -> (N, O, I)
    """
    a, b, c = COEFFICIENTS
    norms = torch.linalg.vector_norm(matrices, dim=(1, 2), keepdim=True)
    matrices.div_(norms.clamp(min=SMALLEST_NORM))
    for _ in range(STEPS):
        products = torch.bmm(matrices, matrices.mT)
        polynomials = torch.baddbmm(products, products, products, beta=b, alpha=c)
        matrices = torch.baddbmm(matrices, polynomials, matrices, beta=a)
    return matrices


def _stacks(updates: Sequence[Tensor]) -> list[list[int]]:
    """Divide updates (O, I) into stacks of equal shape; returns their indices.

    A matrix and the transpose of another one can be in one stack.
    """
    by_shape: dict[tuple[int, int], list[int]] = {}
    for index, update in enumerate(updates):
        shape = (min(update.shape), max(update.shape))
        by_shape.setdefault(shape, []).append(index)

    stacks = []
    for (height, width), indices in by_shape.items():
        size = max(1, STACKED_NUMBERS // (height * width))
        for start in range(0, len(indices), size):
            stacks.append(indices[start : start + size])
    return stacks


def _stack(updates: Sequence[Tensor]) -> Tensor:
    """Stack updates as wide matrices in bfloat16: (N, O, I) with O ≤ I."""
    height, width = sorted(updates[0].shape)
    stack = updates[0].new_empty(len(updates), height, width, dtype=torch.bfloat16)
    for matrix, update in zip(stack, updates):
        matrix.copy_(update if update.shape == matrix.shape else update.T)
    return stack
