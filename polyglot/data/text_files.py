"""One sentence after the other out of a file: plain text, TSV or JSON lines, each plain or gzipped.

A line is what stands before a newline and nothing else: U+0085 or U+2028 inside a sentence end no line. An empty line is a line,
the last newline may be missing, `\\r` before a newline and a byte order mark are dropped.
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

BLOCK = 1 << 24  # bytes read at once; also about what one chunk of a table holds
SMALL_BLOCK = 1 << 19  # the same where many files are open at once
PORTION = (
    1 << 11
)  # lines translated together: enough of similar length for full batches, few enough that the first are soon there
LONG_LINE = 1 << 12  # characters of a line that is translated alone
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def file_problem(path: Path) -> str | None:
    """What is wrong with a file that should hold some text, as far as can be said without reading it."""
    return _unreadable(path) or (None if path.stat().st_size else f"{path}: the file is empty")


def _unreadable(path: Path) -> str | None:
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
    path: Path, *, empty: bool = False, start: int = 0, block: int = BLOCK
) -> Iterator[list[str]]:
    """The lines of a file, a block of it at a time. Raises DataError with the line number for what is no UTF-8.

    empty: whether no line at all is fine, too. start: how many of the first lines are passed over, without looking at them.
    block: about how many bytes of the file are in memory at once.
    """
    if problem := _unreadable(path):
        raise DataError(problem)
    done = start
    for lines in _decoded(_behind(_byte_blocks(path, block), start), place=str(path), done=start):
        done += len(lines)
        yield lines
    if not done and not empty:
        raise DataError(f"{path}: the file is empty")


def estimate_line_count(path: Path) -> int:
    """How many lines a file has, from the length of the first ones."""
    with _opened(path) as file:
        first = file.read(SMALL_BLOCK)
        at = file.fileobj.tell() if isinstance(file, gzip.GzipFile) else len(first)
    return round(max(1, first.count(b"\n")) * max(1, path.stat().st_size / max(1, at)))


def stream_blocks(stream: BufferedReader, *, name: str) -> Iterator[list[str]]:
    """The lines of a stream as they arrive, so that what is typed is answered. Raises DataError as `line_blocks` does."""
    return _decoded(_whole_lines(iter(lambda: stream.read1(BLOCK), b"")), place=name)


def pipe_blocks(path: Path) -> Iterator[list[str]]:
    """The lines of a named pipe as they arrive; it is closed behind the last of them."""
    with path.open("rb") as stream:
        yield from stream_blocks(stream, name=str(path))


def portions(blocks: Iterable[list[str]]) -> Iterator[list[str]]:
    """The same lines, never more than PORTION at once, and a line of more than LONG characters alone: what comes before is done first."""
    for lines in blocks:
        start = 0
        for place, line in enumerate(lines):
            if len(line) > LONG_LINE:
                yield from _cut(lines[start:place])
                yield [line]
                start = place + 1
        yield from _cut(lines[start:])


def _cut(lines: list[str]) -> Iterator[list[str]]:
    return (lines[start : start + PORTION] for start in range(0, len(lines), PORTION))


def _decoded(blocks: Iterator[bytes], *, place: str, done: int = 0) -> Iterator[list[str]]:
    """done: lines of the file before these."""
    for block in blocks:
        try:
            text = block.decode()
        except UnicodeDecodeError as error:
            line = done + block.count(b"\n", 0, error.start) + 1
            raise DataError(
                f"{place}, line {line}: not UTF-8 ({error.reason} 0x{block[error.start]:02x}); write the file in UTF-8"
            ) from None
        lines = (
            (text.removeprefix("\ufeff") if not done else text)
            .replace("\r\n", "\n")
            .removesuffix("\r")
            .split("\n")
        )
        done += len(lines)
        yield lines


def _whole_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Blocks of bytes cut at newlines instead, without the newline that ends the last line of each."""
    rest: list[bytes] = []
    for block in blocks:
        head, newline, tail = block.rpartition(b"\n")
        if newline:
            yield b"".join([*rest, head])
            rest = []
        rest.append(tail)
    if last := b"".join(rest):
        yield last


def _behind(blocks: Iterator[bytes], lines: int) -> Iterator[bytes]:
    """Blocks of whole lines without so many of the first."""
    for block in blocks:
        own = block.count(b"\n") + 1 if lines else 0
        if own > lines or not lines:
            yield block.split(b"\n", lines)[lines]
        lines = max(0, lines - own)


def _byte_blocks(path: Path, size: int) -> Iterator[bytes]:
    with _opened(path) as file:
        yield from _whole_lines(iter(lambda: file.read(size), b""))


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with _open(path) as file:
            yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: the gzip file is damaged or was cut off: {error}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None


def _open(path: Path) -> BinaryIO:
    """What a file is decides, not its name: a gzip file begins with two bytes that no UTF-8 text begins with."""
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if zipped else path.open("rb")


def tsv_rows(
    path: Path, columns: Mapping[str, int], *, header: bool, start: int = 0, block: int = BLOCK
) -> Iterator[dict[str, list[str]]]:
    """Blocks of the wanted columns, each given by its number from 1, from a row on. No quotes: a field is what stands between tabs."""
    done = start + header if start else 0
    for lines in line_blocks(path, start=done, block=block):
        skip = int(header and not done)
        rows = [line.split("\t") for line in lines[skip:]]
        needed = max(columns.values())
        for number, row in enumerate(rows, start=done + skip + 1):
            if len(row) < needed:
                raise DataError(
                    f"{path}, line {number}: {pluralize(len(row), 'column')}, but column {needed} is needed; tabs separate them"
                )
        done += len(lines)
        yield {language: [row[column - 1] for row in rows] for language, column in columns.items()}


def json_rows(
    path: Path, keys: Mapping[str, str], *, start: int = 0, block: int = BLOCK
) -> Iterator[dict[str, list[str]]]:
    """Blocks of the wanted texts of a JSON lines file, from a row on; `translation.de` is the key `de` of the object at `translation`."""
    steps = {language: key.split(".") for language, key in keys.items()}
    done = start
    for lines in line_blocks(path, start=start, block=block):
        rows: dict[str, list[str]] = {language: [] for language in keys}
        for number, line in enumerate(lines, start=done + 1):
            value = json_line(path, number, line)
            for language in keys:
                rows[language].append(_at(value, steps[language], place=f"{path}, line {number}"))
        done += len(lines)
        yield rows


def json_line(path: Path, number: int, line: str) -> object:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path}, line {number}: no JSON: {error.msg} at character {error.pos + 1}; every line is one object"
        ) from None


def _at(value: object, keys: list[str], *, place: str) -> str:
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            found = f"; it has {', '.join(map(str, value))}" if isinstance(value, dict) else ""
            raise DataError(f"{place}: no {'.'.join(keys)!r} in this object{found}")
        value = value[key]
    if not isinstance(value, str):
        raise DataError(f"{place}: {'.'.join(keys)!r} is {json.dumps(value)[:40]}, not a text")
    if LONE_SURROGATE.search(value):
        raise DataError(
            f"{place}: {'.'.join(keys)!r} holds half a character (a lone surrogate), which is no text"
        )
    return re.sub(r"[\r\n]+", " ", value)  # a sentence is one line, since it will be printed as one
