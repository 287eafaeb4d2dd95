"""Tables on disk: written once, found by a fingerprint of their origin, and memory-mapped.

They are `datasets.Dataset`s in the cache folder of the library `datasets` (HF_DATASETS_CACHE), made
without its builders: those take a tenth of a second each to find a cached table, and their text
reader ends a line also at other characters than a newline.

The total size of the tables is limited: the least recently used ones are removed first. A process
that has such a table open can still read it: the memory map outlives the file name.

A file ends with the checksum of its content, which is compared when a process opens the file for
the first time. A damaged file is written again from the text.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from polyglot.core.errors import DataError
from polyglot.data.cache_checksums import append_checksum, is_complete, is_intact
from polyglot.data.size_limits import size_limit

if TYPE_CHECKING:
    import pyarrow
    from datasets import Dataset
    from datasets.table import MemoryMappedTable

logger = logging.getLogger("polyglot")

DEFAULT_LIMIT = 50.0
"""GiB of all tables together, unless POLYGLOT_CACHE_GIB names another limit."""

RECENT_SECONDS = 3600
"""Tables used in the last seconds are kept even above the limit: another process may be about to
open them."""

FOLDER = "polyglot"
"""Folder of the tables in the cache folder of the library `datasets`."""

_verified: dict[Path, tuple[int, int, int]] = {}
"""Files whose checksum this process has compared, as they were at their last use."""


def cache_folder() -> Path:
    """Folder of all tables."""
    from datasets import config

    return Path(config.HF_DATASETS_CACHE) / FOLDER


def fingerprint(*parts: object) -> str:
    """Hash of everything that a table was made from, and name of its file.

    If a part gets another meaning, its text must change too.
    """
    text = "\0".join(map(str, parts))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def file_fingerprint(path: Path) -> str:
    """Fingerprint of a file by path, size and times; touching the file changes it."""
    status = path.stat()
    return fingerprint(path.resolve(), status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def cached_dataset(name: str, tables: Callable[[], Iterable[pyarrow.Table]]) -> Dataset:
    """Open the dataset with this fingerprint; if it is not on disk, write it first.

    tables: returns the rows; called only if the dataset must be written. The file is written under
    a temporary name and renamed when complete, so that a killed or concurrent process does no harm.
    A damaged file is written again. Raises DataError if the cache folder cannot be used.
    """
    from datasets import Dataset

    limit = size_limit("POLYGLOT_CACHE_GIB", default=DEFAULT_LIMIT, unit="GiB")
    path = cache_folder() / f"{name}.arrow"
    try:
        if not _can_be_used(path):
            _write(path, tables())
            _prune(path.parent, limit)
        return Dataset(_open_table(path, tables), fingerprint=name)
    except OSError as error:
        raise DataError(
            f"{path}: the cache cannot be used: {error.strerror or error}; "
            "HF_DATASETS_CACHE may name another folder"
        ) from None


def _open_table(path: Path, tables: Callable[[], Iterable[pyarrow.Table]]) -> MemoryMappedTable:
    """Open a table and mark it as used; write it again if another process has removed it."""
    from datasets.table import MemoryMappedTable

    try:
        with suppress(PermissionError):  # in a shared cache, the file of another user
            os.utime(path)
        table = MemoryMappedTable.from_file(str(path))
    except FileNotFoundError:
        _write(path, tables())
        table = MemoryMappedTable.from_file(str(path))
    with suppress(FileNotFoundError):
        _verified[path] = _identity(path)
    return table


def _can_be_used(path: Path) -> bool:
    """Tell if the file is complete and its checksum is right; a damaged file is logged."""
    try:
        if not is_complete(path):
            return False
        if _verified.get(path) == _identity(path) or is_intact(path):
            return True
    except FileNotFoundError:  # another process has removed it at this moment
        return False
    logger.warning(
        f"{path}: damaged, its checksum differs; it is a cache and is written again from the text"
    )
    return False


def _identity(path: Path) -> tuple[int, int, int]:
    """Inode, size and time of the last change or use of a file."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _prune(folder: Path, limit: int) -> None:
    """Remove the least recently used files until all fit into the limit (in bytes).

    Incomplete files of killed processes are removed in the same way.
    """
    files = []
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # another process may remove it at this moment
            status = path.stat()
            files.append((status.st_mtime, status.st_size, path))

    total_size = sum(size for _, size, _ in files)
    for last_use, size, path in sorted(files):
        is_recent = last_use > time.time() - RECENT_SECONDS
        if total_size <= limit or is_recent:
            return
        with suppress(PermissionError):
            path.unlink(missing_ok=True)
            total_size -= size


def _write(path: Path, tables: Iterable[pyarrow.Table]) -> None:
    from datasets.arrow_writer import ArrowWriter

    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}")
    try:
        with ArrowWriter(path=str(temporary)) as writer:
            for table in tables:
                writer.write_table(table, writer_batch_size=max(1, len(table)))
            writer.finalize()
        append_checksum(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
