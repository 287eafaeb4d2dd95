"""The matrix as files for people and spreadsheets: Markdown and CSV."""

from __future__ import annotations

import csv as csv_file
import io
from collections.abc import Iterator
from dataclasses import asdict
from statistics import mean

from polyglot.core.markdown import bullet_list, code_span, escape, table
from polyglot.core.score_tables import ERROR_TITLES
from polyglot.evaluation.grid import (
    KIND_MARKS,
    LEGEND,
    PIVOT_LEGEND,
    Grid,
    direct_grid,
    format_errors,
    matrix_title,
    pivot_grid,
    pivot_name,
    reference_grid,
    signature_lines,
)
from polyglot.evaluation.metrics import Score
from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.tasks.pairs import LanguagePair


def matrix_csv(matrix: ScoreMatrix) -> str:
    """One row a cell."""
    file = io.StringIO()
    writer = csv_file.writer(file, lineterminator="\n")
    columns = [
        column
        for measure in matrix.measures
        for column in (measure, f"{measure}_interval", f"{measure}_signature")
    ]
    writer.writerow(
        ["source", "target", "kind", "via", "sentences", "seconds", *columns, *ERROR_TITLES, "reason"]
    )
    for cell in matrix.all_cells:
        scores = [cell.scores.get(str(measure)) for measure in matrix.measures]
        values = [
            value
            for score in scores
            for value in ((score.value, score.interval, score.signature) if score else ("", "", ""))
        ]
        shares = [getattr(cell.outputs, name) if cell.outputs else "" for name in ERROR_TITLES]
        row = [
            cell.pair.source,
            cell.pair.target,
            cell.kind,
            cell.via or "",
            cell.sentences,
            cell.seconds,
            *values,
            *shares,
        ]
        writer.writerow([*row, cell.reason or ""])
    return file.getvalue()


def matrix_markdown(matrix: ScoreMatrix) -> str:
    """A page: a table for each measure, the paper's beside it, what is wrong with the outputs, and all that must be known to repeat it."""
    keys = [LEGEND, PIVOT_LEGEND] if matrix.pivots else [LEGEND]
    blocks = [
        f"# Translation matrix: {escape(matrix_title(matrix))}",
        f"Rows are sources, columns are targets. {' · '.join(keys)}.",
    ]
    for measure in matrix.measures:
        grid, hops = direct_grid(matrix, measure), pivot_grid(matrix, measure)
        blocks += [
            f"## {grid.title}",
            grid_table(grid),
            means_table(grid, hops),
            language_means(grid, hops),
        ]
        blocks += [
            "\n".join(f"- signature: {code_span(line)}" for line in signature_lines(matrix, measure))
        ]
        if hops.values:
            blocks += [
                f"### Direct and {pivot_name(matrix)}",
                _direct_and_pivot(matrix, grid, hops),
            ]
        paper = reference_grid(matrix, measure)
        if paper is not None:
            blocks += [
                f"### Beside it: {paper.title}",
                grid_table(paper, digits=2),
                compare_with_paper(grid, paper),
                reference_details(matrix),
            ]
    if intervals := list(_intervals(matrix)):
        blocks += [
            "## 95 % confidence intervals",
            f"Bootstrap, {matrix.protocol.resamples} resamples, mean ± half the width.",
            *intervals,
        ]
    if any(cell.outputs for cell in matrix.all_cells):
        blocks += [
            "## What is wrong with the outputs",
            "In brackets the same of the references; found: the language of each output, as the identifier says.",
            outputs_table(matrix),
        ]
    empty = {cell.name: cell.reason for cell in matrix.all_cells if cell.reason}
    if empty:
        blocks += ["## Without a score", bullet_list(empty)]
    blocks += ["## Settings", settings_list(matrix)]
    return "\n\n".join(blocks) + "\n"


def settings_list(matrix: ScoreMatrix) -> str:
    """How it was made."""
    sentences = sorted({cell.sentences for cell in matrix.cells.values() if cell.scores})
    return bullet_list(
        {
            "test text": escape("; ".join(matrix.test)),
            "sentences of each direction": " to ".join(
                map(str, dict.fromkeys([*sentences[:1], *sentences[-1:]]))
            ),
            "trained pairs": ", ".join(map(str, matrix.trained)),
            "search": ", ".join(f"{name} {value}" for name, value in matrix.search.items()),
            "versions": ", ".join(f"{name} {version}" for name, version in matrix.versions.items()),
            "machine": escape(matrix.machine),
            "time": f"{sum(cell.seconds for cell in matrix.all_cells):.1f} s of translating",
        }
    )


