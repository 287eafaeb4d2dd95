"""Share of letters in a line: low for tables, numbers, decorations and code."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy
from numpy.typing import NDArray


class _Deletion(dict[int, int | None]):
    """Table for `str.translate`, filled as characters occur: deletes some general categories."""

    def __init__(self, kept: str) -> None:
        """kept: first letters of the categories that stay."""
        super().__init__()
        self._kept = kept

    def __missing__(self, code: int) -> int | None:
        category = unicodedata.category(chr(code))
        result = code if category[0] in self._kept else None
        self[code] = result
        return result


_LETTERS = _Deletion("LM")
_VISIBLE = _Deletion("LMNPS")


def letter_share(line: str) -> float:
    """Share of letters, with their combining marks, in the visible characters; 1 without any."""
    visible = len(line.translate(_VISIBLE))
    if not visible:
        return 1.0
    return len(line.translate(_LETTERS)) / visible


def letter_shares(lines: Sequence[str]) -> NDArray[numpy.float64]:
    """Share of letters of each line, (N,)."""
    return numpy.array([letter_share(line) for line in lines])
