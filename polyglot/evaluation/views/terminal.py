"""The matrix as tables: what each holds, and how the terminal shows it. Zero-shot cells, copies and pivots are marked in each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyglot.core.errors import pluralize
from polyglot.core.score_tables import ERROR_TITLES
from polyglot.evaluation.grid import (
    KIND_MARKS,
    LEGEND,
    PIVOT_LEGEND,
    Grid,
    direct_grid,
    matrix_title,
    mean_errors_by_kind,
    pivot_grid,
    pivot_name,
    signature_lines,
)
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.tasks.pairs import LanguagePair

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.measure import Measurement
    from rich.table import Table



STYLES = {"supervised": "", "zero-shot": "bold magenta", "pivot": "cyan", "copy": "dim"}
GAP = 3  # between two columns of a table in the terminal


# In the terminal ---------------------------------------------------------------------------------------------------------


def matrix_tables(matrix: ScoreMatrix) -> Iterator[Table]:
    """What `evaluate` prints: every metric under the first condition in full, and the rest as means."""
    first = matrix.measures[0].condition
    for measure in matrix.measures:
        if measure.condition == first:
            yield measure_table(matrix, measure)
    if len({measure.condition for measure in matrix.measures}) > 1:
        yield conditions_table(matrix)
    if any(grid.values for grid in (pivot_grid(matrix, measure) for measure in matrix.measures)):
        yield pivot_table(matrix, matrix.measures[0])
    if any(cell.outputs for cell in matrix.all_cells):
        yield outputs_table(matrix)


def measure_table(matrix: ScoreMatrix, measure: Measure | str) -> Table:
    """One measure as a table for rich, with the mean of each kind below and the signature it was scored with."""
    from rich.text import Text

    grid = direct_grid(matrix, measure)
    means = [
        Text(
            f"{KIND_MARKS[kind].format(kind)} {value:.1f} ({pluralize(count, 'cell')})", style=STYLES[kind]
        )
        for kind, value, count in (*grid.means(), *pivot_grid(matrix, measure).means())
    ]
    key = LEGEND + (f" · {PIVOT_LEGEND}" if matrix.pivots else "")
    return titled_table(
        f"{grid.title} · {matrix_title(matrix)}",
        Square(grid),
        Text.assemble("means: ", Text(" · ").join(means)),
        key,
        *signature_lines(matrix, measure),
    )


@dataclass(frozen=True)
class Square:
    """A grid for rich; where the terminal has no room for all columns, some of them after the others."""

    grid: Grid

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        yield from self._parts(console, options)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        from rich.measure import measure_renderables

        return measure_renderables(console, options, self._parts(console, options))

    def _parts(self, console: Console, options: ConsoleOptions) -> list[Table]:
        from rich.measure import Measurement

        room = options.max_width - Measurement.get(console, options, self._columns([])).maximum
        parts, left = [[]], room
        for target in self.grid.languages:
            shown = (
                self.grid.format_cell(LanguagePair(source, target)) for source in self.grid.languages
            )
            own = GAP + max(map(len, (target, *shown)))
            if parts[-1] and own > left:
                parts.append([])
                left = room
            parts[-1].append(target)
            left -= own
        return [self._columns(part) for part in parts]

    def _columns(self, targets: Sequence[str]) -> Table:
        from rich.text import Text

        result = plain_table("from ↓ into →", *targets)
        for source in self.grid.languages:
            pairs = [LanguagePair(source, target) for target in targets]
            result.add_row(
                source,
                *(
                    Text(self.grid.format_cell(pair), style=STYLES.get(self.grid.kinds.get(pair, ""), ""))
                    for pair in pairs
                ),
            )
        return result


def conditions_table(matrix: ScoreMatrix) -> Table:
    """The mean of each kind under every condition."""
    kinds = [
        kind
        for kind in KIND_MARKS
        if any(cell.kind == kind and cell.scores for cell in matrix.all_cells)
    ]
    rows = plain_table("means", *(KIND_MARKS[kind].format(kind) for kind in kinds))
    for measure in matrix.measures:
        means = matrix.means(measure) | {
            kind: value for kind, value, _ in pivot_grid(matrix, measure).means()
        }
        rows.add_row(
            measure.title, *(f"{means[kind]:.1f}" if kind in means else "–" for kind in kinds)
        )
    return titled_table("Under every condition", rows)


def pivot_table(matrix: ScoreMatrix, measure: Measure | str) -> Table:
    """Direct and in two hops, pair by pair; two digits, since differences are small."""
    direct, hops = direct_grid(matrix, measure), pivot_grid(matrix, measure)
    rows = plain_table("pair", "direct", pivot_name(matrix), "difference")
    for pair, value in hops.values.items():
        rows.add_row(
            str(pair),
            direct.format_cell(pair, digits=2),
            hops.format_cell(pair, digits=2),
            f"{direct.values[pair] - value:+.2f}",
        )
    return titled_table(f"{direct.title}, direct and {pivot_name(matrix)}", rows)


def outputs_table(matrix: ScoreMatrix) -> Table:
    """What is wrong with the outputs, kind by kind."""
    rows = plain_table("outputs", *ERROR_TITLES.values())
    for kind, shares in mean_errors_by_kind(matrix).items():
        rows.add_row(KIND_MARKS[kind].format(kind), *shares.values())
    return titled_table("What is wrong with the outputs; in brackets the same of the references", rows)


def plain_table(head: str, *columns: str) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    result = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    result.add_column(head, style="bold")
    for column in columns:
        result.add_column(
            Text(column), justify="right", overflow="fold"
        )  # the name of a run may look like rich's markup
    return result


def titled_table(title: str, body: Table | Square, *lines: object) -> Table:
    """One column, so that lines below are not wrapped to the width of the table."""
    from rich.table import Table
    from rich.text import Text

    result = Table.grid()
    result.add_row(Text(title, style="bold"))
    result.add_row(body)
    for line in lines:
        result.add_row(
            line if isinstance(line, Text) else Text(str(line), style="dim", overflow="fold")
        )
    return result
