"""Semantic textual similarity: correlation of cosines with human scores of sentence pairs."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy

from polyglot.analysis.embeddings.config import SimilarityTest
from polyglot.core.errors import DataError, pluralize
from polyglot.data.row_files import without_blank_end
from polyglot.data.text_files import line_blocks


@dataclass(frozen=True)
class ScoredPairs:
    """Sentence pairs with human scores."""

    first: list[str]
    second: list[str]
    scores: list[float]


def read_scored_pairs(test: SimilarityTest, folder: Path) -> ScoredPairs:
    """Read the pairs of a similarity test. folder: base of relative paths.

    Raises DataError for a line without a column or with an invalid score, and if all scores are
    equal.
    """
    first_column, second_column, score_column = test.columns
    path = folder / test.path
    if test.second_path:
        rows = _rows(path, test, columns=max(first_column, score_column))
        second_rows = _rows(folder / test.second_path, test, columns=second_column)
        _check_lengths(test, folder, rows, second_rows)
    else:
        rows = _rows(path, test, columns=max(test.columns))
        second_rows = rows

    scores = _scores(path, rows, score_column, first_line=1 + test.header)
    first = [row[first_column - 1] for row in rows]
    second = [row[second_column - 1] for row in second_rows]
    return ScoredPairs(first, second, scores)


def _rows(
    path: Path,
    test: SimilarityTest,
    *,
    columns: int,
) -> list[list[str]]:
    """Columns of each line after the header. columns: smallest number of columns."""
    lines = []
    for block in without_blank_end(line_blocks(path)):
        lines += block
    if test.separator == "comma":
        rows = list(csv.reader(lines))
    else:
        rows = [line.split("\t") for line in lines]

    first_row = int(test.header)
    rows = rows[first_row:]
    for number, row in enumerate(rows, start=first_row + 1):
        if len(row) < columns:
            raise DataError(
                f"{path}, line {number}: {pluralize(len(row), 'column')}, but {columns} are "
                f"needed; columns are separated by a {test.separator}"
            )
    return rows


def _check_lengths(
    test: SimilarityTest,
    folder: Path,
    rows: Sequence[Sequence[str]],
    second_rows: Sequence[Sequence[str]],
) -> None:
    if len(rows) != len(second_rows):
        raise DataError(
            f"{test.name}: {folder / test.path} has {pluralize(len(rows), 'pair')}, "
            f"{folder / test.second_path} has {len(second_rows)}; line n must be the same pair"
        )


def _scores(
    path: Path,
    rows: Sequence[Sequence[str]],
    column: int,
    *,
    first_line: int,
) -> list[float]:
    scores = []
    for line, row in enumerate(rows, start=first_line):
        score = _parse_score(row[column - 1])
        if score is None:
            raise DataError(
                f"{path}, line {line}: the score {row[column - 1]!r} in column {column} "
                "is not a finite number"
            )
        scores.append(score)
    if len(set(scores)) == 1:
        raise DataError(
            f"{path}: the score in column {column} is {scores[0]:g} for all "
            f"{pluralize(len(scores), 'pair')}; a correlation needs different scores"
        )
    return scores


def _parse_score(text: str) -> float | None:
    """Return a finite number; None for other text, `nan` and `inf`."""
    try:
        score = float(text)
    except ValueError:
        return None
    return score if math.isfinite(score) else None


def pearson(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Pearson correlation from −1 to 1; None if all values of x or of y are equal."""
    x_centred = numpy.asarray(x, dtype=float) - numpy.mean(x)
    y_centred = numpy.asarray(y, dtype=float) - numpy.mean(y)
    x_squares = (x_centred**2).sum()
    y_squares = (y_centred**2).sum()
    norm = math.sqrt(float(x_squares * y_squares))
    if not norm:
        return None
    return float((x_centred * y_centred).sum()) / norm


def spearman(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Pearson correlation of the ranks; equal values have the mean of their ranks."""
    return pearson(_ranks(x), _ranks(y))


def _ranks(values: Sequence[float]) -> numpy.ndarray:
    _, inverse, counts = numpy.unique(
        numpy.asarray(values, dtype=float),
        return_inverse=True,
        return_counts=True,
    )
    mean_ranks = numpy.cumsum(counts) - (counts - 1) / 2
    return mean_ranks[inverse]
