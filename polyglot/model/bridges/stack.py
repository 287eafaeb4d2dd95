"""Several bridges, one after the other."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor, nn

from polyglot.model.bridges.base import BRIDGES, Bridge
from polyglot.model.memory import Memory

AnyBridge = BRIDGES.config_type()


@BRIDGES.register("stack")
class StackedBridge(Bridge):
    """Each bridge reads the rows of the one before it.

    Where several mix rows by weights A₁, A₂, …, those of the stack are their product …·A₂·A₁, over source positions still; a
    bridge that has none leaves them as they are.
    """

    class Config(Bridge.Config):
        bridges: list[AnyBridge] = Field(
            ["transformer", "attention"], min_length=1, validate_default=True
        )
        """The bridges, the first one next to the encoders; any type but `stack`."""

        def validate_size(self, size: int) -> str | None:
            found = [(number, one.validate_size(size)) for number, one in enumerate(self.bridges)]
            return next(
                (f"bridges.{number}: {problem}" for number, problem in found if problem), None
            )

    def __init__(self, config: Config, *, size: int) -> None:
        super().__init__()
        self.bridges = nn.ModuleList(BRIDGES.build(one, size=size) for one in config.bridges)
        self.fixed_size = any(bridge.fixed_size for bridge in self.bridges)

    def forward(self, states: Tensor, mask: Tensor) -> Memory:
        weights = None
        for bridge in self.bridges:
            memory = bridge(states, mask)
            states = memory.states
            mask = (
                torch.ones(states.shape[:2], dtype=torch.bool, device=states.device)
                if memory.mask is None
                else memory.mask
            )
            if memory.weights is not None:
                weights = memory.weights if weights is None else memory.weights @ weights
        return Memory(states, mask=memory.mask, weights=weights)
