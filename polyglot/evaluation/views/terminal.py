"""Score matrices and comparisons as tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyglot.core.errors import pluralize
from polyglot.core.score_tables import ERROR_TITLES, KINDS, format_difference, format_number
from polyglot.evaluation.grid import (
    Grid,
    direct_grid,
    legend,
    mark_kind,
    matrix_title,
    mean_errors_by_kind,
    pivot_grid,
    pivot_name,
    signature_lines,
)
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.evaluation.significance import Comparison
from polyglot.tasks.pairs import LanguagePair

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

KIND_STYLES = {
    "supervised": "",
    "zero-shot": "bold magenta",
    "pivot": "cyan",
    "copy": "dim",
}
COLUMN_GAP = 3  # characters between two columns


def matrix_tables(matrix: ScoreMatrix) -> Iterator[Table]:
    """Tables that `evaluate` prints.

    All directions for each metric under the first condition; means for the other conditions.
    """
    first_condition = matrix.measures[0].condition
    for measure in matrix.measures:
        if measure.condition == first_condition:
            yield measure_table(matrix, measure)

    conditions = {measure.condition for measure in matrix.measures}
    if len(conditions) > 1:
        yield conditions_table(matrix)
    if any(pivot_grid(matrix, measure).values for measure in matrix.measures):
        yield pivot_table(matrix, matrix.measures[0])
    if any(cell.outputs for cell in matrix.all_cells):
        yield output_errors_table(matrix)


def measure_table(matrix: ScoreMatrix, measure: Measure | str) -> Table:
    """Scores of all directions, with the mean of each kind and the signature below."""
    from rich.text import Text

    grid = direct_grid(matrix, measure)
    pivots = pivot_grid(matrix, measure)
    means = []
    for kind, value, count in [*grid.means(), *pivots.means()]:
        name = mark_kind(kind, kind)
        cells = pluralize(count, "cell")
        text = f"{name} {format_number(value)} ({cells})"
        means.append(Text(text, style=KIND_STYLES[kind]))
    listed_means = Text(" · ").join(means)

    return titled_table(
        f"{grid.title} · {matrix_title(matrix)}",
        GridView(grid),
        Text.assemble("means: ", listed_means),
        legend(matrix),
        *signature_lines(matrix, measure),
    )


@dataclass(frozen=True)
class GridView:
    """Renders a grid; columns that do not fit into the terminal follow in further tables."""

    grid: Grid

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        yield from self._tables(console, options)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        from rich.measure import measure_renderables

        return measure_renderables(console, options, self._tables(console, options))

    def _tables(self, console: Console, options: ConsoleOptions) -> list[Table]:
        from rich.measure import Measurement

        empty_table = self._table([])
        first_column = Measurement.get(console, options, empty_table)
        available = options.max_width - first_column.maximum
        parts: list[list[str]] = [[]]
        remaining = available
        for target in self.grid.languages:
            width = COLUMN_GAP + self._width(target)
            if parts[-1] and width > remaining:
                parts.append([])
                remaining = available
            parts[-1].append(target)
            remaining -= width
        return [self._table(part) for part in parts]

    def _width(self, target: str) -> int:
        """Width of a column, without the gap."""
        width = len(target)
        for source in self.grid.languages:
            cell = self.grid.format_cell(LanguagePair(source, target))
            width = max(width, len(cell))
        return width

    def _table(self, targets: Sequence[str]) -> Table:
        table = plain_table("from ↓ into →", *targets)
        for source in self.grid.languages:
            pairs = [LanguagePair(source, target) for target in targets]
            cells = [self._cell(pair) for pair in pairs]
            table.add_row(source, *cells)
        return table

    def _cell(self, pair: LanguagePair) -> Text:
        from rich.text import Text

        kind = self.grid.kinds.get(pair, "")
        style = KIND_STYLES.get(kind, "")
        return Text(self.grid.format_cell(pair), style=style)


def conditions_table(matrix: ScoreMatrix) -> Table:
    """Mean of each kind for every measure."""
    scored_kinds = {cell.kind for cell in matrix.all_cells if cell.scores}
    kinds = [kind for kind in KINDS if kind in scored_kinds]
    columns = [mark_kind(kind, kind) for kind in kinds]
    table = plain_table("means", *columns)
    for measure in matrix.measures:
        means = matrix.means(measure)
        pivots = pivot_grid(matrix, measure)
        for kind, value, _ in pivots.means():
            means[kind] = value
        cells = [format_number(means.get(kind)) for kind in kinds]
        table.add_row(measure.title, *cells)
    return titled_table("All metrics and conditions", table)


def pivot_table(matrix: ScoreMatrix, measure: Measure | str) -> Table:
    """Direct and pivot translation of each pair, with two digits since differences are small."""
    direct = direct_grid(matrix, measure)
    pivot = pivot_grid(matrix, measure)
    route = pivot_name(matrix)
    table = plain_table("pair", "direct", route, "difference")
    for pair, value in pivot.values.items():
        difference = direct.values[pair] - value
        table.add_row(
            str(pair),
            direct.format_cell(pair, digits=2),
            pivot.format_cell(pair, digits=2),
            format_difference(difference),
        )
    title = f"{direct.title}: direct and pivot translation, {route}"
    return titled_table(title, table)


def output_errors_table(matrix: ScoreMatrix) -> Table:
    """Mean of each output error by kind."""
    table = plain_table("outputs", *ERROR_TITLES.values())
    for kind, errors in mean_errors_by_kind(matrix).items():
        table.add_row(mark_kind(kind, kind), *errors.values())
    return titled_table("Output errors. In brackets: the same measure for the references.", table)


def comparison_table(comparison: Comparison) -> Table:
    """Scores of each direction and system, with the mean of each kind below."""
    table = plain_table("direction", *comparison.names)
    for direction, scores in comparison.rows.items():
        kinds = comparison.kinds[direction]
        cells = []
        for name, kind in zip(comparison.names, kinds):
            score = scores[name].format()
            cells.append(mark_kind(kind, score))
        table.add_row(direction, *cells)

    table.add_section()
    for kind, means in comparison.means().items():
        cells = [format_number(means.get(name)) for name in comparison.names]
        table.add_row(mark_kind(kind, kind), *cells)

    noun = "system" if comparison.averages_runs else "run"
    systems = pluralize(len(comparison.names), noun)
    title = f"{comparison.measure.title} of {systems}"
    return titled_table(title, table, comparison.note)


def plain_table(first_column: str, *columns: str) -> Table:
    """Empty table; all columns except the first are aligned to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(first_column, style="bold")
    for column in columns:
        # The name of a run could look like markup of rich, so it is not given as plain string.
        table.add_column(Text(column), justify="right", overflow="fold")
    return table


def titled_table(title: str, body: Table | GridView, *lines: object) -> Table:
    """Table with a title above and lines below, which may be wider than the table."""
    from rich.table import Table
    from rich.text import Text

    outer = Table.grid()
    outer.add_row(Text(title, style="bold"))
    outer.add_row(body)
    for line in lines:
        if not isinstance(line, Text):
            line = Text(str(line), style="dim", overflow="fold")
        outer.add_row(line)
    return outer
