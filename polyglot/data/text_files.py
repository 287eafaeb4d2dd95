"""Readers of text line by line, from files and streams, plain or compressed.

A line ends at a newline and at no other character: U+0085 and U+2028 are part of the line. An empty
line is a line. The last newline may be missing. `\\r` before a newline and a byte order mark are
dropped.

The length of a line is limited, so that a file without line breaks does not fill the memory.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from polyglot.core.errors import DataError
from polyglot.data.compression import (
    Content,
    open_content,
    open_error_message,
    reading_errors,
    refuse_archives,
)
from polyglot.data.open_files import PooledFile, check_readable
from polyglot.data.size_limits import size_limit

BLOCK = 1 << 24
"""Bytes that are read at a time; also about the size of a chunk of a table."""

SMALL_BLOCK = 1 << 19
"""Bytes that are read at a time if many files are open together."""

PORTION = 1 << 11
"""Lines that are translated together: enough lines of similar length for full batches, and few
enough that the first translations come soon."""

LONG_LINE = 1 << 12
"""Characters from which on a line is translated alone."""

LONE_SURROGATE = re.compile("[\ud800-\udfff]")

LINE_LIMIT = 16.0
"""MiB of the longest line, unless POLYGLOT_LINE_MIB names another limit. Sentences are shorter than
a thousandth of it; a JSON line may hold a whole document."""

LineBlocks = Iterator[list[str]]
"""Lines of a text, block by block."""


def file_problem(path: Path) -> str | None:
    """Problem of a text file that shows without reading it; None for a usable file."""
    problem = _open_problem(path)
    if problem:
        return problem
    if is_read_once(path):
        return f"{path}: a pipe or device, which cannot be read twice; write its text to a file"
    return None if path.stat().st_size else f"{path}: the file is empty"


def _open_problem(path: Path) -> str | None:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return f"{path}: a folder, not a file"
        if stat.S_ISREG(mode):
            check_readable(path)
        return None
    except FileNotFoundError:
        return f"{path}: no such file"
    except OSError as error:
        return open_error_message(path, error)


def is_read_once(path: Path) -> bool:
    """True for a pipe or device, such as `<(zcat …)`, which cannot be read a second time."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def line_blocks(
    path: Path,
    *,
    empty: bool = False,
    start: int = 0,
    block: int = BLOCK,
) -> LineBlocks:
    """Yield the lines of a file, block by block.

    empty: accept a file without lines. start: number of first lines that are skipped without
    decoding. block: about how many bytes of the file are in memory.
    Raises DataError for a file that cannot be read, and with the line number for invalid UTF-8.
    """
    problem = _open_problem(path)
    if problem:
        raise DataError(problem)

    lines_read = start
    blocks = _skip_lines(_byte_blocks(path, block), start)
    for lines in _decode(blocks, place=str(path), lines_before=start):
        lines_read += len(lines)
        yield lines
    if not lines_read and not empty:
        raise DataError(f"{path}: the file is empty")


def estimate_line_count(path: Path) -> int:
    """Number of lines of a file, estimated from the length of the first lines."""
    size = path.stat().st_size
    with _open_reading(path) as (content, source):
        text = content.stream.read(SMALL_BLOCK)
        lines = text.count(b"\n")
        text_size = len(text)
        if not content.is_compressed:
            return round(max(1, lines) * max(1, size / max(1, text_size)))

        # A small file is read ahead completely; its text is longer than the first block.
        while source.tell() >= size and text and text_size < BLOCK:
            text = content.stream.read(SMALL_BLOCK)
            lines += text.count(b"\n")
            text_size += len(text)
        return round(max(1, lines) * max(1, size / max(1, source.tell())))


def stream_blocks(stream: BufferedReader, *, name: str) -> LineBlocks:
    """Yield the lines of a stream as they arrive, so that typed lines are answered at once.

    Raises DataError as `line_blocks` does.
    """
    return _decode(_stream_bytes(stream, name), place=name)


def _stream_bytes(stream: BufferedReader, name: str) -> Iterator[bytes]:
    with reading_errors(name):
        content = open_content(stream, place=name, first_read=BLOCK)
        blocks = iter(lambda: content.stream.read1(BLOCK), b"")
        yield from _cut_at_newlines(refuse_archives(blocks, place=name), place=name)


