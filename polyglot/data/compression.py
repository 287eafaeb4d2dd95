"""Compressed content: gzip, bzip2, xz and zstd, recognized by its first bytes, not by a name.

Other formats are recognized too, but only named in the error. Memory does not depend on the size
of the content.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from polyglot.core.errors import DataError
from polyglot.data.open_files import TOO_MANY_OPEN

READABLE = "gzip, bzip2, xz or zstd"

SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
"""Usual ends of the names of compressed files."""

FIRST_READ = 1 << 13

BZIP2_STARTS = tuple(
    b"BZh%d" % level + first_block
    for level in range(1, 10)
    for first_block in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90")  # a block, or the end
)
ZSTD_STARTS = (
    b"\x28\xb5\x2f\xfd",
    *(bytes([0x50 + number]) + b"\x2a\x4d\x18" for number in range(16)),  # skippable frames
)


def _open_zstd(source: BinaryIO) -> BinaryIO:
    """Decompress with pyarrow, which `datasets` needs anyway.

    The library `zstandard` does not report a file that was cut off.
    """
    import pyarrow

    return pyarrow.CompressedInputStream(pyarrow.PythonFile(source, mode="r"), "zstd")


@dataclass(frozen=True)
class Format:
    """Format of compressed content."""

    name: str
    starts: tuple[bytes, ...]
    """possible first bytes; no UTF-8 text starts with them"""
    open: Callable[[BinaryIO], BinaryIO] | None
    """returns the content of a compressed stream; None if the program cannot read the format"""


FORMATS = (
    Format("gzip", (b"\x1f\x8b",), lambda source: gzip.GzipFile(fileobj=source)),
    Format("bzip2", BZIP2_STARTS, bz2.BZ2File),
    Format("xz", (b"\xfd7zXZ\0",), lzma.LZMAFile),
    Format("zstd", ZSTD_STARTS, _open_zstd),
    Format("zip", (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"), None),
    Format("7z", (b"7z\xbc\xaf\x27\x1c",), None),
    Format("rar", (b"Rar!\x1a\x07",), None),
    Format("lz4", (b"\x04\x22\x4d\x18", b"\x02\x21\x4c\x18"), None),
    Format("lzip", (b"LZIP\x01",), None),
    Format("lzma", (b"\x5d\0\0",), None),
    Format("lzop", (b"\x89LZO\0",), None),
    Format("compress (.Z)", (b"\x1f\x9d",), None),
    Format("snappy", (b"\xff\x06\0\0sNaPpY",), None),
    Format("Parquet", (b"PAR1\x15",), None),
)

TAR_MAGIC = slice(257, 262)
"""Place of `ustar` in a tar archive."""


@dataclass(frozen=True, slots=True)
class Content:
    """Content of a stream after decompression."""

    stream: BinaryIO
    is_compressed: bool


def open_content(source: BinaryIO, *, place: str, first_read: int = FIRST_READ) -> Content:
    """Recognize the format of a stream, which need not be seekable, and decompress it.

    place: name of the stream, for messages. first_read: largest number of bytes that are read to
    recognize the format. Raises DataError for a format that cannot be read.
    """
    start = _read_start(source, first_read)
    whole = io.BufferedReader(_Rejoined(start, source))
    for file_format in FORMATS:
        if not start.startswith(file_format.starts):
            continue
        if file_format.open is None:
            raise DataError(_unreadable_message(place, file_format.name))
        return Content(file_format.open(whole), is_compressed=True)
    return Content(whole, is_compressed=False)


def refuse_archives(blocks: Iterator[bytes], *, place: str) -> Iterator[bytes]:
    """Pass blocks of content on; raises DataError if they are a tar archive."""
    start = b""
    for block in blocks:
        if len(start) < TAR_MAGIC.stop:
            start += block[: TAR_MAGIC.stop]
            if start[TAR_MAGIC] == b"ustar":
                raise DataError(_unreadable_message(place, "tar"))
        yield block


@contextmanager
def reading_errors(place: str) -> Iterator[None]:
    """Turn errors of reading and decompressing into DataError."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
        raise DataError(_damaged_message(place, error)) from None
    except OSError as error:
        if error.errno is None:  # of bz2 and pyarrow
            raise DataError(_damaged_message(place, error)) from None
        raise DataError(open_error_message(place, error)) from None


def open_error_message(place: object, error: OSError) -> str:
    """Message for a file that cannot be opened or read."""
    message = f"{place}: cannot be read: {error.strerror}"
    if error.errno in TOO_MANY_OPEN:
        message += "; `ulimit -n` shows the limit of this process and raises it"
    return message


def _read_start(source: BinaryIO, size: int) -> bytes:
    """Read the bytes that are available; wait for more only if they are needed."""
    starts: list[bytes] = []
    for file_format in FORMATS:
        starts += file_format.starts

    read = b""
    while any(len(start) > len(read) and start.startswith(read) for start in starts):
        more = source.read1(size)
        if not more:
            break
        read += more
    return read


class _Rejoined(io.RawIOBase):
    """Stream with the bytes in front that were already read from it."""

    def __init__(self, start: bytes, rest: BinaryIO) -> None:
        self._start = start
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        if self._start:
            data = self._start[: len(buffer)]
            self._start = self._start[len(data) :]
        else:
            data = self._rest.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _unreadable_message(place: str, name: str) -> str:
    if name == "Parquet":
        return f"{place}: a Parquet file, not text; a corpus of type parquet reads it"
    kind = "archive" if name in ("zip", "7z", "rar", "tar") else "file"
    return (
        f"{place}: a {name} {kind}, which cannot be read; "
        f"unpack it, or compress the text with {READABLE}"
    )


def _damaged_message(place: str, error: Exception) -> str:
    return f"{place}: the compressed file is damaged or was cut off: {error}"
