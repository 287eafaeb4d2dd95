"""Scores of one system over its seeds, and the corresponding scores of a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import mean, stdev
from typing import Any, NamedTuple

from polyglot.core.score_tables import KINDS, format_mean
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.references import Reference
from polyglot.evaluation.score_matrix import Cell, ScoreMatrix
from polyglot.tasks.pairs import LanguagePair


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation of a score over seeds."""

    mean: float
    deviation: float | None
    """standard deviation of the sample; None for a single run"""
    count: int
    values: Sequence[float] = field(default=(), compare=False)
    """score of each run; empty in older result files"""

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Mean and standard deviation of the scores of the runs."""
        deviation = stdev(values) if len(values) > 1 else None
        return cls(mean(values), deviation, len(values), tuple(values))

    def format(self, digits: int = 2) -> str:
        """`31.40 ± 0.20`; without ± for a single run."""
        return format_mean(self.mean, self.deviation, digits)


@dataclass(frozen=True, slots=True)
class TrainedRun:
    """Origin of the parameters behind a matrix, or behind a part of it."""

    name: str
    """name of its folders"""
    command: str
    """command of the training; for an ensemble or an existing run, the names of the runs"""
    checkpoint: Mapping[str, Any] = field(default_factory=dict)
    """evaluated checkpoint"""
    parameters: int = 0
    """number of parameters of the translation model"""
    seconds: float | None = None
    """duration of the training"""
    day: str | None = None
    """last day of the training, in UTC"""


class PaperMean(NamedTuple):
    """Means of a paper and of our system, over their common directions of one kind."""

    paper: float
    ours: float
    count: int
    """number of common directions"""


@dataclass(frozen=True)
class SystemResult:
    """Result of one system: a matrix for each of its seeds."""

    name: str
    matrices: Sequence[ScoreMatrix]
    reference: Reference | None
    runs: Sequence[TrainedRun]
    """one for each matrix, or for each part of a matrix"""
    settings: Mapping[str, str]
    """configuration by key, of the first run or of all runs of an ensemble"""
    baseline: str | None = None
    """system with which it is compared; None for the first"""
    paper_differences: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    """by direction: difference in a paper, on other text, and the system it is from"""

    @property
    def parameters(self) -> int:
        """Number of parameters of all models behind one matrix."""
        return sum(run.parameters for run in self.runs) // len(self.matrices)

    @cached_property
    def _cells(self) -> list[dict[str, Cell]]:
        """Cells of each matrix, by the name of their direction."""
        cells = []
        for matrix in self.matrices:
            cells.append({cell.name: cell for cell in matrix.all_cells})
        return cells

    @cached_property
    def directions(self) -> dict[str, Cell]:
        """Cells of the first matrix by name; only directions with scores in every matrix."""
        directions = {}
        for name, cell in self._cells[0].items():
            if all(name in cells and cells[name].scores for cells in self._cells):
                directions[name] = cell
        return directions

    @property
    def missing_scores(self) -> dict[str, str]:
        """Directions without a score in some matrix, with the reason."""
        reasons = {}
        for cells in self._cells:
            for name, cell in cells.items():
                if cell.reason:
                    reasons[name] = cell.reason
        return reasons

    def spread(self, direction: str, measure: Measure) -> Spread:
        """Score of one direction over the seeds."""
        values = []
        for cells in self._cells:
            score = cells[direction].scores[str(measure)]
            values.append(score.value)
        return Spread.of(values)

    def means_by_kind(self, measure: Measure) -> dict[str, Spread]:
        """Mean score of each kind of directions, over the means of the seeds."""
        directions = self.directions
        means = {}
        for kind in KINDS:
            names = []
            for name, cell in directions.items():
                if cell.kind == kind and str(measure) in cell.scores:
                    names.append(name)
            if names:
                means[kind] = self._spread_of_mean(names, measure)
        return means

    def _spread_of_mean(self, directions: Sequence[str], measure: Measure) -> Spread:
        means = []
        for cells in self._cells:
            scores = [cells[name].scores[str(measure)] for name in directions]
            means.append(mean(score.value for score in scores))
        return Spread.of(means)

    def reference_score(self, direction: str) -> float | None:
        """Score of a direct translation in the paper's table; None without one."""
        is_direct = direction.count("-") == 1
        if self.reference is None or not is_direct:
            return None
        return self.reference.score(LanguagePair.parse(direction))

    def paper_means(self, measure: Measure) -> dict[str, PaperMean]:
        """Means of the paper's table and of our scores by kind, over the common directions."""
        means = {}
        for kind in KINDS:
            common = []
            for name, cell in self.directions.items():
                if cell.kind == kind and self.reference_score(name) is not None:
                    common.append(name)
            if common:
                means[kind] = self._paper_mean(common, measure)
        return means

    def _paper_mean(self, directions: Sequence[str], measure: Measure) -> PaperMean:
        paper = []
        ours = []
        for direction in directions:
            paper.append(self.reference_score(direction))
            ours.append(self.spread(direction, measure).mean)
        return PaperMean(mean(paper), mean(ours), len(directions))
