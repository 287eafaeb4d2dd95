r"""Escape of text in tab-separated columns, as PostgreSQL and other databases write it.

A backslash is written as `\\`, a tab as `\t`, a line feed as `\n`, a carriage return as `\r`. Then
every row is one line with a fixed number of tabs. Text without these characters is not changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
CHARACTERS = {escape: character for character, escape in ESCAPES.items()}

_SPECIAL = re.compile(r"[\\\t\n\r]")
_ESCAPED = re.compile(r"\\[\\tnr]")


def escape(text: str) -> str:
    """Write a text without tabs and line breaks."""
    return _SPECIAL.sub(lambda match: ESCAPES[match[0]], text)


def unescape(text: str) -> str:
    """Return the text before `escape`; a backslash before another character stays."""
    return _ESCAPED.sub(lambda match: CHARACTERS[match[0]], text)


def tsv_line(fields: Iterable[object]) -> str:
    """Line of a table with escaped fields, without the line break at its end."""
    return "\t".join(escape(str(field)) for field in fields)
