"""Score matrices as Markdown pages and CSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from statistics import mean

from polyglot.core.markdown import bullet_list, code_span, escape, table
from polyglot.core.score_tables import (
    ERROR_TITLES,
    KINDS,
    NO_VALUE,
    format_difference,
    format_mean,
    format_number,
)
from polyglot.evaluation.grid import (
    Grid,
    direct_grid,
    format_errors,
    legend,
    mark_kind,
    matrix_title,
    pivot_grid,
    pivot_name,
    reference_grid,
    signature_lines,
)
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.metrics import Score
from polyglot.evaluation.score_matrix import Cell, ScoreMatrix
from polyglot.evaluation.scored_texts import DIFFERENT_TEXTS_NOTE, have_different_texts
from polyglot.tasks.pairs import LanguagePair


def matrix_csv(matrix: ScoreMatrix) -> str:
    """CSV file with one row per cell."""
    columns = ["source", "target", "kind", "via", "sentences", "seconds"]
    for measure in matrix.measures:
        columns.append(str(measure))
        columns.append(f"{measure}_interval")
        columns.append(f"{measure}_signature")
    columns += [*ERROR_TITLES, "reason"]

    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    for cell in matrix.all_cells:
        writer.writerow(_csv_row(cell, matrix.measures))
    return file.getvalue()


def _csv_row(cell: Cell, measures: Sequence[Measure]) -> list[object]:
    row: list[object] = [
        cell.pair.source,
        cell.pair.target,
        cell.kind,
        cell.via or "",
        cell.sentences,
        cell.seconds,
    ]
    for measure in measures:
        score = cell.scores.get(str(measure))
        if score is None:
            row += ["", "", ""]
        else:
            row += [score.value, score.interval, score.signature]
    for name in ERROR_TITLES:
        value = ""
        if cell.outputs is not None:
            value = getattr(cell.outputs, name)
        row.append(value)
    row.append(cell.reason or "")
    return row


def matrix_markdown(matrix: ScoreMatrix) -> str:
    """Page with a table for each measure, the paper's table, output errors and all settings."""
    title = escape(matrix_title(matrix))
    blocks = [
        f"# Translation matrix: {title}",
        f"Rows are sources, columns are targets. {legend(matrix)}.",
    ]
    for measure in matrix.measures:
        blocks += _measure_blocks(matrix, measure)
    blocks += _interval_blocks(matrix)
    if any(cell.outputs for cell in matrix.all_cells):
        blocks += [
            "## Output errors",
            "In brackets: the same measure for the references. "
            "found: output language according to language identification.",
            output_errors_table(matrix),
        ]
    reasons = {cell.name: cell.reason for cell in matrix.all_cells if cell.reason}
    if reasons:
        blocks += ["## Without a score", bullet_list(reasons)]
    blocks += ["## Settings", settings_list(matrix)]
    return "\n\n".join(blocks) + "\n"


def _measure_blocks(matrix: ScoreMatrix, measure: Measure) -> list[str]:
    """Tables of one measure, with the paper's table if there is one."""
    direct = direct_grid(matrix, measure)
    pivot = pivot_grid(matrix, measure)
    lines = signature_lines(matrix, measure)
    signatures = [f"- signature: {code_span(line)}" for line in lines]
    blocks = [
        f"## {direct.title}",
        grid_table(direct),
        means_table(direct, pivot),
        language_means(direct, pivot),
    ]
    if have_different_texts(matrix.all_cells):
        blocks.append(f"Note: {DIFFERENT_TEXTS_NOTE}.")
    blocks.append("\n".join(signatures))
    if pivot.values:
        blocks += [
            f"### Direct and pivot translation, {pivot_name(matrix)}",
            _pivot_table(matrix, direct, pivot),
        ]
    paper = reference_grid(matrix, measure)
    if paper is not None:
        blocks += [
            f"### Reference: {paper.title}",
            grid_table(paper, digits=2),
            compare_with_paper(direct, paper),
            reference_details(matrix),
        ]
    return blocks


def settings_list(matrix: ScoreMatrix) -> str:
    """Settings, versions and machine of an evaluation."""
    seconds = sum(cell.seconds for cell in matrix.all_cells)
    sentences = [cell.sentences for cell in matrix.cells.values() if cell.scores]
    settings = {
        "test text": escape("; ".join(matrix.test)),
        "sentences of each direction": _range(sentences),
        "trained pairs": ", ".join(str(pair) for pair in matrix.trained),
        "search": _key_values(matrix.search),
        "versions": _key_values(matrix.versions),
        "machine": escape(matrix.machine),
        "time": f"{seconds:.1f} s of translation",
    }
    return bullet_list(settings)


def _range(numbers: Sequence[int]) -> str:
    """`500 to 1000`, or `1000` if all are equal."""
    if not numbers:
        return ""
    smallest = min(numbers)
    largest = max(numbers)
    if smallest == largest:
        return str(smallest)
    return f"{smallest} to {largest}"


def _key_values(values: Mapping[str, object]) -> str:
    texts = [f"{name} {value}" for name, value in values.items()]
    return ", ".join(texts)


