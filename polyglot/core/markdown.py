"""Markdown elements: escaped text, code spans, lists and tables."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

SPECIAL = re.compile(r"([\\`*\[\]>&#~]|<(?!\s)|(?<!\w)_|_(?!\w))")
"""Characters with a meaning in Markdown.

An underscore between letters has none, `<` before a space has none, and `table` escapes the pipe.
"""


def escape(text: str) -> str:
    """Return one line that Markdown shows as written, without tags, links or emphasis."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def code_span(text: str) -> str:
    """Return the text as a code span, with more backticks than it has in a row itself."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    ticks = "`" * (1 + longest)
    space = " " if longest else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def bullet_list(items: Mapping[str, str]) -> str:
    """Return one line `- name: value` per item."""
    return "\n".join(f"- {name}: {value}" for name, value in items.items())


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    words: Collection[str] = (),
) -> str:
    """Return a table. Columns are aligned to the right, except the first and those of text.

    words: heads of the columns with text.
    """
    alignments = []
    for number, name in enumerate(head):
        is_text = not number or name in words
        alignments.append("---" if is_text else "---:")
    return "\n".join(_table_line(cells) for cells in (head, alignments, *rows))


def _table_line(cells: Sequence[object]) -> str:
    escaped = [str(cell).replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(escaped)} |"
