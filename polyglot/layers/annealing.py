"""Annealed quantities such as temperatures: pure functions of the update.

A value is a tensor of its component, on the same device. So using it needs no transfer from the
device, and it is stored in checkpoints and averaged with the parameters. In a frozen component it
keeps its value.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig
from polyglot.core.setting_types import StepCount

ATTRIBUTE = "annealed"
"""Attribute of a module that holds its `Annealed`; so the names of all annealed tensors have it."""

SMALLEST = 1e-6
"""Smallest value: modules divide by it."""


class Decay(ComponentConfig):
    """max(minimum, start · decay^⌊step / every⌋)."""

    should_reach_minimum: ClassVar[bool] = False
    """True if training and translation agree only near the minimum, because they compute the result
    differently. A run that ends above the minimum then gets a warning."""

    start: float = Field(ge=SMALLEST, le=1e6)
    """Value before the first update."""
    decay: float = Field(gt=0, le=1)
    """Factor by which the value is multiplied at each decay."""
    every: StepCount = 1
    """Number of updates between two decays."""
    minimum: float = Field(0.0, ge=0, le=1e6)
    """Lower bound."""

    @model_validator(mode="after")
    def _minimum_is_below_start(self) -> Decay:
        if self.minimum > self.start:
            raise ValueError(
                f"minimum {self.minimum:g} is above start {self.start:g}; "
                "lower the minimum or raise the start"
            )
        return self

    def at(self, step: int) -> float:
        """Value at an update, counted from 0."""
        decayed = self.start * self.decay ** (step // self.every)
        return max(self.minimum, decayed, SMALLEST)

    def decay_to_minimum(self, steps: int) -> float:
        """Largest factor with which the value reaches its minimum within a number of updates."""
        decays = max(1, (steps - 1) // self.every)
        return (self.minimum / self.start) ** (1 / decays)


class Annealed(nn.Module):
    """Annealed quantities of a module, each a scalar tensor.

    The module stores them in its attribute `annealed`.
    """

    def __init__(self, **schedules: Decay) -> None:
        super().__init__()
        self.schedules = schedules
        for name, schedule in schedules.items():
            self.register_buffer(name, torch.tensor(schedule.at(0)))

    def set_step(self, step: int) -> None:
        """Set every quantity to its value at this update."""
        for name, schedule in self.schedules.items():
            getattr(self, name).fill_(schedule.at(step))

    def values(self) -> dict[str, Tensor]:
        return dict(self.named_buffers())


def is_annealed(name: str) -> bool:
    """True if the name of a component's tensor is that of an annealed quantity."""
    return ATTRIBUTE in name.split(".")
