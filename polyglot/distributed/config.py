"""Settings of parallel training."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from polyglot.core.registry import ComponentConfig
from polyglot.core.setting_types import StepCount


class ParallelConfig(ComponentConfig):
    """Distribution of the work over several processes; without effect for a single process."""

    tasks: Literal["mixed", "same"] = "mixed"
    """`mixed`: each process draws its own tasks for an update. `same`: all processes train the
    same tasks, with different sentences."""
    placement: Literal["replicated", "partitioned"] = "replicated"
    """`replicated`: every process has every component. `partitioned`: a process has only the
    components of its tasks; this saves memory for many languages and needs `tasks: mixed`."""
    bucket: float = Field(25.0, gt=0, le=4096)
    """Largest size of a gradient bucket in MiB; a larger matrix is a bucket of its own."""
    verify: StepCount | None = None
    """Compare the trained parameters between the processes every this many updates; null: never."""
