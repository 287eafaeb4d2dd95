"""Markdown for the pages that are written: tables, lists, and text that is shown as it stands."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence


def escape(text: str) -> str:
    """One line that Markdown shows as it was written: nothing in it is a tag, a link or emphasis.

    An underscore between letters and `<` before a space mean nothing, nor does a pipe outside of a table, which sees to its own.
    """
    return re.sub(r"([\\`*\[\]>&#~]|<(?!\s)|(?<!\w)_|_(?!\w))", r"\\\1", " ".join(text.split()))


def code_span(text: str) -> str:
    """The text between backticks, more of them than it has side by side."""
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if len(ticks) > 1 else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def bullet_list(items: Mapping[str, str]) -> str:
    """`- name: value`, line by line."""
    return "\n".join(f"- {name}: {value}" for name, value in items.items())


def table(
    head: Sequence[str], rows: Iterable[Sequence[object]], *, words: Collection[str] = ()
) -> str:
    """Columns stand to the right, but for the first and those that hold words. words: their heads"""
    lines = [
        head,
        ["---" if not number or name in words else "---:" for number, name in enumerate(head)],
        *rows,
    ]
    return "\n".join(
        f"| {' | '.join(str(each).replace('|', chr(92) + '|') for each in line)} |"
        for line in lines
    )
