"""Readers of tables in text files: tab-separated columns and JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from polyglot.core.errors import DataError, pluralize
from polyglot.data.columns import MISSING, find_value, nested_names
from polyglot.data.text_files import BLOCK, LONE_SURROGATE, SMALL_BLOCK, LineBlocks, line_blocks
from polyglot.data.tsv import unescape

ColumnBlocks = Iterator[dict[str, list[str | None]]]
"""Rows of a table, block by block; each block has the texts of every language, None for null."""

SAMPLE_ROWS = 100
"""First rows of a JSON lines file that show its columns: a null in the first row hides some."""

BLANK_LINES = 1 << 16
"""Blank lines that are in memory together."""


def tsv_rows(
    path: Path,
    columns: Mapping[str, int],
    *,
    header: bool,
    escaped: bool = False,
    start: int = 0,
    block: int = BLOCK,
) -> ColumnBlocks:
    """Yield blocks of columns of a TSV file; quotes have no meaning.

    columns: number of the column of each language, from 1. escaped: tabs, line breaks and
    backslashes in the texts are written as `\\t`, `\\n`, `\\r` and `\\\\`. start: first row, from
    0. Raises DataError for a row with too few columns.
    """
    lines_read = start + 1 if header and start else start
    last_column = max(columns.values())
    for lines in without_blank_end(line_blocks(path, start=lines_read, block=block)):
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
            fields = [row[column - 1] for row in rows]
            if escaped:
                fields = [_single_line(unescape(field)) for field in fields]
            texts[language] = fields
        yield texts


def json_rows(
    path: Path,
    keys: Mapping[str, str],
    *,
    start: int = 0,
    block: int = BLOCK,
) -> ColumnBlocks:
    """Yield blocks of texts of a JSON lines file.

    keys: key of each language; `translation.de` is also the key `de` of the object at
    `translation`. start: first row, from 0. Raises DataError for a line that is not such an object.
    """
    line_number = start
    for lines in without_blank_end(line_blocks(path, start=start, block=block)):
        texts: dict[str, list[str | None]] = {language: [] for language in keys}
        for line in lines:
            line_number += 1
            value = parse_json_line(path, line_number, line)
            place = f"{path}, line {line_number}"
            for language, key in keys.items():
                texts[language].append(_text_at(value, key, place=place))
        yield texts


def json_columns(path: Path) -> list[str]:
    """Names of the columns in the first rows of a JSON lines file, nested ones with dots."""
    names: dict[str, None] = {}  # in order, each once
    first_lines = next(line_blocks(path, block=SMALL_BLOCK))[:SAMPLE_ROWS]
    for number, line in enumerate(first_lines, start=1):
        if number == 1 or not _is_blank(line):
            names |= dict.fromkeys(nested_names(parse_json_line(path, number, line)))
    return list(names)


def parse_json_line(path: Path, number: int, line: str) -> object:
    """Parse a line of a JSON lines file; raises DataError with its number if it is not JSON."""
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        reason = f"{error.msg} at character {error.pos + 1}"
    except RecursionError:
        reason = "nested too deeply"
    except ValueError:
        reason = "a number has too many digits"
    raise DataError(f"{path}, line {number}: no JSON: {reason}; every line is one object")


def without_blank_end(blocks: LineBlocks) -> LineBlocks:
    """Leave out blank lines at the end of a table; blank lines before other lines are kept."""
    blank_lines = 0
    for lines in blocks:
        end = len(lines)
        while end and _is_blank(lines[end - 1]):
            end -= 1
        if end:
            while blank_lines:
                count = min(blank_lines, BLANK_LINES)
                yield [""] * count
                blank_lines -= count
            yield lines[:end]
        blank_lines += len(lines) - end


def _is_blank(line: str) -> bool:
    """True for a line without text and columns; a tab separates two empty columns."""
    return "\t" not in line and not line.strip()


def _text_at(value: object, key: str, *, place: str) -> str | None:
    """Text of a column in nested objects, on a single line; None for null."""
    text = find_value(value, key)
    if text is MISSING:
        if not isinstance(value, dict):
            raise DataError(f"{place}: no {key!r} in this object")
        names = ", ".join(nested_names(value))
        raise DataError(f"{place}: no {key!r} in this object; it has {names}")
    if text is None:
        return None
    if not isinstance(text, str):
        raise DataError(f"{place}: {key!r} is {json.dumps(text)[:40]}, not a text")
    if LONE_SURROGATE.search(text):
        raise DataError(
            f"{place}: {key!r} contains half a character (a lone surrogate), "
            "which is not valid text"
        )
    return _single_line(text)


def _single_line(text: str) -> str:
    """Replace line breaks by spaces: a sentence is printed on one line."""
    return re.sub(r"[\r\n]+", " ", text)
