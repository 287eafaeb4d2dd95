"""Tables on disk: written once, found again by a fingerprint of what they were made from, and memory-mapped.

They are `datasets.Dataset`s in the cache folder of `datasets` (HF_DATASETS_CACHE), made without its builders: those take a tenth
of a second each to find what they have cached, and their text reader has its own idea of a line.

All of them together stay below a bound: what was used longest ago goes first. Whoever has such a table open keeps what it reads: its
memory map outlives the name.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from polyglot.core.errors import DataError

if TYPE_CHECKING:
    import pyarrow
    from datasets import Dataset
    from datasets.table import MemoryMappedTable

BOUND = 50.0
"""GiB of all tables together, unless POLYGLOT_CACHE_GIB says otherwise."""
RECENT = 3600
"""Seconds in which what was used is not removed, whatever the bound: another process may be about to open it."""


def fingerprint(*parts: object) -> str:
    """One name for everything that a table was made from; change a part's meaning and its name must change too."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:32]


def file_fingerprint(path: Path) -> str:
    """A file as it is now; touching it is enough to have it read again."""
    status = path.stat()
    return fingerprint(path.resolve(), status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def cached_dataset(name: str, tables: Callable[[], Iterable[pyarrow.Table]]) -> Dataset:
    """The dataset of that fingerprint; `tables` gives its rows, and is called only when they are not on disk yet.

    Written to a file of this process and renamed when complete: who is stopped half-way, or comes second, does no harm.
    """
    from datasets import Dataset, config

    bound = _bound()
    path = Path(config.HF_DATASETS_CACHE) / "polyglot" / f"{name}.arrow"
    try:
        if not _is_complete(path):
            _write(path, tables())
            _prune(path.parent, bound)
        return Dataset(_opened(path, tables), fingerprint=name)
    except OSError as error:
        raise DataError(
            f"{path}: the cache cannot be used: {error.strerror or error}; HF_DATASETS_CACHE may name another folder"
        ) from None


def _opened(path: Path, tables: Callable[[], Iterable[pyarrow.Table]]) -> MemoryMappedTable:
    """The table, marked as used just now; written once more if another process has just removed it."""
    from datasets.table import MemoryMappedTable

    try:
        with suppress(PermissionError):  # somebody else's file in a shared cache
            os.utime(path)
        return MemoryMappedTable.from_file(str(path))
    except FileNotFoundError:
        _write(path, tables())
        return MemoryMappedTable.from_file(str(path))


def _prune(folder: Path, bound: int) -> None:
    """Remove what was used longest ago until all is within the bound, and what killed processes left half-written with it."""
    files = []
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # removed by another process meanwhile
            status = path.stat()
            files.append((status.st_mtime, status.st_size, path))
    size = sum(own for _, own, _ in files)
    for used, own, path in sorted(files):
        if size <= bound or used > time.time() - RECENT:
            return
        with suppress(PermissionError):
            path.unlink(missing_ok=True)
            size -= own


def _bound() -> int:
    """Bytes. Raises DataError for what is no number, is below 0 or has no end."""
    text = os.environ.get("POLYGLOT_CACHE_GIB", str(BOUND))
    try:
        bound = int(float(text) * 2**30)  # neither nan nor inf becomes one
    except (ValueError, OverflowError):
        bound = -1
    if bound < 0:
        raise DataError(
            f"POLYGLOT_CACHE_GIB: found {text!r}; expected a number of GiB, such as {BOUND:g}"
        )
    return bound


def _is_complete(path: Path) -> bool:
    """A stream of Arrow ends with eight bytes of its own; a file without them was cut off, by a full disk or a power cut."""
    try:
        with path.open("rb") as file:
            file.seek(-min(8, os.fstat(file.fileno()).st_size), os.SEEK_END)
            return file.read() == b"\xff\xff\xff\xff\0\0\0\0"
    except FileNotFoundError:
        return False


def _write(path: Path, tables: Iterable[pyarrow.Table]) -> None:
    from datasets.arrow_writer import ArrowWriter

    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}")
    try:
        with ArrowWriter(path=str(temporary)) as writer:
            for table in tables:
                writer.write_table(table, writer_batch_size=max(1, len(table)))
            writer.finalize()
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
