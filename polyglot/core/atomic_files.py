"""Atomic file writes: write to a temporary file, sync it to the disk, then rename it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from polyglot.core.errors import CheckpointError


def replace_file(path: Path, content: str | bytes) -> None:
    """Write a file so that a crash or a power failure leaves either the old or the new content.

    Raises CheckpointError if the file cannot be written.
    """
    if isinstance(content, str):
        content = content.encode()
    temporary = path.with_name(f".{path.name}.writing")
    try:
        write_synced(temporary, content)
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        # The reason that made the write fail may make the removal fail, too.
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise CheckpointError(f"{path}: cannot be written: {error.strerror}") from None


def write_synced(path: Path, content: bytes) -> None:
    """Write a file and return when its content is on the disk."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Sync the directory entries, so that a new name is on the disk too."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
