"""Markdown in the terminal, with tables that are complete at every width."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markdown import Markdown, MarkdownElement, TableElement
from rich.text import Text

from polyglot.core.tables import FoldedTable


class FoldedTableElement(TableElement):
    """Table of a page; columns that are not aligned to the right are text."""

    def __rich_console__(
        self,
        console: Console,
        options: ConsoleOptions,
    ) -> Iterator[RenderableType]:
        header = self.header.row.cells
        text_columns = set()
        for cell in header:
            if cell.justify != "right":
                text_columns.add(cell.content.plain)
        titles = [_without_alignment(cell.content) for cell in header]
        table = FoldedTable(*titles, text_columns=text_columns)
        for row in self.body.rows if self.body else ():
            table.add_row(*[_without_alignment(cell.content) for cell in row.cells])
        yield table


class FoldedMarkdown(Markdown):
    """Markdown page for a console."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "table_open": FoldedTableElement,
    }


def _without_alignment(content: Text) -> Text:
    """Copy the text of a cell; the column has the alignment."""
    text = content.copy()
    text.justify = None
    return text
