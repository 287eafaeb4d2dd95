"""Score matrices and comparisons as tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean
from typing import TYPE_CHECKING

from polyglot.core.errors import abbreviate, pluralize
from polyglot.core.score_tables import (
    ERROR_TITLES,
    KINDS,
    NO_VALUE,
    format_difference,
    format_number,
)
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
from polyglot.evaluation.scored_texts import DIFFERENT_TEXTS_NOTE, have_different_texts
from polyglot.evaluation.significance import Comparison
from polyglot.tasks.pairs import LanguagePair

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from polyglot.core.tables import FoldedTable

KIND_STYLES = {
    "supervised": "",
    "zero-shot": "bold magenta",
    "pivot": "cyan",
    "copy": "dim",
}

MAX_PIVOT_ROWS = 40
"""Rows that a screen shows."""
MAX_REASONS = 8
"""Lines about directions without a score below a table."""
ALL_PAIRS_NOTE = "means over the pairs into each language; matrix.md has every pair"


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
        grid_table(grid),
        Text.assemble("means: ", listed_means),
        *_text_notes(matrix),
        legend(matrix),
        *reason_lines(matrix),
        *signature_lines(matrix, measure),
    )


def _text_notes(matrix: ScoreMatrix) -> list[str]:
    """Line below means over directions with different test texts; empty for one text."""
    if have_different_texts(matrix.all_cells):
        return [DIFFERENT_TEXTS_NOTE]
    return []


def reason_lines(matrix: ScoreMatrix) -> list[str]:
    """Reasons why directions have no score, one line each: `– no text in fr: de-fr, fr-de`."""
    directions: dict[str, list[str]] = {}
    for cell in matrix.all_cells:
        if cell.reason:
            directions.setdefault(cell.reason, []).append(cell.name)

    lines = []
    for reason, names in directions.items():
        lines.append(f"{NO_VALUE} {reason}: {abbreviate(names)}")
    hidden = len(lines) - MAX_REASONS
    if hidden > 0:
        reasons = pluralize(hidden, "other reason")
        lines = [*lines[:MAX_REASONS], f"{NO_VALUE} {reasons}: matrix.md has all"]
    return lines


def grid_table(grid: Grid) -> FoldedTable:
    """Table of a grid: rows are sources, columns are targets."""
    table = plain_table("from ↓ into →", *grid.languages)
    for source in grid.languages:
        cells = []
        for target in grid.languages:
            pair = LanguagePair(source, target)
            cells.append(_grid_cell(grid, pair))
        table.add_row(source, *cells)
    return table


def _grid_cell(grid: Grid, pair: LanguagePair) -> Text:
    from rich.text import Text

    kind = grid.kinds.get(pair, "")
    style = KIND_STYLES.get(kind, "")
    return Text(grid.format_cell(pair), style=style)


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
    title = with_test_set("All metrics and conditions", matrix.test_set)
    return titled_table(title, table, *_text_notes(matrix))


def pivot_table(matrix: ScoreMatrix, measure: Measure | str) -> Table:
    """Direct and pivot translation of each pair, with two digits since differences are small.

    For more than MAX_PIVOT_ROWS pairs, their means by target language.
    """
    direct = direct_grid(matrix, measure)
    pivot = pivot_grid(matrix, measure)
    route = pivot_name(matrix)
    title = f"{direct.title}: direct and pivot translation, {route}"
    title = with_test_set(title, matrix.test_set)
    if len(pivot.values) > MAX_PIVOT_ROWS:
        return titled_table(title, _pivot_means(direct, pivot, route), ALL_PAIRS_NOTE)

    table = plain_table("pair", "direct", route, "difference")
    for pair, value in pivot.values.items():
        difference = direct.values[pair] - value
        table.add_row(
            str(pair),
            direct.format_cell(pair, digits=2),
            pivot.format_cell(pair, digits=2),
            format_difference(difference),
        )
    return titled_table(title, table)


def _pivot_means(direct: Grid, pivot: Grid, route: str) -> FoldedTable:
    """Means of direct and pivot translation over the pairs into each language."""
    direct_scores: dict[str, list[float]] = {}
    pivot_scores: dict[str, list[float]] = {}
    for pair, value in pivot.values.items():
        direct_scores.setdefault(pair.target, []).append(direct.values[pair])
        pivot_scores.setdefault(pair.target, []).append(value)

    table = plain_table("into", "pairs", "direct", route, "difference")
    for target, scores in direct_scores.items():
        direct_mean = mean(scores)
        pivot_mean = mean(pivot_scores[target])
        table.add_row(
            target,
            str(len(scores)),
            format_number(direct_mean, 2),
            format_number(pivot_mean, 2),
            format_difference(direct_mean - pivot_mean),
        )
    return table


def output_errors_table(matrix: ScoreMatrix) -> Table:
    """Mean of each output error by kind."""
    table = plain_table("outputs", *ERROR_TITLES.values())
    for kind, errors in mean_errors_by_kind(matrix).items():
        name = mark_kind(kind, kind)
        table.add_row(name, *errors.values())
    title = with_test_set("Output errors", matrix.test_set)
    title += ". In brackets: the same measure for the references."
    return titled_table(title, table)


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
        row_name = mark_kind(kind, kind)
        table.add_row(row_name, *cells)

    noun = "system" if comparison.averages_runs else "run"
    systems = pluralize(len(comparison.names), noun)
    title = f"{comparison.measure.title} of {systems}"
    title = with_test_set(title, comparison.test_set)
    lines = [comparison.note]
    if comparison.has_different_texts:
        lines.append(DIFFERENT_TEXTS_NOTE)
    return titled_table(title, table, *lines)


def with_test_set(title: str, test_set: str) -> str:
    """Add the name of the test set to a title, if there are several."""
    if not test_set:
        return title
    return f"{title} · {test_set}"


def plain_table(first_column: str, *columns: str) -> FoldedTable:
    """Empty table; all columns except the first are aligned to the right."""
    from polyglot.core.tables import FoldedTable

    return FoldedTable(first_column, *columns)


def titled_table(title: str, body: FoldedTable, *lines: object) -> Table:
    """Table with a title above and lines below, which may be wider than the table."""
    from rich.table import Table
    from rich.text import Text

    outer = Table.grid()
    outer.add_column(overflow="fold")
    outer.add_row(Text(title, style="bold"))
    outer.add_row(body)
    for line in lines:
        if not isinstance(line, Text):
            line = Text(str(line), style="dim")
        outer.add_row(line)
    return outer
