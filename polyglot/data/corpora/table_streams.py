"""Streams of tables of which only a limited number is open at a time.

The library `datasets` keeps the files of a stream open. A stream that was not read for the longest
time is closed here, and opened again at its row when its next table is needed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow

MAX_OPEN = 16
"""Streams that are open at a time; each has two open files."""

Tables = Generator["pyarrow.Table", None, None]

_open_streams: OrderedDict[object, Tables] = OrderedDict()
"""Open streams by their readers, least recently read first."""


def read_tables(open_at: Callable[[int], Tables], start: int) -> Iterator[pyarrow.Table]:
    """Yield the tables of a stream from a row on.

    open_at: opens the stream at a row. To open it again, the rows before are read again.
    """
    reader = object()
    row = start
    try:
        while True:
            tables = _open_streams.pop(reader, None)
            if tables is None:
                _close_oldest()
                tables = open_at(row)
            _open_streams[reader] = tables
            table = next(tables, None)
            if table is None:
                return
            row += len(table)
            yield table
    finally:
        tables = _open_streams.pop(reader, None)
        if tables is not None:
            tables.close()


def _close_oldest() -> None:
    """Close streams until another one can be opened."""
    while len(_open_streams) >= MAX_OPEN:
        _, tables = _open_streams.popitem(last=False)
        tables.close()
