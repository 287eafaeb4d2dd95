"""No bridge: the decoder attends to the encoder states themselves."""

from __future__ import annotations

from torch import Tensor

from polyglot.model.bridges.base import BRIDGES, Bridge
from polyglot.model.memory import Memory


@BRIDGES.register("none")
class NoBridge(Bridge):
    """The bilingual baseline of Vázquez et al., Table 1: the memory is the states, one row a position."""

    fixed_size = False

    class Config(Bridge.Config):
        pass

    def __init__(self, config: Config, *, size: int) -> None:
        super().__init__()

    def forward(self, states: Tensor, mask: Tensor) -> Memory:
        return Memory(states, mask=mask)
