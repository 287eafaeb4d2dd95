"""What an experiment found: each system over its seeds, beside the paper, and which differences are significant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from statistics import mean, stdev
from typing import Any

from polyglot.analysis.embeddings.analysis import Analysis
from polyglot.analysis.embeddings.retrieval import METRICS
from polyglot.core.score_tables import format_mean
from polyglot.evaluation.grid import KIND_MARKS
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.references import Reference
from polyglot.evaluation.score_matrix import Cell, ScoreMatrix, merge_provenance
from polyglot.evaluation.significance import (
    SIGNIFICANCE_LEVEL,
    Comparison,
    compare_direct_and_pivot,
    compare_systems,
)
from polyglot.experiments.config import Goal
from polyglot.tasks.pairs import LanguagePair


@dataclass(frozen=True, slots=True)
class Spread:
    """A number over seeds."""

    mean: float
    deviation: float | None
    """the standard deviation of the sample; None of a single run"""
    count: int
    values: Sequence[float] = field(default=(), compare=False)
    """of each run; none in results that were written without them"""

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(
            mean(values), stdev(values) if len(values) > 1 else None, len(values), tuple(values)
        )

    def shown(self, digits: int = 2) -> str:
        """`31.4 ± 0.2`."""
        return format_mean(self.mean, self.deviation, digits)


@dataclass(frozen=True, slots=True)
class TrainedRun:
    """Where the parameters of a matrix, or of a part of it, come from."""

    name: str
    """of its folders"""
    command: str
    """that trained it, or in words which runs it is"""
    checkpoint: Mapping[str, Any] = field(default_factory=dict)
    """which it was evaluated at"""
    parameters: int = 0
    """how many it translates with"""
    seconds: float | None = None
    """of training"""
    day: str | None = None
    """on which training ended, in UTC"""


@dataclass(frozen=True, slots=True)
class Claim:
    """A difference between two systems, and the one that a paper found on other text."""

    system: str
    beside: str
    direction: str
    paper: float | None
    """None where the paper has no such system"""
    paper_beside: str | None
    """the system that the paper's difference is from: the same, or where the paper lacks that one, what that is compared with"""
    ours: float
    p: float | None
    """of ours; None without a test"""

    @property
    def holds(self) -> bool | None:
        """Whether both have the same sign; None where the paper found no difference, or one from another system."""
        return (
            self.paper * self.ours > 0 if self.paper and self.paper_beside == self.beside else None
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a goal."""

    goal: str
    """in words"""
    found: str = "–"
    """the number that it is about"""
    reached: bool | None = None
    """None where the system is left out, or there is nothing of the kind to compare"""


@dataclass(frozen=True)
class SystemResult:
    """One system: a matrix for each of its seeds."""

    name: str
    matrices: Sequence[ScoreMatrix]
    reference: Reference | None
    runs: Sequence[TrainedRun]
    """one for each matrix, or for each part of one"""
    settings: Mapping[str, str]
    """the configuration of the first run, or of all runs of an ensemble, key by key"""
    beside: str | None = None
    """the system that it is compared with; None for the first"""
    elsewhere: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    """a paper's differences on other text, by direction, and the system that each is from"""

    @property
    def parameters(self) -> int:
        """Of all the models that are one matrix."""
        return sum(run.parameters for run in self.runs) // len(self.matrices)

    @property
    def directions(self) -> dict[str, Cell]:
        """By name: those that have scores in every run, as they are in the first."""
        every = [
            {cell.name: cell for cell in matrix.all_cells if cell.scores}
            for matrix in self.matrices
        ]
        return {
            name: cell for name, cell in every[0].items() if all(name in cells for cells in every)
        }

    def spread(self, direction: str, measure: Measure) -> Spread:
        """One direction over the runs."""
        cells = [
            {cell.name: cell for cell in matrix.all_cells}[direction] for matrix in self.matrices
        ]
        return Spread.of([cell.scores[str(measure)].value for cell in cells])

    def kinds(self, measure: Measure) -> dict[str, Spread]:
        """The mean of each kind over the runs: the spread is that of the runs' means."""
        found = {}
        for kind in KIND_MARKS:
            names = [
                name
                for name, cell in self.directions.items()
                if cell.kind == kind and str(measure) in cell.scores
            ]
            if names:
                found[kind] = Spread.of(
                    [
                        mean(
                            {cell.name: cell for cell in matrix.all_cells}[name]
                            .scores[str(measure)]
                            .value
                            for name in names
                        )
                        for matrix in self.matrices
                    ]
                )
        return found

    @property
    def empty(self) -> dict[str, str]:
        """The directions that lack a score in any run, and why."""
        return {
            cell.name: cell.reason
            for matrix in self.matrices
            for cell in matrix.all_cells
            if cell.reason
        }

    def reference_score(self, direction: str) -> float | None:
        """What the paper's table has for a direction in one hop."""
        return self.reference.scores.get(direction) if self.reference else None

    def beside_reference(self, measure: Measure) -> dict[str, tuple[float, float, int]]:
        """Of each kind the paper's mean, ours and their number, over the directions that both have."""
        found = {}
        for kind in KIND_MARKS:
            both = [
                name
                for name, cell in self.directions.items()
                if cell.kind == kind and self.reference_score(name) is not None
            ]
            if both:
                ours = mean(self.spread(name, measure).mean for name in both)
                found[kind] = mean(self.reference_score(name) for name in both), ours, len(both)
        return found


@dataclass(frozen=True)
class Results:
    """Everything that the page shows."""

    title: str
    question: str
    figure: str
    systems: Sequence[SystemResult]
    embeddings: Mapping[str, Analysis] = field(default_factory=dict)
    """by the name of the system, or of the run where a system has several; none if nobody asked for them"""
    expected: str = ""
    """what was expected, in words"""
    size: str = ""
    """which of the experiment's sizes this is"""
    about: str = ""
    """what that takes, in words"""
    goals: Sequence[Goal] = ()
    """what was to be reached"""

    @property
    def measures(self) -> list[Measure]:
        return self.systems[0].matrices[0].measures

    @property
    def measure(self) -> Measure:
        """The one that is compared with the paper, or the first one without BLEU."""
        return self.systems[0].matrices[0].protocol.measure

    @property
    def directions(self) -> dict[str, Cell]:
        """Of any system, in the order of the first that has each, one hop before two."""
        found: dict[str, Cell] = {}
        for system in self.systems:
            found |= {name: cell for name, cell in system.directions.items() if name not in found}
        return dict(sorted(found.items(), key=lambda item: item[1].via is not None))

    @cached_property
    def tests(self) -> dict[str, Comparison]:
        """Each system, in the mean of its runs, against the one which it stands beside, where both have a direction."""
        by_name, found = {system.name: system for system in self.systems}, {}
        for system in self.systems:
            base = by_name.get(system.beside)
            if base and base.directions.keys() & system.directions.keys():
                found[system.name] = compare_systems(
                    {one.name: one.matrices for one in (base, system)}, measure=self.measure
                )
        return found

    @property
    def comparisons(self) -> list[Comparison]:
        """The same with all that stand beside one system in one table, of the directions that they all have."""
        groups: dict[str, list[Comparison]] = {}
        for test in self.tests.values():
            groups.setdefault(test.names[0], []).append(test)
        found = []
        for base, tests in groups.items():
            shared = [name for name in tests[0].rows if all(name in test.rows for test in tests)]
            rows = {
                name: {run: entry for test in tests for run, entry in test.rows[name].items()}
                for name in shared
            }
            kinds = {
                name: [tests[0].kinds[name][0], *(test.kinds[name][1] for test in tests)]
                for name in shared
            }
            names = [base, *(test.names[1] for test in tests)]
            several = any(test.averages_runs for test in tests)
            signatures = _joined(test.signatures for test in tests)
            found.append(
                replace(
                    tests[0],
                    signatures=signatures,
                    names=names,
                    rows=rows,
                    kinds=kinds,
                    averages_runs=several,
                )
            )
        return found

    @property
    def note(self) -> str:
        """What the mark of a difference means; empty where nothing was tested."""
        tested = [each for each in self.comparisons if each.signatures]
        if not tested:
            return ""
        if len(tested) == 1:
            return tested[0].note
        pairs = (f"{', '.join(each.names[1:])} from {each.names[0]}" for each in tested)
        every = replace(tested[0], signatures=_joined(each.signatures for each in tested))
        return f"* differs with p < {SIGNIFICANCE_LEVEL} ({every.test_description}): {'; '.join(pairs)}{max(each.resampling_note for each in tested)}"

    @cached_property
    def hops(self) -> dict[str, Comparison]:
        """Of each system the pairs that have a score in one hop and in two."""
        return {
            system.name: compare_direct_and_pivot(system.matrices, measure=self.measure)
            for system in self.systems
        }

    @property
    def hops_note(self) -> str:
        """What the mark of a difference between one hop and two means; empty where none was tested."""
        tested = [each for each in self.hops.values() if each.signatures]
        if not tested:
            return ""
        every = replace(tested[0], signatures=_joined(each.signatures for each in tested))
        return f"* one hop differs from two with p < {SIGNIFICANCE_LEVEL} ({every.test_description}){max(each.resampling_note for each in tested)}"

    def differences(self) -> dict[str, list[str]]:
        """The keys that not all systems have the same value for, with the value of each; empty where one has no such key."""
        keys = dict.fromkeys(key for system in self.systems for key in system.settings)
        values = {key: [system.settings.get(key, "") for system in self.systems] for key in keys}
        return {key: each for key, each in values.items() if len(set(each)) > 1}

    def p(self, direction: str, system: SystemResult) -> float | None:
        """Of the difference from the system that it stands beside; None where there was no test."""
        test = self.tests.get(system.name)
        return test.rows[direction][system.name].p if test and direction in test.rows else None

    def left_out(self) -> Iterator[tuple[LanguagePair, float, Spread | None]]:
        """Each direction that some systems lack: its zero-shot score there, and the spread of the systems that were trained on it.

        Nothing in an experiment that asks something else.
        """
        for name, cell in self.directions.items() if self.figure == "left_out" else ():
            kinds = {
                system.name: system.directions[name].kind
                for system in self.systems
                if name in system.directions
            }
            scores = {
                system.name: system.spread(name, self.measure).mean
                for system in self.systems
                if system.name in kinds
            }
            unseen, seen = (
                [scores[one] for one, kind in kinds.items() if kind == wanted]
                for wanted in ("zero-shot", "supervised")
            )
            if unseen:
                yield cell.pair, mean(unseen), Spread.of(seen) if seen else None

    @cached_property
    def outcomes(self) -> list[Outcome]:
        """Of each goal, over the means of the seeds; judged as it is shown, so that 41.00 is at least 41."""
        by_name = {system.name: system for system in self.systems}
        return [self._outcome(goal, by_name.get(goal.system)) for goal in self.goals]

    def _outcome(self, goal: Goal, system: SystemResult | None) -> Outcome:
        if system is None:
            return Outcome(goal.in_words)
        score = lambda direction: system.spread(direction, self.measure).mean  # noqa: E731
        ours = {
            name: score(name)
            for name, cell in system.directions.items()
            if goal.scores in (name, cell.kind)
        }
        if goal.behind_pivot is not None:
            others = {
                pair: ways["pivot"].value
                for pair, ways in self.hops[system.name].rows.items()
                if pair in ours
            }
        else:
            others = {
                name: paper for name in ours if (paper := system.reference_score(name)) is not None
            }
        if not (ours if goal.at_least is not None else others):
            return Outcome(goal.in_words)
        if goal.at_least is not None:
            value = round(mean(ours.values()), 2)
            return Outcome(goal.in_words, f"{value:.2f}", value >= goal.at_least)
        if goal.each_above_paper:
            above = sum(round(ours[name], 2) > other for name, other in others.items())
            return Outcome(goal.in_words, f"{above} of {len(others)}", above == len(others))
        difference = round(mean(ours[name] - other for name, other in others.items()), 2)
        least = goal.above_paper if goal.behind_pivot is None else -goal.behind_pivot
        return Outcome(goal.in_words, f"{difference:+.2f}", difference >= least)

    @cached_property
    def claims(self) -> list[Claim]:
        """Of each direction that a paper has scores of on text of its own, every difference between two systems here, and there."""
        by_name, found = {system.name: system for system in self.systems}, []
        for system in (each for each in self.systems if each.beside is not None):
            base = by_name[system.beside]
            for name in dict.fromkeys(name for each in self.systems for name in each.elsewhere):
                if name in system.directions.keys() & base.directions.keys():
                    ours = (
                        system.spread(name, self.measure).mean
                        - base.spread(name, self.measure).mean
                    )
                    paper = system.elsewhere.get(name, (None, None))
                    found.append(
                        Claim(system.name, base.name, name, *paper, ours, self.p(name, system))
                    )
        return found

    def to_dict(self) -> dict[str, Any]:
        """All numbers, as JSON has it."""
        return {
            "title": self.title,
            "size": self.size,
            "measure": str(self.measure),
            "test": self.note or None,
            "test_of_hops": self.hops_note or None,
            "systems": {
                system.name: {
                    "parameters": system.parameters,
                    "commands": [run.command for run in system.runs],
                    "seconds": [run.seconds for run in system.runs],
                    "days": [run.day for run in system.runs],
                    "checkpoints": [dict(run.checkpoint) for run in system.runs],
                    "reference": system.reference and system.reference.title,
                    "kinds": {
                        str(each): {
                            kind: asdict(spread) for kind, spread in system.kinds(each).items()
                        }
                        for each in self.measures
                    },
                    "directions": {
                        name: {
                            "kind": cell.kind,
                            "intervals": {
                                measure: [score.mean, score.interval]
                                for measure, score in cell.scores.items()
                                if score.interval is not None
                            },
                            "scores": {
                                str(each): asdict(system.spread(name, each))
                                for each in self.measures
                                if str(each) in cell.scores
                            },
                            "paper": system.reference_score(name),
                            "p": self.p(name, system),
                            "outputs": cell.outputs and asdict(cell.outputs),
                        }
                        for name, cell in system.directions.items()
                    },
                    "hops": {
                        pair: ways["direct"].p
                        for pair, ways in self.hops[system.name].rows.items()
                    },
                    "signatures": {
                        str(each): _joined(matrix.signatures(each) for matrix in system.matrices)
                        for each in self.measures
                    },
                    "empty": system.empty,
                    "versions": merge_provenance([matrix.versions for matrix in system.matrices]),
                    "machine": merge_provenance([{"machine": matrix.machine} for matrix in system.matrices])[
                        "machine"
                    ],
                }
                for system in self.systems
            },
            "goals": list(map(asdict, self.outcomes)),
            "claims": list(map(asdict, self.claims)),
            "left_out": {
                str(pair): {"zero-shot": unseen, "supervised": seen and asdict(seen)}
                for pair, unseen, seen in self.left_out()
            },
            "embeddings": {
                name: {
                    each: {metric: matrix.means(metric) for metric in METRICS}
                    for each, matrix in analysis.retrieval.items()
                }
                for name, analysis in self.embeddings.items()
            },
        }


def _joined(signatures: Iterable[Mapping[str, Sequence[str]]]) -> dict[str, list[str]]:
    """Each signature once, with all the targets that it was used for."""
    found: dict[str, dict[str, None]] = {}
    for each in signatures:
        for signature, targets in each.items():
            found.setdefault(signature, {}).update(dict.fromkeys(targets))
    return {signature: list(targets) for signature, targets in found.items()}
