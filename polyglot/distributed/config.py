"""How several processes share the work."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from polyglot.core.registry import ComponentConfig


class ParallelConfig(ComponentConfig):
    """How several processes share the work; one process alone needs none of it."""

    tasks: Literal["mixed", "same"] = "mixed"
    """Whether each process trains tasks of its own in an update, or all the same with other sentences."""
    placement: Literal["replicated", "partitioned"] = "replicated"
    """Whether every process has every component, or only those that its tasks use: memory for many languages, with `tasks: mixed`."""
    bucket: float = Field(25.0, gt=0, le=4096)
    """MiB of gradients that are sent together, at most, unless one matrix alone is larger."""
    verify: int | None = Field(None, ge=1)
    """Compare what was trained between the processes every so many updates; null never does."""
