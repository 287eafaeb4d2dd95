"""Do similarities of sentences agree with those that people gave? Pearson's and Spearman's correlation."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy

from polyglot.analysis.embeddings.config import SimilarityTest
from polyglot.core.errors import DataError, pluralize
from polyglot.data.text_files import line_blocks


@dataclass(frozen=True)
class ScoredPairs:
    """The text of a similarity test."""

    first: list[str]
    second: list[str]
    scores: list[float]


def read_scored_pairs(test: SimilarityTest, folder: Path) -> ScoredPairs:
    """Raises DataError with the line for what lacks a column or a score, and where all scores are the same."""
    one, other, score = test.columns
    path = folder / test.path
    rows = _rows(path, test, columns=max(one, score) if test.second_path else max(test.columns))
    others = rows
    if test.second_path:
        others = _rows(folder / test.second_path, test, columns=other)
        if len(others) != len(rows):
            raise DataError(
                f"{test.name}: {path} has {pluralize(len(rows), 'pair')}, {folder / test.second_path} has {len(others)}; "
                "line n should be the same pair"
            )
    try:
        number = 0
        scores = []
        for number, row in enumerate(rows):
            scores.append(_finite(row[score - 1]))
    except ValueError:
        raise DataError(
            f"{path}, line {number + 1 + test.header}: the score {rows[number][score - 1]!r} in column {score} is no number"
        ) from None
    if len(set(scores)) == 1:
        raise DataError(
            f"{path}: all scores are the same, {scores[0]:g} in column {score} of {pluralize(len(scores), 'pair')}; "
            "nothing correlates with them"
        )
    return ScoredPairs([row[one - 1] for row in rows], [row[other - 1] for row in others], scores)


def _finite(written: str) -> float:
    """Raises ValueError for what is no number, and for `nan` and `inf`, which Python takes for some."""
    if not math.isfinite(value := float(written)):
        raise ValueError(written)
    return value


def _rows(path: Path, test: SimilarityTest, *, columns: int) -> list[list[str]]:
    lines = [line for lines in line_blocks(path) for line in lines]
    rows = (
        list(csv.reader(lines))
        if test.separator == "comma"
        else [line.split("\t") for line in lines]
    )
    rows = rows[int(test.header) :]
    for number, row in enumerate(rows, start=1 + test.header):
        if len(row) < columns:
            raise DataError(
                f"{path}, line {number}: {len(row)} of the {columns} columns that are needed; a {test.separator} separates them"
            )
    return rows


def pearson(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Linear correlation, -1 to 1; None where one side does not vary."""
    one, other = (numpy.asarray(side, dtype=float) - numpy.mean(side) for side in (one, other))
    length = math.sqrt(float((one**2).sum() * (other**2).sum()))
    return float((one * other).sum()) / length if length else None


def spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Pearson's correlation of the ranks; equal values share the mean of their ranks."""
    return pearson(_ranks(one), _ranks(other))


def _ranks(values: Sequence[float]) -> numpy.ndarray:
    _, inverse, counts = numpy.unique(
        numpy.asarray(values, dtype=float), return_inverse=True, return_counts=True
    )
    return (numpy.cumsum(counts) - (counts - 1) / 2)[inverse]
