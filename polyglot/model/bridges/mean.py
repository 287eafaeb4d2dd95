"""Mean bridge: one row for each sentence."""

from __future__ import annotations

from torch import Tensor

from polyglot.layers.masks import masked_mean
from polyglot.model.bridges.base import BRIDGES, Bridge
from polyglot.model.memory import Memory


@BRIDGES.register("mean")
class MeanBridge(Bridge):
    """One row for each sentence, the mean of its states; no parameters."""

    fixed_size = True

    class Config(Bridge.Config):
        pass

    def __init__(self, config: Config, *, size: int) -> None:
        super().__init__()

    def forward(self, states: Tensor, mask: Tensor) -> Memory:
        return Memory(masked_mean(states, mask).unsqueeze(1))
