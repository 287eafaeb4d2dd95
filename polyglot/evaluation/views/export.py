"""Writes a score matrix with its tables and pictures."""

from __future__ import annotations

from pathlib import Path

from polyglot.core.atomic_files import replace_file
from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.evaluation.views.heat_map import heat_map_png
from polyglot.evaluation.views.markdown import matrix_csv, matrix_markdown


def save_with_views(matrix: ScoreMatrix, folder: Path) -> None:
    """Write `matrix.json`, `.csv` and `.md`, hypotheses and texts, then one picture per measure.

    The pictures come last: if one cannot be drawn, the matrix is complete.
    Raises CheckpointError if a file cannot be written.
    """
    tables = {"matrix.csv": matrix_csv(matrix), "matrix.md": matrix_markdown(matrix)}
    matrix.save(folder, tables=tables)
    for measure in matrix.measures:
        replace_file(folder / f"{measure}.png", heat_map_png(matrix, measure))
