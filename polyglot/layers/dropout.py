"""Dropout that does not wait for its random numbers."""

from __future__ import annotations

import numpy
import torch
from torch import Tensor, nn
from torch.nn import functional

LEVELS = 1 << 16


def dropout(states: Tensor, share: float) -> Tensor:
    """Zero a share of the numbers and scale the others up to keep the mean (Srivastava et al. 2014). Any shape in and out.

    On a CPU, PyTorch draws one Bernoulli variable after the other on one core, a twentieth of a training step; sixteen bits a
    number from a faster generator, seeded by PyTorch's own, take a fifth of that. The share is exact to 1/65536.
    """
    if not share:
        return states
    if states.device.type != "cpu":
        return functional.dropout(states, share)
    random = numpy.random.Generator(numpy.random.SFC64(int(torch.randint(2**62, ()))))
    bits = random.integers(0, LEVELS, size=states.numel(), dtype=numpy.uint16)
    kept = torch.from_numpy(bits >= round(share * LEVELS)).view(states.shape)
    return states * kept.to(states.dtype).mul_(1 / (1 - share))


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
