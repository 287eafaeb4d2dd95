"""Values of all ranks, exchanged as JSON in tensors and checked when they arrive.

A received value is data and never code: nothing is unpickled.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
import torch.distributed
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json
from torch import Tensor
from torch.distributed import ProcessGroup

from polyglot.core.errors import TrainingError

LARGEST_MESSAGE = 1 << 28
"""Bytes; positions in the text of thousands of tasks have less than a hundredth of it."""


def gather_values(value: Any, kind: Any, group: ProcessGroup, world_size: int) -> list[Any]:
    """Return the values of all ranks, ordered by rank. Collective.

    kind: the type of the values, such as `dict[str, float]`; also of a dataclass.
    Raises TrainingError for a value of another type, RuntimeError for a broken connection.
    """
    content = to_json(value, inf_nan_mode="constants")
    message = torch.frombuffer(bytearray(content), dtype=torch.uint8)
    sizes = _gather(torch.tensor([len(message)]), group, world_size)
    largest = max(int(size) for size in sizes)
    if largest > LARGEST_MESSAGE:
        raise TrainingError(f"a process sent {largest} bytes; at most {LARGEST_MESSAGE} are read")

    padded = torch.zeros(largest, dtype=torch.uint8)
    padded[: len(message)] = message
    values = []
    for rank, received in enumerate(_gather(padded, group, world_size)):
        content = received[: int(sizes[rank])]
        values.append(_decode(content, kind, rank))
    return values


def _decode(content: Tensor, kind: Any, rank: int) -> Any:
    try:
        return _adapter(kind).validate_json(content.numpy().tobytes())
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise TrainingError(
            f"process {rank} sent a value that cannot be used ({reason}); "
            "do all processes run the same version of the program?"
        ) from None


@cache
def _adapter(kind: Any) -> TypeAdapter:
    return TypeAdapter(kind)


def _gather(local: Tensor, group: ProcessGroup, world_size: int) -> list[Tensor]:
    rows = [torch.empty_like(local) for _ in range(world_size)]
    torch.distributed.all_gather(rows, local, group=group)
    return rows
