"""Tables of the terminal: whole numbers at every width, and columns of equal width.

Columns that do not fit follow in further blocks, with the names of the rows again. Names, titles
and text are wrapped; numbers are not. Widths are in cells of the terminal: 2 for a Chinese
character, 0 for a combining mark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

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


Widths = Sequence[int]
"""Width of each column."""


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
        self.head = []
        for column in (first_column, *columns):
            self.head.append(_as_text(column))
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
        row = []
        for cell in (name, *cells):
            row.append(_as_text(cell))
        while len(row) < len(self.head):
            row.append(Text())

        self.rows.append(row)
        for column, cell in enumerate(row):
            width = max(self._cell_widths[column], _width(cell))
            self._cell_widths[column] = width

    def add_section(self) -> None:
        """Leave a blank line after the rows so far."""
        last_row = len(self.rows) - 1
        self._section_ends.add(last_row)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        if self.title:
            yield Text(self.title, style="bold", overflow="fold")
        available = options.max_width - EDGE
        widths, blocks = self._layout(available)
        yield Text()
        for columns in blocks:
            yield from self._block(console, widths, columns)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        available = options.max_width - EDGE
        widths, blocks = self._layout(available)
        widest = 0
        for columns in blocks:
            block_widths = [widths[column] for column in columns]
            widest = max(widest, _total(block_widths))
        width = min(widest + EDGE, options.max_width)
        return Measurement(width, width)

    def _block(self, console: Console, widths: Widths, columns: Sequence[int]) -> Iterator[Text]:
        """Yield the lines of a block and a blank line."""
        blank = Text()
        for line in self._row(console, self.head, widths, columns):
            line.stylize("bold")
            yield line

        block_widths = [widths[column] for column in columns]
        rule = "─" * _total(block_widths)
        yield Text(f" {rule}", no_wrap=True, overflow="ignore")

        for number, row in enumerate(self.rows):
            yield from self._row(console, row, widths, columns)
            if number in self._section_ends:
                yield blank
        yield blank

    def _row(
        self,
        console: Console,
        row: Sequence[Text],
        widths: Widths,
        columns: Sequence[int],
    ) -> list[Text]:
        """Return the lines of a row; titles are at the bottom of their lines."""
        wrapped_cells = []
        height = 0
        for column in columns:
            cell_lines = _wrap(console, row[column], widths[column])
            wrapped_cells.append(cell_lines)
            height = max(height, len(cell_lines))

        cells = []
        for cell_lines in wrapped_cells:
            blank_lines = [Text()] * (height - len(cell_lines))
            if row is self.head:
                cells.append([*blank_lines, *cell_lines])
            else:
                cells.append([*cell_lines, *blank_lines])

        lines = []
        for number in range(height):
            line = Text(" ", no_wrap=True, overflow="ignore")
            for column, cell_lines in zip(columns, cells):
                content = cell_lines[number]
                self._append(line, content, column=column, width=widths[column])
            lines.append(line)
        return lines

    def _append(self, line: Text, content: Text, *, column: int, width: int) -> None:
        """Append one line of a cell with its alignment."""
        if column > 0:
            line.append(" " * COLUMN_GAP)
        padding = " " * (width - _width(content))
        is_aligned_left = column in self._wrapped
        if not is_aligned_left:
            line.append(padding)
        start = len(line)
        line.append_text(content)
        if column == 0:
            line.stylize("bold", start)
        if is_aligned_left:
            line.append(padding)

    def _layout(self, available: int) -> tuple[list[int], list[list[int]]]:
        """Return the width of each column, and the columns of each block.

        If wrapped titles and text bring all columns into one block, they are wrapped.
        """
        natural = self._natural_widths()
        all_columns = list(range(len(self.head)))
        if _total(natural) <= available or len(all_columns) == 1:
            return natural, [all_columns]

        # Titles are first wrapped only between words, and then within words.
        longest_title = max(natural)
        for shortest_title in (longest_title, NARROW_TITLE):
            narrow = self._narrow_widths(natural, shortest_title)
            if _total(narrow) <= available:
                widened = _widen(narrow, natural, available)
                return widened, [all_columns]

        widths = self._block_widths(natural, available)
        return widths, _fill_blocks(widths, available)

    def _natural_widths(self) -> list[int]:
        """Return the widths of the columns without wrapping."""
        widths = []
        for title, cell_width in zip(self.head, self._cell_widths):
            width = max(cell_width, _width(title))
            widths.append(width)
        return widths

    def _narrow_widths(self, natural: Widths, shortest_title: int) -> list[int]:
        """Return the widths of the columns with wrapped titles and text.

        Titles are wrapped between words, and within words that are longer than `shortest_title`.
        """
        widths = [natural[0]]
        for column in range(1, len(self.head)):
            if column in self._wrapped:
                width = min(natural[column], NARROW_TEXT)
            else:
                longest_word = _longest_word(self.head[column])
                title_width = min(longest_word, shortest_title)
                width = max(self._cell_widths[column], title_width)
            widths.append(width)
        return widths

    def _block_widths(self, natural: Widths, available: int) -> list[int]:
        """Return the widths of the columns so that each fits beside the names of the rows."""
        widest_number = 0
        for column in range(1, len(self.head)):
            widest_number = max(widest_number, self._number_width(column))

        beside_names = available - COLUMN_GAP
        largest_name = beside_names - (widest_number or NARROW_TEXT)
        name_width = max(NARROW_NAME, largest_name)
        name_width = min(natural[0], name_width)

        largest = beside_names - name_width
        widths = [name_width]
        for column in range(1, len(self.head)):
            width = min(natural[column], largest)
            width = max(width, self._number_width(column))
            widths.append(width)
        return widths

    def _number_width(self, column: int) -> int:
        """Return the width below which numbers would be cut; 0 for a column of text."""
        if column in self._wrapped:
            return 0
        return self._cell_widths[column]


def _as_text(content: str | Text) -> Text:
    """Return one line of text as it is shown: control characters are visible."""
    if isinstance(content, Text):
        text = content
    else:
        text = Text(content)
    shown = visible(text.plain)
    if "\n" in shown:
        shown = " ".join(shown.splitlines())
    if shown == text.plain:
        return text
    return Text(shown, style=text.style)


def _width(text: Text) -> int:
    return cell_len(text.plain)


def _longest_word(text: Text) -> int:
    longest = 0
    for word in text.plain.split():
        longest = max(longest, cell_len(word))
    return longest


def _wrap(console: Console, text: Text, width: int) -> list[Text]:
    """Break text at spaces into lines of at most this width; break longer words anywhere."""
    if _width(text) <= width:
        return [text]
    return list(text.wrap(console, max(1, width), overflow="fold"))


def _total(widths: Widths) -> int:
    """Width of a block with these columns, including the gaps."""
    gaps = COLUMN_GAP * (len(widths) - 1)
    return sum(widths) + gaps


def _widen(widths: Widths, natural: Widths, available: int) -> list[int]:
    """Divide the remaining width among the columns that are narrower than their content."""
    widened = list(widths)
    remaining = available - _total(widths)
    while remaining > 0:
        narrow_columns = []
        for column, width in enumerate(widened):
            if width < natural[column]:
                narrow_columns.append(column)
        if not narrow_columns:
            break
        for column in narrow_columns[:remaining]:
            widened[column] += 1
            remaining -= 1
    return widened


def _fill_blocks(widths: Widths, available: int) -> list[list[int]]:
    """Divide the columns into blocks of at most this width; each begins with the first column."""
    beside_names = available - widths[0]
    block = [0]
    blocks = [block]
    remaining = beside_names
    for column in range(1, len(widths)):
        width = COLUMN_GAP + widths[column]
        has_columns = len(block) > 1
        if has_columns and width > remaining:
            block = [0]
            blocks.append(block)
            remaining = beside_names
        block.append(column)
        remaining -= width
    return blocks
