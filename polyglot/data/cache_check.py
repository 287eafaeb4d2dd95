"""Check of the cached tables: intact or not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from polyglot.core.file_checks import DAMAGED, INTACT, LEFTOVER, UNCHECKED, FileCheck
from polyglot.data.cache import FOLDER
from polyglot.data.cache_checksums import is_complete, is_intact, is_older_table

SUFFIX = ".arrow"
ADVICE = "remove it, or leave it: the next command that needs it writes it again from the text"


def find_cache(path: Path) -> Path | None:
    """Find the folder or file of cached tables at a path or below it; None without tables."""
    if path.is_file():
        return path if path.suffix == SUFFIX else None
    for folder in (path, path / FOLDER, path / "datasets" / FOLDER):
        if folder.is_dir() and any(folder.glob(f"*{SUFFIX}")):
            return folder
    return None


def check_cache(path: Path) -> Iterator[FileCheck]:
    """Check a table, or all tables of a folder; every file is read once."""
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.is_file())
    for file in files:
        try:
            yield _check_file(file)
        except FileNotFoundError:  # another process has removed it
            continue


def _check_file(file: Path) -> FileCheck:
    if file.suffix != SUFFIX:
        return FileCheck(file, LEFTOVER, "being written, or of a process that was killed")
    try:
        if is_older_table(file):
            return FileCheck(file, UNCHECKED, "of an older version; it is not used", "remove it")
        if not is_complete(file):
            return FileCheck(file, DAMAGED, "it was cut off, or its end is damaged", ADVICE)
        if not is_intact(file):
            return FileCheck(file, DAMAGED, "its checksum differs", ADVICE)
    except PermissionError as error:
        return FileCheck(file, UNCHECKED, f"cannot be read: {error.strerror}")
    return FileCheck(file, INTACT)
