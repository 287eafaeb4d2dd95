"""Stack of bridges, applied one after the other."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor, nn

from polyglot.core.problems import Problem
from polyglot.model.bridges.base import BRIDGES, Bridge
from polyglot.model.memory import Memory

AnyBridge = BRIDGES.config_type()
"""Settings of any bridge that is registered before this module is imported."""


@BRIDGES.register("stack")
class StackedBridge(Bridge):
    """Sequence of bridges; each bridge reads the rows of the bridge before it.

    If several bridges have weights A₁, A₂, …, the weights of the stack are the product …·A₂·A₁,
    over the source positions. A bridge without weights leaves the product unchanged.
    """

    class Config(Bridge.Config):
        bridges: list[AnyBridge] = Field(
            ["transformer", "attention"], min_length=1, validate_default=True
        )
        """Bridges in order, from the encoders to the decoders; any type except `stack`."""

        def validate_size(self, size: int) -> Problem | None:
            for number, bridge in enumerate(self.bridges):
                problem = bridge.validate_size(size)
                if problem is not None:
                    return problem.below("bridges", number)
            return None

    def __init__(self, config: Config, *, size: int) -> None:
        super().__init__()
        self.bridges = nn.ModuleList(
            BRIDGES.build(bridge_config, size=size) for bridge_config in config.bridges
        )
        self.fixed_size = any(bridge.fixed_size for bridge in self.bridges)

    def forward(self, states: Tensor, mask: Tensor) -> Memory:
        weights = None
        for bridge in self.bridges:
            memory = bridge(states, mask)
            states = memory.states

            if memory.mask is None:
                mask = torch.ones(states.shape[:2], dtype=torch.bool, device=states.device)
            else:
                mask = memory.mask

            if memory.weights is not None:
                if weights is None:
                    weights = memory.weights
                else:
                    weights = memory.weights @ weights

        return Memory(states, mask=memory.mask, weights=weights, visible=memory.visible)
