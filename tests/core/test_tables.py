"""Tables of the terminal: complete numbers, readable lines and straight columns at every width."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.text import Text

from polyglot.core.console import SafeConsole, isolate_right_to_left
from polyglot.core.tables import COLUMN_GAP, FoldedTable
from polyglot.core.terminal_markdown import FoldedMarkdown
from polyglot.evaluation.grid import Grid
from polyglot.evaluation.views.terminal import grid_table
from polyglot.tasks.pairs import LanguagePair

WIDTHS = (40, 60, 80, 120)
NAMES = ["de", "zh_Hant", "日本語", "עברית", "العربية", "हिन्दी", "ไทย", "עברית-日本語", "e\u0301"]
"""Names of runs and languages in scripts with wide, combining and right-to-left characters."""


def shown(table: object, *, width: int, is_terminal: bool = False) -> str:
    """Print to a console of this width, or without a width as in a pipe."""
    output = io.StringIO()
    console = SafeConsole(
        file=output,
        width=width,
        force_terminal=is_terminal,
        color_system=None,
    )
    console.print(table)
    return output.getvalue()


def read_blocks(text: str, *, first_column: str) -> dict[tuple[str, str], str]:
    """Read the cells of all blocks by the names of their row and column, without spaces in them."""
    cells = {}
    head: list[str] = []
    for line in text.splitlines():
        if not line.strip() or "──" in line:
            continue
        name, *content = re.split(rf" {{{COLUMN_GAP},}}", line.strip())
        if name == first_column:
            head = content
            continue
        assert len(content) == len(head)
        for column, cell in zip(head, content):
            assert (name, column) not in cells
            cells[name, column] = cell
    return cells


def language_grid(count: int) -> Grid:
    """Grid of `count` languages whose scores are all different."""
    languages = [f"l{number}" for number in range(count)]
    values = {}
    kinds = {}
    for row, source in enumerate(languages):
        for column, target in enumerate(languages):
            pair = LanguagePair(source, target)
            values[pair] = row + column / 10
            kinds[pair] = ("supervised", "zero-shot", "copy")[(row + column) % 3]
    return Grid("BLEU", languages, kinds, values)


@pytest.mark.parametrize("width", [*WIDTHS, None])
@pytest.mark.parametrize("count", [5, 15, 30, pytest.param(100, marks=pytest.mark.slow)])
def test_a_matrix_has_every_number_at_every_width(
    count: int, width: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a width: in a pipe."""
    monkeypatch.delenv("COLUMNS", raising=False)
    grid = language_grid(count)
    text = shown(grid_table(grid), width=width)
    assert "…" not in text
    assert max(map(cell_len, text.splitlines())) <= (width or 80)
    cells = read_blocks(text, first_column="from ↓ into →")
    assert len(cells) == count**2
    for (source, target), cell in cells.items():
        assert cell == grid.format_cell(LanguagePair(source, target))


def test_a_matrix_of_100_languages_has_every_number() -> None:
    grid = language_grid(100)
    text = shown(grid_table(grid), width=80)
    assert len(read_blocks(text, first_column="from ↓ into →")) == 10_000


numbers = st.floats(0, 1e9).map(lambda value: f"{value:,.1f}") | st.just("12.5 (0.4) %")
rows = st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True)
columns = st.lists(
    st.sampled_from([*NAMES, "parameters of one, at most", "many_to_many_with_copies"]),
    max_size=12,
    unique=True,
)


@settings(deadline=None, max_examples=25)
@given(rows, columns, st.integers(40, 130), st.data())
def test_numbers_are_whole_and_columns_are_straight(names, titles, width, data) -> None:
    table = FoldedTable("system", *titles)
    expected = []
    for name in names:
        cells = [data.draw(numbers) for _ in titles]
        table.add_row(name, *cells)
        expected += cells
    text = shown(table, width=width, is_terminal=True)
    lines = text.splitlines()
    assert max(map(cell_len, lines)) <= width
    assert "…" not in text
    for number in expected:
        assert text.count(number) >= expected.count(number)
    check_straight(lines)