def reference_details(matrix: ScoreMatrix) -> str:
    """Where the paper's table is from, and under what condition it was made."""
    reference = matrix.reference
    given = {
        "from": reference.source,
        "test set": reference.test_set,
        "signature": f"`{reference.signature}`",
    }
    return bullet_list({**given, "condition": reference.condition})


def grid_table(grid: Grid, *, digits: int = 1) -> str:
    """Rows are sources, columns are targets."""
    rows = (
        [
            f"**{source}**",
            *(grid.format_cell(LanguagePair(source, target), digits=digits) for target in grid.languages),
        ]
        for source in grid.languages
    )
    return table(["from ↓ into →", *grid.languages], rows)


def means_table(*grids: Grid) -> str:
    """The mean of each kind."""
    rows = (
        [kind, KIND_MARKS[kind].format(f"{value:.2f}"), count]
        for grid in grids
        for kind, value, count in grid.means()
    )
    return table(["kind", "mean", "cells"], rows, words=["kind"])


def language_means(*grids: Grid) -> str:
    """The mean of each kind over the directions out of each language, and into it; copies have only one."""
    kinds = [kind for grid in grids for kind, *_ in grid.means() if kind != "copy"]
    columns = [(kind, side) for kind in kinds for side in ("source", "target")]

    def row(language: str) -> Iterator[str]:
        for kind, side in columns:
            found = {
                one: value for grid in grids for one, value, _ in grid.means(**{side: language})
            }
            yield KIND_MARKS[kind].format(f"{found[kind]:.2f}") if kind in found else "–"

    heads = [f"{kind} {'out of it' if side == 'source' else 'into it'}" for kind, side in columns]
    return table(
        ["language", *heads],
        ([f"**{language}**", *row(language)] for language in grids[0].languages),
    )


def _direct_and_pivot(matrix: ScoreMatrix, direct: Grid, hops: Grid) -> str:
    rows = (
        [
            str(pair),
            direct.format_cell(pair, digits=2),
            hops.format_cell(pair, digits=2),
            f"{direct.values[pair] - value:+.2f}",
        ]
        for pair, value in hops.values.items()
    )
    return table(["pair", "direct", pivot_name(matrix), "difference"], rows)


def with_interval(score: Score | None) -> str:
    """The mean of the resampled text, and how far 95 % of it lie around."""
    return (
        f"{score.mean:.2f} ± {score.interval:.2f}" if score and score.interval is not None else "–"
    )


def _intervals(matrix: ScoreMatrix) -> Iterator[str]:
    if any(
        score.interval is not None for cell in matrix.all_cells for score in cell.scores.values()
    ):
        rows = (
            [
                cell.name,
                cell.kind,
                *(with_interval(cell.scores.get(str(each))) for each in matrix.measures),
            ]
            for cell in matrix.all_cells
            if cell.scores
        )
        yield table(
            ["direction", "kind", *(measure.title for measure in matrix.measures)],
            rows,
            words=["kind"],
        )


def outputs_table(matrix: ScoreMatrix) -> str:
    """One row a cell."""
    rows = (
        [
            cell.name,
            cell.kind,
            *format_errors(asdict(cell.outputs)).values(),
            ", ".join(f"{count} {one}" for one, count in cell.outputs.languages.items()),
        ]
        for cell in matrix.all_cells
        if cell.outputs
    )
    return table(["direction", "kind", *ERROR_TITLES.values(), "found"], rows, words=["kind", "found"])


def compare_with_paper(grid: Grid, paper: Grid) -> str:
    """Means of ours and theirs over the pairs that both have; kinds as in our run."""
    rows = []
    for kind in KIND_MARKS:
        both = [pair for pair in grid.values if pair in paper.values and grid.kinds[pair] == kind]
        if both:
            ours, theirs = (
                mean(grid.values[pair] for pair in both),
                mean(paper.values[pair] for pair in both),
            )
            other = sum(paper.kinds[pair] != kind for pair in both)
            note = f" ({other} of them another kind in the paper)" if other else ""
            rows.append(
                [
                    kind,
                    f"{ours:.2f}",
                    f"{theirs:.2f}",
                    f"{ours - theirs:+.2f}",
                    f"{len(both)}{note}",
                ]
            )
    head = ["our kind", "ours", "the paper's", "difference", "pairs that both have"]
    return table(head, rows) if rows else "No pair has a score in both."
