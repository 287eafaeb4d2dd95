"""Safe file writes: atomic replacement, random temporary names, and no symbolic links.

A run directory may come from somebody else. Every new file is created with `O_EXCL`, and no write
follows a symbolic link at its last path component, so a prepared link cannot redirect a write to
another file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path
from typing import BinaryIO

from polyglot.core.errors import CheckpointError

NOT_REGULAR = (errno.ELOOP, errno.ENXIO, errno.EISDIR)
"""Reasons of `os.open` for a symbolic link, a FIFO that nobody reads, and a folder."""

TEMPORARY_SUFFIX = ".writing"
"""End of the names of temporary files and folders; a killed process may leave some."""


def replace_file(path: Path, content: str | bytes) -> None:
    """Write a file so that a crash or a power failure leaves either the old or the new content.

    A symbolic link with this name is replaced, not followed. Text is written in UTF-8; bytes of a
    file name that are not UTF-8 become an escape such as `\\udce9`, which JSON can read. Raises
    CheckpointError if the file cannot be written.
    """
    if isinstance(content, str):
        content = content.encode(errors="backslashreplace")
    start_of_name = os.fsencode(path.name)[:100].decode(errors="ignore")
    temporary = temporary_path(path.parent, prefix=f".{start_of_name}.")
    try:
        write_synced(temporary, content)
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        # The reason that made the write fail may make the removal fail, too.
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise CheckpointError(f"{path}: cannot be written: {error.strerror}") from None


def temporary_path(folder: Path, *, prefix: str = ".", suffix: str = TEMPORARY_SUFFIX) -> Path:
    """Return a path in the folder with a random name, which nobody can prepare in advance."""
    return folder / f"{prefix}{secrets.token_hex(8)}{suffix}"


def write_synced(path: Path, content: bytes) -> None:
    """Write a new file and return when its content is on the disk.

    Raises FileExistsError if there is a file or a link with this name.
    """
    with open_without_links(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def append(path: Path, content: bytes) -> None:
    """Append to a file, or create it. Raises OSError, also for a symbolic link or a FIFO."""
    with open_without_links(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) as file:
        file.write(content)


def open_without_links(path: Path, flags: int) -> BinaryIO:
    """Open a regular file for writing.

    flags: of `os.open`. Raises OSError, also for a symbolic link, and for a FIFO or a device, which
    may block a writer for ever.
    """
    not_regular = OSError(errno.EINVAL, "it is not a regular file", str(path))
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno in NOT_REGULAR:
            raise not_regular from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise not_regular
    return os.fdopen(descriptor, "wb")


def check_appendable(path: Path) -> None:
    """Raise OSError if `append` would refuse the file. A missing file is accepted, not created."""
    with contextlib.suppress(FileNotFoundError):
        open_without_links(path, os.O_WRONLY | os.O_APPEND).close()


def sync_folder(path: Path) -> None:
    """Sync the directory entries, so that a new name is on the disk too."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
