"""Exclusive lock of a folder between processes."""

from __future__ import annotations

import fcntl
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from polyglot.core.atomic_files import open_without_links
from polyglot.core.errors import CheckpointError

LOCK_FILE = ".lock"
"""File in the locked folder. It stays: another process could wait for a removed file."""

HOLDER = re.compile(r"([0-9]{1,10}) ([a-z-]{1,40})\n")
"""Content of the file: number and command of the process that holds the lock."""


@contextmanager
def folder_lock(folder: Path, *, work: str) -> Iterator[None]:
    """Context manager that holds the lock of an existing folder; it does not wait.

    The system releases the lock when a process ends, also if it is killed. work: what the holder
    does, such as `training this run`. Raises CheckpointError that names the other process if
    another one holds the lock, or if the folder cannot be written.
    """
    path = folder / LOCK_FILE
    try:
        file = open_without_links(path, os.O_WRONLY | os.O_CREAT)
    except OSError as error:
        raise CheckpointError(f"{folder}: the folder cannot be written: {error.strerror}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CheckpointError(
                f"{folder}: another process is {work}{_describe_holder(path)}"
            ) from None
        except OSError as error:
            raise CheckpointError(f"{path}: cannot be locked: {error.strerror}") from None
        with suppress(OSError):  # on a full disk, the message of another process lacks the number
            os.ftruncate(file.fileno(), 0)
            os.write(file.fileno(), _this_process().encode())
        yield


def _this_process() -> str:
    """Number and command of this process: `1234 evaluate`."""
    command = "polyglot"
    for argument in sys.argv[1:]:
        if HOLDER.fullmatch(f"0 {argument}\n") and not argument.startswith("-"):
            command = argument
            break
    return f"{os.getpid()} {command}\n"


def _describe_holder(path: Path) -> str:
    """Number and command in a lock file; empty if it has another content."""
    try:
        with path.open("rb") as file:
            content = file.read(100)
    except OSError:
        return ""
    match = HOLDER.fullmatch(content.decode(errors="replace"))
    if not match:
        return ""
    return f" (process {match[1]}: {match[2]})"
