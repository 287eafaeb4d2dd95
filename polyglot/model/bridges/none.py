"""No bridge: the decoder attends to the encoder states."""

from __future__ import annotations

from torch import Tensor

from polyglot.model.bridges.base import BRIDGES, Bridge
from polyglot.model.memory import Memory


@BRIDGES.register("none")
class NoBridge(Bridge):
    """Encoder states as memory, one row for each position.

    It is the bilingual baseline of Vázquez et al. 2018, table 1.
    """

    fixed_size = False

    class Config(Bridge.Config):
        pass

    def __init__(self, config: Config, *, size: int) -> None:
        super().__init__()

    def forward(self, states: Tensor, mask: Tensor) -> Memory:
        return Memory(states, mask=mask)
