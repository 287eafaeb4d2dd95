"""Dropout that does not wait for its random numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy
import torch
from torch import Tensor, nn
from torch.nn import functional

LEVELS = 1 << 16
STEPS = 16


def dropout(states: Tensor, share: float) -> Tensor:
    """Zero a share of the numbers and scale the others up to keep the mean (Srivastava et al. 2014). Any shape in and out."""
    if not share:
        return states
    return (
        states * _factors(states.shape, share, states)
        if states.device.type == "cpu"
        else functional.dropout(states, share)
    )


def _factors(shape: Sequence[int], share: float, like: Tensor) -> Tensor:
    """What `dropout` multiplies with.

    On a CPU, PyTorch draws one Bernoulli variable after the other on one core, a twentieth of a training step; sixteen bits a
    number from a faster generator, seeded by PyTorch's own, take a fifth of that. The share is exact to 1/65536.
    """
    random = numpy.random.Generator(numpy.random.SFC64(int(torch.randint(2**62, ()))))
    bits = random.integers(0, LEVELS, size=math.prod(shape), dtype=numpy.uint16)
    kept = torch.from_numpy(bits >= round(share * LEVELS)).view(*shape)
    return kept.to(like.dtype).mul_(1 / (1 - share))


class Dropout(nn.Module):
    """`dropout` in training, nothing outside it."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, states: Tensor) -> Tensor:
        """Any shape in and out."""
        return dropout(states, self.share) if self.training else states

    def extra_repr(self) -> str:
        return f"{self.share}"


class StepDropout:
    """`dropout` of the states of one step after the other: on a CPU, the numbers of many steps are drawn at once."""

    def __init__(self, share: float) -> None:
        self.share = share
        self.drawn: list[Tensor] = []

    def __call__(self, states: Tensor) -> Tensor:
        """Of one shape in all steps."""
        if not self.share or states.device.type != "cpu":
            return dropout(states, self.share)
        if not self.drawn:
            self.drawn = list(_factors((STEPS, *states.shape), self.share, states).unbind())
        return states * self.drawn.pop()
