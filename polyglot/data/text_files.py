"""Readers of text files line by line: plain text, TSV or JSON lines, plain or gzipped.

A line ends at a newline and at no other character: U+0085 and U+2028 are part of the line. An empty
line is a line. The last newline may be missing. `\\r` before a newline and a byte order mark are
dropped.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from polyglot.core.errors import DataError, pluralize

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
GZIP_MAGIC = b"\x1f\x8b"
"""First two bytes of a gzip file; a UTF-8 text cannot start with them."""

LineBlocks = Iterator[list[str]]
"""Lines of a text, block by block."""

ColumnBlocks = Iterator[dict[str, list[str]]]
"""Rows of a table, block by block; each block has the texts of every language."""


def file_problem(path: Path) -> str | None:
    """Problem of a text file that shows without reading it; None for a usable file."""
    problem = _open_problem(path)
    if problem:
        return problem
    return None if path.stat().st_size else f"{path}: the file is empty"


def _open_problem(path: Path) -> str | None:
    try:
        with path.open("rb"):
            return None
    except FileNotFoundError:
        return f"{path}: no such file"
    except IsADirectoryError:
        return f"{path}: a folder, not a file"
    except OSError as error:
        return f"{path}: cannot be read: {error.strerror}"


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
    with _open_reading(path) as file:
        beginning = file.read(SMALL_BLOCK)
        bytes_read = len(beginning)
        if isinstance(file, gzip.GzipFile):
            bytes_read = file.fileobj.tell()  # compressed bytes
    lines = max(1, beginning.count(b"\n"))
    ratio = path.stat().st_size / max(1, bytes_read)
    return round(lines * max(1, ratio))


def stream_blocks(stream: BufferedReader, *, name: str) -> LineBlocks:
    """Yield the lines of a stream as they arrive, so that typed lines are answered at once.

    Raises DataError as `line_blocks` does.
    """
    blocks = iter(lambda: stream.read1(BLOCK), b"")
    return _decode(_cut_at_newlines(blocks), place=name)


def pipe_blocks(path: Path) -> LineBlocks:
    """Yield the lines of a named pipe as they arrive, and close it after the last line."""
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


def _cut_at_newlines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Regroup bytes into blocks of whole lines, without the newline at the end of each block."""
    rest: list[bytes] = []
    for block in blocks:
        head, newline, tail = block.rpartition(b"\n")
        if newline:
            yield b"".join([*rest, head])
            rest = []
        rest.append(tail)

    last_line = b"".join(rest)
    if last_line:
        yield last_line


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
    with _open_reading(path) as file:
        blocks = iter(lambda: file.read(size), b"")
        yield from _cut_at_newlines(blocks)


@contextmanager
def _open_reading(path: Path) -> Iterator[BinaryIO]:
    """Open a file, gzipped or not; raises DataError for a failure while it is read."""
    try:
        with _open(path) as file:
            yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: the gzip file is damaged or was cut off: {error}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None


def _open(path: Path) -> BinaryIO:
    """Open a file; its first bytes, not its name, tell if it is gzipped."""
    with path.open("rb") as file:
        is_gzipped = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    return gzip.open(path) if is_gzipped else path.open("rb")


def tsv_rows(
    path: Path,
    columns: Mapping[str, int],
    *,
    header: bool,
    start: int = 0,
    block: int = BLOCK,
) -> ColumnBlocks:
    """Yield blocks of columns of a TSV file; quotes have no meaning.

    columns: number of the column of each language, from 1. start: first row, from 0.
    Raises DataError for a row with too few columns.
    """
    lines_read = start + 1 if header and start else start
    last_column = max(columns.values())
    for lines in line_blocks(path, start=lines_read, block=block):
        header_lines = 1 if header and not lines_read else 0
        rows = [line.split("\t") for line in lines[header_lines:]]
        for number, row in enumerate(rows, start=lines_read + header_lines + 1):
            if len(row) < last_column:
                raise DataError(
                    f"{path}, line {number}: {pluralize(len(row), 'column')}, "
                    f"but column {last_column} is needed; tabs separate them"
                )
        lines_read += len(lines)
        texts = {}
        for language, column in columns.items():
            texts[language] = [row[column - 1] for row in rows]
        yield texts


def json_rows(
    path: Path,
    keys: Mapping[str, str],
    *,
    start: int = 0,
    block: int = BLOCK,
) -> ColumnBlocks:
    """Yield blocks of texts of a JSON lines file.

    keys: key of each language; `translation.de` is the key `de` of the object at `translation`.
    start: first row, from 0. Raises DataError for a line that is not such an object.
    """
    key_paths = {language: key.split(".") for language, key in keys.items()}
    line_number = start
    for lines in line_blocks(path, start=start, block=block):
        texts: dict[str, list[str]] = {language: [] for language in keys}
        for line in lines:
            line_number += 1
            value = parse_json_line(path, line_number, line)
            place = f"{path}, line {line_number}"
            for language, key_path in key_paths.items():
                texts[language].append(_text_at(value, key_path, place=place))
        yield texts


def parse_json_line(path: Path, number: int, line: str) -> object:
    """Parse a line of a JSON lines file; raises DataError with its number if it is not JSON."""
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path}, line {number}: no JSON: {error.msg} at character {error.pos + 1}; "
            "every line is one object"
        ) from None


def _text_at(value: object, key_path: list[str], *, place: str) -> str:
    """Text at a path of keys in nested objects, on a single line."""
    key_name = ".".join(key_path)
    for key in key_path:
        if not isinstance(value, dict):
            raise DataError(f"{place}: no {key_name!r} in this object")
        if key not in value:
            keys = ", ".join(map(str, value))
            raise DataError(f"{place}: no {key_name!r} in this object; it has {keys}")
        value = value[key]

    if not isinstance(value, str):
        raise DataError(f"{place}: {key_name!r} is {json.dumps(value)[:40]}, not a text")
    if LONE_SURROGATE.search(value):
        raise DataError(
            f"{place}: {key_name!r} contains half a character (a lone surrogate), "
            "which is not valid text"
        )
    return re.sub(r"[\r\n]+", " ", value)  # a sentence is printed on one line