def pipe_blocks(path: Path) -> LineBlocks:
    """Yield the lines of a pipe or device as they arrive, and close it after the last line."""
    with path.open("rb") as stream:
        yield from stream_blocks(stream, name=str(path))


def portions(blocks: Iterable[list[str]]) -> LineBlocks:
    """Regroup lines into portions of at most PORTION lines, in order.

    A line of more than LONG_LINE characters is a portion alone: the lines before it do not wait.
    """
    for lines in blocks:
        start = 0
        for number, line in enumerate(lines):
            if len(line) > LONG_LINE:
                yield from _divide(lines[start:number])
                yield [line]
                start = number + 1
        yield from _divide(lines[start:])


def _divide(lines: list[str]) -> LineBlocks:
    for start in range(0, len(lines), PORTION):
        yield lines[start : start + PORTION]


def _decode(blocks: Iterator[bytes], *, place: str, lines_before: int = 0) -> LineBlocks:
    """Decode blocks of whole lines. lines_before: number of lines of the file before them."""
    lines_decoded = lines_before
    for block in blocks:
        try:
            text = block.decode()
        except UnicodeDecodeError as error:
            line = lines_decoded + block.count(b"\n", 0, error.start) + 1
            byte = block[error.start]
            raise DataError(
                f"{place}, line {line}: not UTF-8 ({error.reason} 0x{byte:02x}); "
                "write the file in UTF-8"
            ) from None
        if not lines_decoded:
            text = text.removeprefix("\ufeff")
        text = text.replace("\r\n", "\n").removesuffix("\r")
        lines = text.split("\n")
        lines_decoded += len(lines)
        yield lines


def _cut_at_newlines(blocks: Iterator[bytes], *, place: str) -> Iterator[bytes]:
    """Regroup bytes into blocks of whole lines, without the newline at the end of each block.

    Raises DataError for a line that is longer than the limit, before it fills the memory.
    """
    limit = line_limit()
    lines_before = 0
    rest: list[bytes] = []
    rest_size = 0
    for block in blocks:
        head, newline, tail = block.rpartition(b"\n")
        if newline:
            lines = b"".join([*rest, head])
            _check_line_lengths(lines, limit, place=place, lines_before=lines_before)
            lines_before += lines.count(b"\n") + 1
            yield lines
            rest = []
            rest_size = 0
        rest.append(tail)
        rest_size += len(tail)
        if rest_size > limit:
            raise DataError(_long_line_message(place, lines_before + 1, limit))

    last_line = b"".join(rest)
    if last_line:
        yield last_line


def line_limit() -> int:
    """Largest number of bytes of a line or of a text in a table.

    Raises DataError for a wrong value of POLYGLOT_LINE_MIB.
    """
    return size_limit("POLYGLOT_LINE_MIB", default=LINE_LIMIT, unit="MiB")


def _check_line_lengths(lines: bytes, limit: int, *, place: str, lines_before: int) -> None:
    if len(lines) <= limit:
        return
    for number, line in enumerate(lines.split(b"\n"), start=lines_before + 1):
        if len(line) > limit:
            raise DataError(_long_line_message(place, number, limit))


def _long_line_message(place: str, line: int, limit: int) -> str:
    return (
        f"{place}, line {line}: longer than {limit / 2**20:g} MiB; a line holds one sentence. "
        "POLYGLOT_LINE_MIB sets another limit"
    )


def _skip_lines(blocks: Iterator[bytes], count: int) -> Iterator[bytes]:
    """Drop the first lines from blocks of whole lines."""
    for block in blocks:
        if not count:
            yield block
            continue
        lines = block.count(b"\n") + 1
        if lines > count:
            yield block.split(b"\n", count)[count]
        count = max(0, count - lines)


def _byte_blocks(path: Path, size: int) -> Iterator[bytes]:
    with _open_reading(path) as (content, _):
        blocks = iter(lambda: content.stream.read(size), b"")
        yield from _cut_at_newlines(refuse_archives(blocks, place=str(path)), place=str(path))


@contextmanager
def _open_reading(path: Path) -> Iterator[tuple[Content, BufferedReader]]:
    """Content of a file, and the file with its position in bytes, compressed or not.

    Raises DataError for a failure while it is read.
    """
    with reading_errors(str(path)):
        if is_read_once(path):
            file = path.open("rb", buffering=0)
        else:
            file = PooledFile(path)
        with BufferedReader(file) as source:
            yield open_content(source, place=str(path)), source
