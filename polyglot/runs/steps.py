"""Which steps of a run have a checkpoint, as the names in its folder say; none is opened, and PyTorch is not needed."""

from __future__ import annotations

import re
from pathlib import Path

NAME = re.compile(r"step-(\d{8,})")


def steps(folder: Path) -> list[int]:
    """The steps that have a checkpoint, in order."""
    found = [NAME.fullmatch(path.name) for path in folder.glob("step-*")] if folder.is_dir() else []
    return sorted(int(match[1]) for match in found if match)
