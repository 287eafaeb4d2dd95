"""Goals of an experiment: the value that was reached, and whether it is enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import mean

from polyglot.core.score_tables import NO_VALUE
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.significance import PIVOT, Comparison
from polyglot.experiments.settings import Goal
from polyglot.experiments.system_result import SystemResult


@dataclass(frozen=True, slots=True)
class GoalResult:
    """Result of a goal."""

    goal: str
    """description of the goal"""
    value: str = NO_VALUE
    """score, difference, or number of directions, as the page shows it"""
    reached: bool | None = None
    """None if the size leaves the system out, or if there is nothing to compare"""


def judge_goal(
    goal: Goal,
    system: SystemResult,
    *,
    measure: Measure,
    pivot_comparison: Comparison,
) -> GoalResult:
    """Judge a goal by the means over the seeds, rounded as on the page: 41.00 is at least 41.

    pivot_comparison: direct and pivot translation of the system
    """
    ours = {}
    for name, cell in system.directions.items():
        if goal.scores in (name, cell.kind):
            ours[name] = system.spread(name, measure).mean

    if goal.at_least is not None:
        if not ours:
            return GoalResult(goal.description)
        value = round(mean(ours.values()), 2)
        return GoalResult(goal.description, f"{value:.2f}", value >= goal.at_least)

    baselines = _baseline_scores(goal, system, ours, pivot_comparison)
    if not baselines:
        return GoalResult(goal.description)
    if goal.each_above_paper:
        above = 0
        for name, score in baselines.items():
            if round(ours[name], 2) > score:
                above += 1
        value = f"{above} of {len(baselines)}"
        return GoalResult(goal.description, value, above == len(baselines))

    differences = [ours[name] - score for name, score in baselines.items()]
    difference = round(mean(differences), 2)
    if goal.behind_pivot is None:
        least = goal.above_paper
    else:
        least = -goal.behind_pivot
    return GoalResult(goal.description, f"{difference:+.2f}", difference >= least)


def _baseline_scores(
    goal: Goal,
    system: SystemResult,
    ours: Mapping[str, float],
    pivot_comparison: Comparison,
) -> dict[str, float]:
    """Scores of pivot translation or of the paper, for those of our directions that have one."""
    scores = {}
    if goal.behind_pivot is not None:
        for pair, row in pivot_comparison.rows.items():
            if pair in ours:
                scores[pair] = row[PIVOT].value
        return scores
    for name in ours:
        score = system.reference_score(name)
        if score is not None:
            scores[name] = score
    return scores
