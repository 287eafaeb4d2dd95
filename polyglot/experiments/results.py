"""Results of an experiment: its systems, their comparison, and the differences in a paper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import mean
from typing import NamedTuple

from polyglot.analysis.embeddings.analysis import Analysis
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.score_matrix import Cell
from polyglot.evaluation.significance import (
    SIGNIFICANCE_LEVEL,
    Comparison,
    compare_direct_and_pivot,
    compare_systems,
)
from polyglot.experiments.goal_results import GoalResult, judge_goal
from polyglot.experiments.settings import Goal
from polyglot.experiments.system_result import Spread, SystemResult
from polyglot.tasks.pairs import LanguagePair


@dataclass(frozen=True, slots=True)
class Claim:
    """Difference between two systems, in our results and in a paper on other text."""

    system: str
    baseline: str
    direction: str
    paper: float | None
    """None if the paper has no such system"""
    paper_baseline: str | None
    """baseline of the paper's difference; another one if the paper lacks ours"""
    ours: float
    p: float | None
    """p-value of our difference; None without a test"""

    @property
    def has_same_sign(self) -> bool | None:
        """True if both differences have the same sign.

        None if the paper has no difference, or one from another baseline.
        """
        if not self.paper or self.paper_baseline != self.baseline:
            return None
        return self.paper * self.ours > 0


class LeftOutDirection(NamedTuple):
    """Scores of a direction that some systems were trained without."""

    pair: LanguagePair
    zero_shot: float
    """mean of the systems that were trained without the direction"""
    trained: Spread | None
    """scores of the systems that were trained with it; None if there are none"""


@dataclass(frozen=True)
class Results:
    """Content of the result page."""

    title: str
    question: str
    figure: str
    systems: Sequence[SystemResult]
    embeddings: Mapping[str, Analysis] = field(default_factory=dict)
    """by system, or by run if the system has several runs; empty if they are not measured"""
    expected: str = ""
    size: str = ""
    """name of the size"""
    about: str = ""
    """cost of this size, in words"""
    goals: Sequence[Goal] = ()

    @property
    def measures(self) -> list[Measure]:
        return self.systems[0].matrices[0].measures

    @property
    def measure(self) -> Measure:
        """Main metric: the one to compare with the paper; without BLEU the first one."""
        return self.systems[0].matrices[0].protocol.measure

    @property
    def directions(self) -> dict[str, Cell]:
        """Directions of all systems by name, direct ones first, in the order of the systems."""
        direct: dict[str, Cell] = {}
        pivot: dict[str, Cell] = {}
        for system in self.systems:
            for name, cell in system.directions.items():
                cells = direct if cell.via is None else pivot
                cells.setdefault(name, cell)
        return direct | pivot

    @cached_property
    def _systems_by_name(self) -> dict[str, SystemResult]:
        return {system.name: system for system in self.systems}

    @cached_property
    def baseline_comparisons(self) -> dict[str, Comparison]:
        """Comparison of each system with its baseline, if they have common directions."""
        comparisons = {}
        for system in self.systems:
            baseline = self._systems_by_name.get(system.baseline)
            if baseline and baseline.directions.keys() & system.directions.keys():
                runs = {baseline.name: baseline.matrices, system.name: system.matrices}
                comparisons[system.name] = compare_systems(runs, measure=self.measure)
        return comparisons

    @property
    def comparisons(self) -> list[Comparison]:
        """One comparison for each baseline: all its systems, in their common directions."""
        comparisons_by_baseline: dict[str, list[Comparison]] = {}
        for comparison in self.baseline_comparisons.values():
            baseline = comparison.names[0]
            comparisons_by_baseline.setdefault(baseline, []).append(comparison)
        return [_join_comparisons(group) for group in comparisons_by_baseline.values()]

    @property
    def significance_note(self) -> str:
        """Explanation of the mark of a difference; empty without a test."""
        tested = _tested(self.comparisons)
        if not tested:
            return ""
        if len(tested) == 1:
            return tested[0].note
        differences = []
        for comparison in tested:
            systems = ", ".join(comparison.names[1:])
            differences.append(f"{systems} from {comparison.names[0]}")
        return (
            f"* differs with p < {SIGNIFICANCE_LEVEL} ({_test_description(tested)}): "
            f"{'; '.join(differences)}{_resampling_note(tested)}"
        )

    @cached_property
    def pivot_comparisons(self) -> dict[str, Comparison]:
        """Direct and pivot translation of each system, in the pairs with both."""
        comparisons = {}
        for system in self.systems:
            comparisons[system.name] = compare_direct_and_pivot(
                system.matrices, measure=self.measure
            )
        return comparisons

    @property
    def pivot_note(self) -> str:
        """Explanation of the mark of direct and pivot translation; empty without a test."""
        tested = _tested(self.pivot_comparisons.values())
        if not tested:
            return ""
        return (
            f"* direct and pivot translation differ with p < {SIGNIFICANCE_LEVEL} "
            f"({_test_description(tested)}){_resampling_note(tested)}"
        )

    def differing_settings(self) -> dict[str, list[str]]:
        """Configuration keys that differ between the systems, with the value in each system.

        The value is empty if the system has no such key.
        """
        keys: dict[str, None] = {}
        for system in self.systems:
            keys.update(dict.fromkeys(system.settings))
        differing = {}
        for key in keys:
            values = [system.settings.get(key, "") for system in self.systems]
            if len(set(values)) > 1:
                differing[key] = values
        return differing

    def p_value(self, direction: str, system: SystemResult) -> float | None:
        """p-value of the difference from the baseline; None without a test."""
        comparison = self.baseline_comparisons.get(system.name)
        if comparison is None or direction not in comparison.rows:
            return None
        return comparison.rows[direction][system.name].p

    def left_out_directions(self) -> Iterator[LeftOutDirection]:
        """Yield the directions that some systems were trained without.

        Nothing, unless the figure of the experiment is `left_out`.
        """
        if self.figure != "left_out":
            return
        for name, cell in self.directions.items():
            zero_shot = []
            trained = []
            for system in self.systems:
                if name not in system.directions:
                    continue
                score = system.spread(name, self.measure).mean
                kind = system.directions[name].kind
                if kind == "zero-shot":
                    zero_shot.append(score)
                elif kind == "supervised":
                    trained.append(score)
            if zero_shot:
                spread = Spread.of(trained) if trained else None
                yield LeftOutDirection(cell.pair, mean(zero_shot), spread)

    @cached_property
    def goal_results(self) -> list[GoalResult]:
        """Result of each goal."""
        results = []
        for goal in self.goals:
            system = self._systems_by_name.get(goal.system)
            if system is None:
                results.append(GoalResult(goal.description))
                continue
            pivot_comparison = self.pivot_comparisons[system.name]
            results.append(
                judge_goal(
                    goal,
                    system,
                    measure=self.measure,
                    pivot_comparison=pivot_comparison,
                )
            )
        return results

    @cached_property
    def claims(self) -> list[Claim]:
        """Differences from the baselines, in all directions with differences in the paper."""
        paper_directions: dict[str, None] = {}
        for system in self.systems:
            paper_directions.update(dict.fromkeys(system.paper_differences))

        claims = []
        for system in self.systems:
            if system.baseline is None:
                continue
            baseline = self._systems_by_name[system.baseline]
            for direction in paper_directions:
                if direction in system.directions and direction in baseline.directions:
                    claims.append(self._claim(direction, system, baseline))
        return claims

    def _claim(
        self,
        direction: str,
        system: SystemResult,
        baseline: SystemResult,
    ) -> Claim:
        our_score = system.spread(direction, self.measure).mean
        baseline_score = baseline.spread(direction, self.measure).mean
        paper, paper_baseline = system.paper_differences.get(direction, (None, None))
        return Claim(
            system.name,
            baseline.name,
            direction,
            paper,
            paper_baseline,
            ours=our_score - baseline_score,
            p=self.p_value(direction, system),
        )


