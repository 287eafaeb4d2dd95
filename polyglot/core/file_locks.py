"""Exclusive lock of a folder between processes."""

from __future__ import annotations

import fcntl
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from polyglot.core.atomic_files import open_without_links
from polyglot.core.errors import CheckpointError
from polyglot.core.linked_folders import refuse_linked_folders

LOCK_FILE = ".lock"
"""File in the locked folder, which the holder removes at the end."""

REPORT_LOCK_FILE = ".report.lock"
"""Lock of the report: it can be written while the run trains."""

LOCK_FILES = (LOCK_FILE, REPORT_LOCK_FILE)

HOLDER = re.compile(r"([0-9]{1,10}) ([a-z-]{1,40})\n")
"""Content of the file: number and command of the process that holds the lock."""

ATTEMPTS = 100
"""Attempts to lock a file that other processes remove meanwhile."""


@contextmanager
def folder_lock(folder: Path, *, work: str, name: str = LOCK_FILE) -> Iterator[None]:
    """Context manager that holds the lock of an existing folder; it does not wait.

    The system releases the lock when a process ends, also if it is killed. work: what the holder
    does, such as `training this run`. name: one of LOCK_FILES. Raises CheckpointError that names
    the other process if another one holds the lock, if the folder cannot be written, or if a folder
    of a run is a link that leads out of it.
    """
    with _holding(folder / name, work=work):
        yield


@contextmanager
def output_lock(folder: Path, *, work: str) -> Iterator[None]:
    """Context manager that creates a folder for output, and holds its lock.

    Folders that it created are removed at the end if they contain no file. Raises CheckpointError
    as `folder_lock` does, or if the folder cannot be created.
    """
    created = _missing_folders(folder)
    try:
        with _holding(folder / LOCK_FILE, work=work, create_folder=True):
            try:
                yield
            finally:
                if folder in created:
                    _remove_empty_folders(folder)
    finally:
        for path in created:
            with suppress(OSError):  # it has files, or another process has removed it
                path.rmdir()


@contextmanager
def _holding(path: Path, *, work: str, create_folder: bool = False) -> Iterator[None]:
    """Context manager that holds the lock of a file, and removes it at the end."""
    refuse_linked_folders(path.parent)
    with _locked_file(path, work=work, create_folder=create_folder) as file:
        with suppress(OSError):  # on a full disk, the message of another process lacks the number
            os.ftruncate(file.fileno(), 0)
            os.write(file.fileno(), _this_process().encode())
        try:
            yield
        finally:
            _remove(path, file)


def _locked_file(path: Path, *, work: str, create_folder: bool) -> BinaryIO:
    """Create and lock a file. Raises CheckpointError, see `folder_lock`."""
    for _ in range(ATTEMPTS):
        try:
            if create_folder:
                path.parent.mkdir(parents=True, exist_ok=True)
            file = open_without_links(path, os.O_WRONLY | os.O_CREAT)
        except FileNotFoundError as error:
            if create_folder:  # another process has removed the empty folder
                continue
            raise _write_error(path.parent, error) from None
        except OSError as error:
            raise _write_error(path.parent, error) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            break
        except OSError as error:
            file.close()
            raise CheckpointError(f"{path}: cannot be locked: {error.strerror}") from None
        if _is_same_file(path, file):
            return file
        # The holder before has removed the file after this process had opened it.
        file.close()
    raise CheckpointError(f"{path.parent}: another process is {work}{_describe_holder(path)}")


def _is_same_file(path: Path, file: BinaryIO) -> bool:
    """Tell if the path still names an open file."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(file.fileno()))
    except OSError:
        return False


def _remove(path: Path, file: BinaryIO) -> None:
    """Remove the lock file of this process; another one with the same name stays."""
    if _is_same_file(path, file):
        with suppress(OSError):
            path.unlink()


def _missing_folders(folder: Path) -> list[Path]:
    """List the folder and its parents that do not exist yet, the innermost first."""
    missing = []
    while not folder.exists() and folder != folder.parent:
        missing.append(folder)
        folder = folder.parent
    return missing


def _remove_empty_folders(folder: Path) -> None:
    """Remove all folders below this one that contain no files."""
    for path, _, _ in os.walk(folder, topdown=False):
        with suppress(OSError):
            os.rmdir(path)


def _write_error(folder: Path, error: OSError) -> CheckpointError:
    return CheckpointError(f"{folder}: the folder cannot be written: {error.strerror}")


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
