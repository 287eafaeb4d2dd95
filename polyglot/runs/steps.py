"""Steps that have a checkpoint, from the names of the folders; works without PyTorch."""

from __future__ import annotations

import re
from pathlib import Path

NAME = re.compile(r"step-([0-9]{8,16})")


def steps(folder: Path) -> list[int]:
    """Return the steps that have a checkpoint, in ascending order."""
    if not folder.is_dir():
        return []
    numbers = []
    for path in folder.glob("step-*"):
        step = folder_step(path)
        if step is not None:
            numbers.append(step)
    return sorted(numbers)


def folder_step(path: Path) -> int | None:
    """Return the step in the name of a checkpoint's folder; None for other names."""
    match = NAME.fullmatch(path.name)
    if match is None:
        return None
    return int(match[1])


def step_folder(folder: Path, step: int) -> Path:
    """Return the folder of the checkpoint of a step."""
    return folder / f"step-{step:08d}"
