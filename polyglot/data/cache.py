"""Tables on disk: written once, found again by a fingerprint of what they were made from, and memory-mapped.

They are `datasets.Dataset`s in the cache folder of `datasets` (HF_DATASETS_CACHE), made without its builders: those take a tenth
of a second each to find what they have cached, and their text reader has its own idea of a line.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from polyglot.errors import DataError

if TYPE_CHECKING:
    import pyarrow
    from datasets import Dataset


def fingerprint(*parts: object) -> str:
    """One name for everything that a table was made from; change a part's meaning and its name must change too."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:32]


def file_fingerprint(path: Path) -> str:
    """A file as it is now; touching it is enough to have it read again."""
    status = path.stat()
    return fingerprint(path.resolve(), status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def cached(name: str, tables: Callable[[], Iterable[pyarrow.Table]]) -> Dataset:
    """The dataset of that fingerprint; `tables` gives its rows, and is called only when they are not on disk yet.

    Written to a file of this process and renamed when complete: who is stopped half-way, or comes second, does no harm.
    """
    from datasets import Dataset, config
    from datasets.table import MemoryMappedTable

    path = Path(config.HF_DATASETS_CACHE) / "polyglot" / f"{name}.arrow"
    try:
        if not _is_complete(path):
            _write(path, tables())
        return Dataset(MemoryMappedTable.from_file(str(path)), fingerprint=name)
    except OSError as error:
        raise DataError(f"{path}: the cache cannot be used: {error.strerror or error}; HF_DATASETS_CACHE may name another folder") from None


def _is_complete(path: Path) -> bool:
    """A stream of Arrow ends with eight bytes of its own; a file without them was cut off, by a full disk or a power cut."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        file.seek(-min(8, path.stat().st_size), os.SEEK_END)
        return file.read() == b"\xff\xff\xff\xff\0\0\0\0"


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
