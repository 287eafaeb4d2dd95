"""Steps that have a checkpoint, from the names of the folders; works without PyTorch."""

from __future__ import annotations

import re
from pathlib import Path

NAME = re.compile(r"step-(\d{8,})")


def steps(folder: Path) -> list[int]:
    """Return the steps that have a checkpoint, in ascending order."""
    if not folder.is_dir():
        return []
    numbers = []
    for path in folder.glob("step-*"):
        match = NAME.fullmatch(path.name)
        if match:
            numbers.append(int(match[1]))
    return sorted(numbers)


def step_folder(folder: Path, step: int) -> Path:
    """Return the folder of the checkpoint of a step."""
    return folder / f"step-{step:08d}"