def reference_details(matrix: ScoreMatrix) -> str:
    """Source of the paper's table, and the condition under which scores may be compared."""
    reference = matrix.reference
    details = {
        "from": reference.source,
        "test set": reference.test_set,
        "signature": f"`{reference.signature}`",
        "condition": reference.condition,
    }
    return bullet_list(details)


def grid_table(grid: Grid, *, digits: int = 1) -> str:
    """Table with sources as rows and targets as columns."""
    rows = []
    for source in grid.languages:
        row = [f"**{source}**"]
        for target in grid.languages:
            pair = LanguagePair(source, target)
            row.append(grid.format_cell(pair, digits=digits))
        rows.append(row)
    head = ["from ↓ into →", *grid.languages]
    return table(head, rows)


def means_table(*grids: Grid) -> str:
    """Mean of each kind."""
    rows = []
    for grid in grids:
        for kind, value, count in grid.means():
            number = format_number(value, 2)
            rows.append([kind, mark_kind(kind, number), count])
    return table(["kind", "mean", "cells"], rows, words=["kind"])


def language_means(*grids: Grid) -> str:
    """Mean of each kind except copies, for each language as source and as target."""
    columns = []
    for grid in grids:
        for kind, _, _ in grid.means():
            if kind != "copy":  # source and target are the same
                columns += [(kind, "source"), (kind, "target")]

    head = ["language"]
    for kind, side in columns:
        head.append(f"{kind} as {side}")
    rows = []
    for language in grids[0].languages:
        row = [f"**{language}**"]
        for kind, side in columns:
            value = _mean_of_language(grids, language, kind=kind, side=side)
            if value is None:
                row.append(NO_VALUE)
            else:
                row.append(mark_kind(kind, format_number(value, 2)))
        rows.append(row)
    return table(head, rows)


def _mean_of_language(
    grids: Sequence[Grid],
    language: str,
    *,
    kind: str,
    side: str,
) -> float | None:
    """Mean of a kind over the cells with this language as `side`; None without scores."""
    means = {}
    for grid in grids:
        for grid_kind, value, _ in grid.means(**{side: language}):
            means[grid_kind] = value
    return means.get(kind)


def _pivot_table(matrix: ScoreMatrix, direct: Grid, pivot: Grid) -> str:
    rows = []
    for pair, value in pivot.values.items():
        difference = direct.values[pair] - value
        row = [
            str(pair),
            direct.format_cell(pair, digits=2),
            pivot.format_cell(pair, digits=2),
            format_difference(difference),
        ]
        rows.append(row)
    head = ["pair", "direct", pivot_name(matrix), "difference"]
    return table(head, rows)


def with_interval(score: Score | None) -> str:
    """Mean of the resamples ± half of the width of the 95 % confidence interval."""
    if score is None or score.interval is None:
        return NO_VALUE
    return format_mean(score.mean, score.interval)


def _interval_blocks(matrix: ScoreMatrix) -> list[str]:
    """Table of the confidence intervals; empty without resamples."""
    rows = []
    has_interval = False
    for cell in matrix.all_cells:
        if cell.scores:
            scores = [cell.scores.get(str(measure)) for measure in matrix.measures]
            intervals = [with_interval(score) for score in scores]
            rows.append([cell.name, cell.kind, *intervals])
        if any(score.interval is not None for score in cell.scores.values()):
            has_interval = True
    if not has_interval:
        return []

    titles = [measure.title for measure in matrix.measures]
    head = ["direction", "kind", *titles]
    return [
        "## 95 % confidence intervals",
        f"Bootstrap, {matrix.protocol.resamples} resamples: mean ± half of the interval width.",
        table(head, rows, words=["kind"]),
    ]


def output_errors_table(matrix: ScoreMatrix) -> str:
    """Output errors, one row per cell."""
    rows = []
    for cell in matrix.all_cells:
        outputs = cell.outputs
        if not outputs:
            continue
        errors = format_errors(outputs.to_dict())
        counts = [f"{count} {code}" for code, count in outputs.languages.items()]
        languages = ", ".join(counts)
        rows.append([cell.name, cell.kind, *errors.values(), languages])
    head = ["direction", "kind", *ERROR_TITLES.values(), "found"]
    return table(head, rows, words=["kind", "found"])


def compare_with_paper(grid: Grid, paper: Grid) -> str:
    """Means of our scores and of the paper over the common directions, by our kinds."""
    rows = []
    common = [pair for pair in grid.values if pair in paper.values]
    for kind in KINDS:
        pairs = [pair for pair in common if grid.kinds[pair] == kind]
        if pairs:
            rows.append(_paper_row(kind, pairs, grid, paper))
    if not rows:
        return "No common directions."
    head = ["our kind", "ours", "the paper's", "difference", "common directions"]
    return table(head, rows)


def _paper_row(kind: str, common: Sequence[LanguagePair], grid: Grid, paper: Grid) -> list[str]:
    ours = mean(grid.values[pair] for pair in common)
    theirs = mean(paper.values[pair] for pair in common)
    count = str(len(common))
    other_kind = sum(paper.kinds[pair] != kind for pair in common)
    if other_kind:
        count += f" ({other_kind} of another kind in the paper)"
    return [
        kind,
        format_number(ours, 2),
        format_number(theirs, 2),
        format_difference(ours - theirs),
        count,
    ]
