"""Checksum of a cached table, in the last bytes of its file.

Readers of Arrow streams ignore everything after the end of the stream. One file is replaced at
once, whereas a table and a file beside it would not be.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

import xxhash

END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
"""The last eight bytes of an Arrow stream."""

MARK = b"polyglot xxh3:"
"""Bytes between the end of the stream and its checksum."""

DIGEST_SIZE = 16
TRAILER_SIZE = len(END_OF_STREAM) + len(MARK) + DIGEST_SIZE

BLOCK = 1 << 20


def append_checksum(path: Path) -> None:
    """Append the checksum of a complete Arrow stream to its file."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        digest = _checksum(file, size)
        file.seek(size)
        file.write(MARK + digest)


def is_complete(path: Path) -> bool:
    """Tell if a file exists, was not cut off, and has a checksum (those of old versions do not)."""
    try:
        with path.open("rb") as file:
            trailer = _read_trailer(file)
    except FileNotFoundError:
        return False
    return trailer.startswith(END_OF_STREAM + MARK)


def is_older_table(path: Path) -> bool:
    """Tell if a file ends as complete tables of older versions do, without a checksum."""
    with path.open("rb") as file:
        return _read_trailer(file).endswith(END_OF_STREAM)


def is_intact(path: Path) -> bool:
    """Compare the checksum of a complete file. Reads the whole file."""
    with path.open("rb") as file:
        trailer = _read_trailer(file)
        size = os.fstat(file.fileno()).st_size - len(MARK) - DIGEST_SIZE
        file.seek(0)
        return _checksum(file, size) == trailer[-DIGEST_SIZE:]


def _read_trailer(file: BinaryIO) -> bytes:
    size = os.fstat(file.fileno()).st_size
    file.seek(-min(TRAILER_SIZE, size), os.SEEK_END)
    return file.read()


def _checksum(file: BinaryIO, size: int) -> bytes:
    """XXH3 of the next bytes: as fast as memory, and made for accidents, not for attackers."""
    checksum = xxhash.xxh3_128()
    block = bytearray(BLOCK)
    view = memoryview(block)
    remaining = size
    while remaining > 0:
        count = file.readinto(view[: min(BLOCK, remaining)])
        if not count:
            break
        checksum.update(view[:count])
        remaining -= count
    return checksum.digest()