def check_straight(lines: list[str]) -> None:
    """Every row of a block ends where its rule ends, in cells of the terminal."""
    rule = 0
    for line in lines:
        if "──" in line:
            rule = cell_len(line)
        elif not line.strip():
            rule = 0
        elif rule:
            assert cell_len(line) == rule


def test_titles_and_text_are_wrapped_if_then_all_columns_fit() -> None:
    table = FoldedTable("task", "sentences", "left out", "source tokens", text_columns={"left out"})
    table.add_row("de-fr", "1,234,567", "12 too long, 3 empty, 15 of a ratio above 9", "23,456,789")
    text = shown(table, width=60)
    assert text.count("de-fr") == 1
    assert "tokens" in text
    assert "…" not in text
    assert "12 too long" in text
    assert "1,234,567" in text
    narrow = shown(table, width=30)
    assert narrow.count("de-fr") > 1
    assert "1,234,567" in narrow
    assert "23,456,789" in narrow


def test_sections_and_missing_cells() -> None:
    table = FoldedTable("part", "count", title="Parts")
    table.add_row("a", "1")
    table.add_section()
    table.add_row("all")
    lines = [line.rstrip() for line in shown(table, width=40).splitlines()]
    assert lines == ["Parts", "", " part   count", " ────────────", " a          1", "", " all", ""]


def test_control_characters_and_line_breaks_in_cells() -> None:
    table = FoldedTable("name", "value")
    table.add_row("a\x1b[31m\nb", Text("1\n2"))
    assert "a\\x1b[31m b" in shown(table, width=40)
    assert "1 2" in shown(table, width=40)


def test_tables_of_markdown_pages_are_complete() -> None:
    head = "".join(f" measure{number} |" for number in range(9))
    alignments = " ---: |" * 9
    row = "".join(f" {number}.25 ± 0.10 |" for number in range(9))
    page = (
        f"# Title\n\n| name | words |{head}\n| --- | --- |{alignments}\n"
        f"| x | **some** `code` |{row}"
    )
    for width in WIDTHS:
        text = shown(FoldedMarkdown(page), width=width)
        assert "…" not in text
        assert "some code" in text
        for number in range(9):
            assert f"{number}.25 ± 0.10" in text


# Right to left


def test_words_from_right_to_left_are_isolated_on_a_terminal_only() -> None:
    table = FoldedTable("name", "BLEU")
    table.add_row("עברית", "12.3")
    assert "\u2068עברית\u2069   12.3" in shown(table, width=40, is_terminal=True)
    assert shown(table, width=40) == "\n name    BLEU\n ────────────\n עברית   12.3\n\n"


@pytest.mark.parametrize(
    ("text", "isolated"),
    [
        ("no Hebrew 12 日本", "no Hebrew 12 日本"),
        ("run שלום: 3 lines", "run [שלום]: 3 lines"),
        ("שלום עולם   12.3", "[שלום עולם]   12.3"),
        ("العربية (2) عربي", "[العربية (2) عربي]"),
        ("של\x1b[1mום", "[של]\x1b[1m[ום]"),
        ("שלום\nעולם", "[שלום]\n[עולם]"),
    ],
)
def test_isolated_words(text: str, isolated: str) -> None:
    expected = isolated.replace("\x1b[", "\0").replace("[", "\u2068").replace("]", "\u2069")
    assert isolate_right_to_left(text) == expected.replace("\0", "\x1b[")


@pytest.mark.parametrize("width", range(30, 90, 3))
def test_the_measured_width_is_that_of_the_widest_line(width: int) -> None:
    table = grid_table(language_grid(9))
    console = Console(width=width)
    measured = Measurement.get(console, console.options, table).maximum
    lines = shown(table, width=width).splitlines()
    assert measured == max(cell_len(line.rstrip()) for line in lines)
