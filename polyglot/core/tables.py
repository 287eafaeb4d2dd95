"""Tables of the terminal: whole numbers at every width, and columns of equal width.

Columns that do not fit follow in further blocks, with the names of the rows again. Names, titles
and text are wrapped; numbers are not. Widths are in cells of the terminal: 2 for a Chinese
character, 0 for a combining mark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.text import Text

from polyglot.core.console import visible

COLUMN_GAP = 3
EDGE = 1
"""Blank cells at the beginning of a line."""
NARROW_NAME = 8
"""Width to which the names of rows are wrapped, if necessary."""
NARROW_TITLE = 10
"""Width to which titles are wrapped, if all columns then fit."""
NARROW_TEXT = 24
"""Width to which text is wrapped, if all columns then fit."""


class FoldedTable:
    """Table that a console of any width shows completely."""

    def __init__(
        self,
        first_column: str,
        *columns: str | Text,
        title: str = "",
        text_columns: Collection[str] = (),
    ) -> None:
        """first_column: title of the row names. text_columns: titles of columns without numbers.

        Columns of text are aligned to the left, and wrapped if they are too wide.
        """
        self.title = title
        self.head = [_as_text(column) for column in (first_column, *columns)]
        self.rows: list[list[Text]] = []
        self._cell_widths = [0] * len(self.head)
        self._section_ends: set[int] = set()
        self._wrapped = {0}
        for number, column in enumerate(self.head):
            if column.plain in text_columns:
                self._wrapped.add(number)

    @property
    def row_count(self) -> int:
        return len(self.rows)

    def add_row(self, name: str | Text, *cells: str | Text) -> None:
        """Add a row; cells that are missing at its end are empty."""
        row = [_as_text(cell) for cell in (name, *cells)]
        while len(row) < len(self.head):
            row.append(Text())
        self.rows.append(row)
        for column, cell in enumerate(row):
            self._cell_widths[column] = max(self._cell_widths[column], _width(cell))

    def add_section(self) -> None:
        """Leave a blank line after the rows so far."""
        self._section_ends.add(len(self.rows) - 1)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        if self.title:
            yield Text(self.title, style="bold", overflow="fold")
        widths, blocks = self._layout(options.max_width - EDGE)
        yield Text()
        for columns in blocks:
            yield from self._block(console, widths, [0, *columns])

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        widths, blocks = self._layout(options.max_width - EDGE)
        widest = 0
        for columns in blocks:
            width = _total([widths[column] for column in (0, *columns)])
            widest = max(widest, width + EDGE)
        widest = min(widest, options.max_width)
        return Measurement(widest, widest)

    def _block(
        self,
        console: Console,
        widths: Sequence[int],
        columns: Sequence[int],
    ) -> Iterator[Text]:
        """Yield the lines of a block and a blank line."""
        total = _total([widths[column] for column in columns])
        blank = Text()
        titles = self._row(console, self.head, widths, columns)
        for line in titles:
            line.stylize("bold")
            yield line
        yield Text(f" {'─' * total}", no_wrap=True, overflow="ignore")
        for number, row in enumerate(self.rows):
            yield from self._row(console, row, widths, columns)
            if number in self._section_ends:
                yield blank
        yield blank

    def _row(
        self,
        console: Console,
        row: Sequence[Text],
        widths: Sequence[int],
        columns: Sequence[int],
    ) -> list[Text]:
        """Return the lines of a row; titles are at the bottom of their lines."""
        cells = [_wrap(console, row[column], widths[column]) for column in columns]
        height = max(map(len, cells))
        lines = []
        for number in range(height):
            line = Text(" ", no_wrap=True, overflow="ignore")
            for column, cell in zip(columns, cells):
                first = height - len(cell) if row is self.head else 0
                content = Text()
                if 0 <= number - first < len(cell):
                    content = cell[number - first]
                self._append(line, content, column=column, width=widths[column])
            lines.append(line)
        return lines

    def _append(self, line: Text, content: Text, *, column: int, width: int) -> None:
        """Append one line of a cell with its alignment."""
        if column > 0:
            line.append(" " * COLUMN_GAP)
        padding = " " * (width - _width(content))
        if column not in self._wrapped:
            line.append(padding)
        start = len(line)
        line.append_text(content)
        if column == 0:
            line.stylize("bold", start)
        if column in self._wrapped:
            line.append(padding)

    def _layout(self, available: int) -> tuple[list[int], list[list[int]]]:
        """Return the width of each column, and the columns of each block without the first.

        If wrapped titles and text bring all columns into one block, they are wrapped.
        """
        natural = self._natural_widths()
        others = list(range(1, len(self.head)))
        if _total(natural) <= available or not others:
            return natural, [others]
        for shortest_title in (max(natural), NARROW_TITLE):
            narrow = self._narrow_widths(natural, shortest_title)
            if _total(narrow) <= available:
                return _widen(narrow, natural, available), [others]

        widest_cells = max(map(self._number_width, others)) or NARROW_TEXT
        beside_names = available - COLUMN_GAP
        name_width = max(NARROW_NAME, beside_names - widest_cells)
        widths = [min(natural[0], name_width)]
        largest = beside_names - widths[0]
        for column in others:
            narrow_width = min(natural[column], largest)
            widths.append(max(narrow_width, self._number_width(column)))
        return widths, _fill_blocks(widths, available)

    def _natural_widths(self) -> list[int]:
        """Return the widths of the columns without wrapping."""
        widths = []
        for column, title in enumerate(self.head):
            widths.append(max(self._cell_widths[column], _width(title)))
        return widths

    def _narrow_widths(self, natural: Sequence[int], shortest_title: int) -> list[int]:
        """Return the widths of the columns with wrapped titles and text.

        Titles are wrapped between words, and within words that are longer than `shortest_title`.
        """
        widths = [natural[0]]
        for column in range(1, len(self.head)):
            if column in self._wrapped:
                widths.append(min(natural[column], NARROW_TEXT))
                continue
            title_width = min(_longest_word(self.head[column]), shortest_title)
            widths.append(max(self._cell_widths[column], title_width))
        return widths

    def _number_width(self, column: int) -> int:
        """Return the width below which numbers would be cut; 0 for a column of text."""
        if column in self._wrapped:
            return 0
        return self._cell_widths[column]


def _as_text(content: str | Text) -> Text:
    """Return one line of text as it is shown: control characters are visible."""
    if isinstance(content, Text):
        plain = content.plain
        style = content.style
    else:
        plain = content
        style = ""
    if not isinstance(content, Text) or "\n" in plain or visible(plain) != plain:
        return Text(visible(" ".join(plain.splitlines())), style=style)
    return content


def _width(text: Text) -> int:
    return cell_len(text.plain)


def _longest_word(text: Text) -> int:
    return max(map(cell_len, text.plain.split()), default=0)


def _wrap(console: Console, text: Text, width: int) -> list[Text]:
    """Break text that is wider at spaces, and words that are wider anywhere."""
    if _width(text) <= width:
        return [text]
    return list(text.wrap(console, max(1, width), overflow="fold"))


def _total(widths: Iterable[int]) -> int:
    """Width of a block with all these columns."""
    widths = list(widths)
    return sum(widths) + COLUMN_GAP * (len(widths) - 1)


def _widen(widths: Sequence[int], natural: Sequence[int], available: int) -> list[int]:
    """Divide the width that is left among the columns that are wrapped."""
    widened = list(widths)
    left = available - _total(widths)
    while left > 0:
        wrapped = [column for column, width in enumerate(widened) if width < natural[column]]
        if not wrapped:
            break
        for column in wrapped[:left]:
            widened[column] += 1
        left -= len(wrapped[:left])
    return widened


def _fill_blocks(widths: Sequence[int], available: int) -> list[list[int]]:
    """Divide the columns except the first into blocks of at most this width."""
    blocks: list[list[int]] = [[]]
    remaining = available - widths[0]
    for column in range(1, len(widths)):
        width = COLUMN_GAP + widths[column]
        if blocks[-1] and width > remaining:
            blocks.append([])
            remaining = available - widths[0]
        blocks[-1].append(column)
        remaining -= width
    return blocks
