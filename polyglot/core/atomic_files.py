"""Files that are whole or not there: written under another name, synced to the disk, then renamed."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from polyglot.core.errors import CheckpointError


def replace_file(path: Path, content: str | bytes) -> None:
    """A file is either what it was or what it shall be, also after a power cut. Raises CheckpointError when it cannot be written."""
    temporary = path.with_name(f".{path.name}.writing")
    try:
        write_synced(temporary, content.encode() if isinstance(content, str) else content)
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(
            OSError
        ):  # what was in the way of the file is in the way here, too
            temporary.unlink()
        raise CheckpointError(f"{path}: cannot be written: {error.strerror}") from None


def write_synced(path: Path, content: bytes) -> None:
    """Return once the disk has it."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Names, too, are on the disk only after this."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
