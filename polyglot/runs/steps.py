"""Steps that have a checkpoint, from the names of the folders; works without PyTorch."""

from __future__ import annotations

import re
from pathlib import Path

NAME = re.compile(r"step-(\d{8,})")


def steps(folder: Path) -> list[int]:
    """Return the steps that have a checkpoint, in ascending order."""
    if not folder.is_dir():
        return []
    matches = [NAME.fullmatch(path.name) for path in folder.glob("step-*")]
    return sorted(int(match[1]) for match in matches if match)
