"""Exclusive lock of a folder between processes."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polyglot.core.atomic_files import open_without_links
from polyglot.core.errors import CheckpointError

LOCK_FILE = ".lock"
"""File in the locked folder. It stays: another process could wait for a removed file."""


@contextmanager
def folder_lock(folder: Path, *, busy: str) -> Iterator[None]:
    """Context manager that holds the lock of an existing folder; it does not wait.

    The system releases the lock when a process ends, also if it is killed. busy: error message if
    another process holds the lock. Raises CheckpointError with it, or if the folder cannot be
    written.
    """
    try:
        file = open_without_links(folder / LOCK_FILE, os.O_WRONLY | os.O_CREAT)
    except OSError as error:
        raise CheckpointError(f"{folder}: the folder cannot be written: {error.strerror}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CheckpointError(busy) from None
        except OSError as error:
            raise CheckpointError(
                f"{folder / LOCK_FILE}: cannot be locked: {error.strerror}"
            ) from None
        yield
