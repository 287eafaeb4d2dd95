"""Quantities that change with the updates of training, such as temperatures: each is a pure function of the step.

A value stands in its component as a tensor, so that it is computed with without asking the device, goes into checkpoints and
averages with the parameters, and is what it was where a component is frozen or only translates.
"""

from __future__ import annotations

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig

PLACE = "annealed"
"""Part of the name of every such tensor in a component."""


class Decay(ComponentConfig):
    """max(minimum, start · decay^⌊step / every⌋)."""

    start: float = Field(gt=0, le=1e6)
    """The value before the first update."""
    decay: float = Field(gt=0, le=1)
    """What it is multiplied with …"""
    every: int = Field(1, ge=1)
    """… after so many updates of the run, each time."""
    minimum: float = Field(0.0, ge=0)
    """It does not fall below this."""

    @model_validator(mode="after")
    def _falls(self) -> Decay:
        if self.minimum > self.start:
            raise ValueError(
                f"minimum {self.minimum:g} is above start {self.start:g}, so that nothing could fall; lower it or raise start"
            )
        return self

    def at(self, step: int) -> float:
        """The value at this update, which counts from 0."""
        return max(self.minimum, self.start * self.decay ** (step // self.every))


class Annealed(nn.Module):
    """The annealed quantities of a module, each an attribute (); kept as `annealed` of that module."""

    def __init__(self, **schedules: Decay) -> None:
        super().__init__()
        self.schedules = schedules
        for name, schedule in schedules.items():
            self.register_buffer(name, torch.tensor(schedule.at(0)))

    def move_to(self, step: int) -> None:
        """Every quantity as it is at this update."""
        for name, schedule in self.schedules.items():
            getattr(self, name).fill_(schedule.at(step))

    def values(self) -> dict[str, Tensor]:
        return dict(self.named_buffers())


def is_annealed(name: str) -> bool:
    """Whether a tensor of a component is such a quantity, by its name there."""
    return PLACE in name.split(".")
