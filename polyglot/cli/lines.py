"""Lines of a file or of standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path


def read_lines(file: Path | None) -> tuple[int | None, Iterator[list[str]]]:
    """Return the number of lines, None if it is unknown, and the lines in blocks.

    file: default standard input. Raises DataError with the line number for text that is not
    UTF-8; for a regular file this happens before the first block.
    """
    from polyglot.data.text_files import (
        is_read_once,
        line_blocks,
        pipe_blocks,
        stream_blocks,
    )

    if file is None:
        return None, stream_blocks(sys.stdin.buffer, name="standard input")
    if is_read_once(file):  # a pipe, such as `<(zcat …)`
        return None, pipe_blocks(file)
    total = sum(len(block) for block in line_blocks(file, empty=True))
    return total, line_blocks(file, empty=True)