def _join_comparisons(comparisons: Sequence[Comparison]) -> Comparison:
    """Join comparisons with one baseline, in the directions that all of them have."""
    first = comparisons[0]
    names = [first.names[0]]
    averages_runs = False
    for comparison in comparisons:
        names.append(comparison.names[1])
        averages_runs = averages_runs or comparison.averages_runs

    rows = {}
    kinds = {}
    for direction in first.rows:
        if not all(direction in comparison.rows for comparison in comparisons):
            continue
        rows[direction] = {}
        kinds[direction] = [first.kinds[direction][0]]
        for comparison in comparisons:
            rows[direction].update(comparison.rows[direction])
            kinds[direction].append(comparison.kinds[direction][1])
    return replace(
        first,
        signatures=_joined_signatures(comparisons),
        names=names,
        rows=rows,
        kinds=kinds,
        averages_runs=averages_runs,
    )


def _test_description(comparisons: Sequence[Comparison]) -> str:
    """Name and all signatures of the test of several comparisons."""
    joined = replace(comparisons[0], signatures=_joined_signatures(comparisons))
    return joined.test_description


def _tested(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """Comparisons with a significance test."""
    return [comparison for comparison in comparisons if comparison.signatures]


def _joined_signatures(comparisons: Iterable[Comparison]) -> dict[str, list[str]]:
    return join_signatures(comparison.signatures for comparison in comparisons)


def _resampling_note(comparisons: Sequence[Comparison]) -> str:
    """Note of the comparisons that average several runs; empty if none of them does."""
    return max(comparison.resampling_note for comparison in comparisons)


def join_signatures(signatures: Iterable[Mapping[str, Sequence[str]]]) -> dict[str, list[str]]:
    """Join target languages by signature."""
    joined: dict[str, dict[str, None]] = {}
    for targets_by_signature in signatures:
        for signature, targets in targets_by_signature.items():
            joined.setdefault(signature, {}).update(dict.fromkeys(targets))
    return {signature: list(targets) for signature, targets in joined.items()}
