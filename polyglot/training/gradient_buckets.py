"""Buckets of gradients that are exchanged together."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch.distributed import ProcessGroup, Work


@dataclass(eq=False)
class GradientBucket:
    """Gradients that are sent together."""

    component: str
    parameters: list[nn.Parameter]
    trainers: tuple[int, ...]
    group: ProcessGroup | None
    last: int
    """the number of the last own batch that trains it, -1 where none does"""
    missing: int
    """gradients that this batch has still to give"""
    flat: Tensor | None = None
    work: Work | None = None


def _turn(component: str) -> tuple[int, str]:
    """As the backward pass comes to them, and the same on processes that have different ones."""
    part = component.partition(".")[0]
    return [
        "decoder",
        "target_embedding",
        "bridge",
        "encoder",
        "source_embedding",
        "embedding",
    ].index(part), component
