"""Result of checking a file: intact or not, why, and what can be done."""

from __future__ import annotations

import errno
import stat
from dataclasses import dataclass
from pathlib import Path

INTACT = "intact"
DAMAGED = "damaged"
MISSING = "missing"
CHANGED = "changed"
UNCHECKED = "no checksum"
LEFTOVER = "left over"

PROBLEMS = (DAMAGED, MISSING, CHANGED)
"""States for which a check fails."""


@dataclass(frozen=True)
class FileCheck:
    """State of one file."""

    path: Path
    state: str
    """one of the states above"""
    message: str = ""
    """what is wrong, or what the file belongs to"""
    advice: str = ""
    """what can be done"""

    @property
    def is_problem(self) -> bool:
        return self.state in PROBLEMS


def is_regular_file(path: Path) -> bool:
    """True for a file or a link to one; others, such as a FIFO, may block a reader for ever.

    Raises FileNotFoundError if there is nothing.
    """
    return stat.S_ISREG(path.stat().st_mode)


def require_regular_file(path: Path) -> None:
    """Raise OSError if there is nothing, or something else than a file or a link to one."""
    if not is_regular_file(path):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def read_regular_file(path: Path) -> bytes:
    """Read a file of a run. Raises OSError, also for a FIFO, a device or a folder."""
    require_regular_file(path)
    return path.read_bytes()
