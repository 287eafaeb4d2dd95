"""Systems beside each other, of one run or several: differences from the first, and which are significant by sacreBLEU's paired tests."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric, Score
from sacrebleu.significance import PairedTest

from polyglot.core.errors import ConfigError, DataError, pluralize
from polyglot.evaluation.grid import KIND_MARKS
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.metrics import Scorer
from polyglot.evaluation.score_matrix import Cell, ScoreMatrix
from polyglot.evaluation.views.terminal import plain_table, titled_table

if TYPE_CHECKING:
    from rich.table import Table

SIGNIFICANCE_LEVEL = 0.05  # of p below which a difference is marked
TESTS = {"bootstrap": "bs", "randomisation": "ar"}
"""Paired bootstrap (Koehn 2004) and paired approximate randomisation (Riezler and Maxwell 2005)."""
DEFAULT_TEST = "bootstrap"


@dataclass(frozen=True, slots=True)
class ComparedScore:
    """One direction of one system."""

    value: float
    """the mean of its runs"""
    p: float | None = None
    """of its difference from the baseline; None for the baseline itself, and without a test"""

    @property
    def is_significant(self) -> bool:
        return self.p is not None and self.p < SIGNIFICANCE_LEVEL

    def shown(self, digits: int = 1) -> str:
        return f"{self.value:.{digits}f}{'*' if self.is_significant else ''}"


@dataclass(frozen=True)
class Comparison:
    """Every direction that all of some systems have."""

    measure: Measure
    test: str
    signatures: Mapping[str, Sequence[str]]
    """of the test, as sacreBLEU writes it, with the targets that it was used for; none where no direction could be tested"""
    names: Sequence[str]
    """the systems; the first is the baseline"""
    rows: Mapping[str, Mapping[str, ComparedScore]]
    """by direction, then by system"""
    kinds: Mapping[str, Sequence[str]]
    """of each direction, in each system: what is zero-shot in one may be supervised in another"""
    averages_runs: bool = False
    """whether it is means over several runs, as of several seeds, that are compared"""

    def means(self) -> dict[str, dict[str, float]]:
        """By kind, then by system: over the directions that are of this kind in each."""
        result: dict[str, dict[str, float]] = {}
        for kind in KIND_MARKS:
            for place, name in enumerate(self.names):
                values = [
                    entries[name].value
                    for direction, entries in self.rows.items()
                    if self.kinds[direction][place] == kind
                ]
                if values:
                    result.setdefault(kind, {})[name] = mean(values)
        return result

    @property
    def test_description(self) -> str:
        """How: `paired bootstrap, ` and its signature, or each with its targets where tokenizers differ."""
        signatures = list(self.signatures)
        if len(signatures) > 1:
            signatures = [
                f"{signature} into {', '.join(targets)}"
                for signature, targets in self.signatures.items()
            ]
        return f"paired {'bootstrap' if self.test == 'bootstrap' else 'approximate randomisation'}, {'; '.join(signatures)}"

    @property
    def resampling_note(self) -> str:
        """What the mark is of, where systems have several runs; else empty."""
        return (
            "; of means over the seeds, where sentences are resampled and seeds are not"
            if self.averages_runs
            else ""
        )

    @property
    def note(self) -> str:
        """What the mark means."""
        return (
            f"* differs from {self.names[0]} with p < {SIGNIFICANCE_LEVEL} ({self.test_description}){self.resampling_note}"
            if self.signatures
            else "no test"
        )

    def table(self) -> Table:
        """For rich: a row for each direction, the kinds' means below."""
        rows = plain_table("direction", *self.names)
        for direction, entries in self.rows.items():
            signs = [KIND_MARKS[kind] for kind in self.kinds[direction]]
            rows.add_row(
                direction,
                *(sign.format(entries[name].shown()) for sign, name in zip(signs, self.names)),
            )
        rows.add_section()
        for kind, means in self.means().items():
            rows.add_row(
                KIND_MARKS[kind].format(kind),
                *(f"{means[name]:.1f}" if name in means else "–" for name in self.names),
            )
        what = pluralize(len(self.names), "system" if self.averages_runs else "run")
        return titled_table(f"{self.measure.title} of {what}", rows, self.note)


def distinct_names(paths: Sequence[Path]) -> list[str]:
    """Of each path the shortest end that no other one has: `phrasebook`, or `first/phrasebook` where there is a second one.

    Raises ConfigError for a path that is there twice.
    """
    parts = [Path(os.path.abspath(path)).parts for path in paths]
    for number, (path, own) in enumerate(zip(paths, parts)):
        if own in parts[:number]:
            raise ConfigError(f"{path}: named twice; name each run once")

    def name(own: tuple[str, ...]) -> str:
        others = [other for other in parts if other != own]
        length = next(
            length
            for length in range(1, len(own) + 1)
            if length == len(own) or all(other[-length:] != own[-length:] for other in others)
        )
        return str(Path(*own[-length:]))

    return [name(own) for own in parts]


class _OverRuns:
    """A metric of several runs of one system: the mean of their scores. Of sacreBLEU's metrics it has what its paired tests call.

    A hypothesis is a tuple, the translations of one sentence by each run, which so stay together in every resample.
    """

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.get_signature = metric.get_signature

    def _extract_corpus_statistics(
        self, hypotheses: Sequence[tuple[str, ...]], references: Sequence[Sequence[str]]
    ) -> NDArray[Any]:
        """(sentences, runs × statistics)"""
        of_runs = [
            numpy.asarray(self.metric._extract_corpus_statistics(lines, references))
            for lines in zip(*hypotheses)
        ]
        self._width = of_runs[0].shape[1]
        return numpy.concatenate(of_runs, axis=1)

    def _aggregate_and_compute(self, statistics: NDArray[Any]) -> Score:
        return self._compute_score_from_stats(statistics.sum(axis=0))

    def _compute_score_from_stats(self, statistics: NDArray[Any]) -> Score:
        """statistics (runs × statistics), summed over sentences"""
        scores = [
            self.metric._compute_score_from_stats(own)
            for own in statistics.reshape(-1, self._width)
        ]
        return Score(scores[0].name, mean(score.score for score in scores))


def compare_systems(
    systems: Mapping[str, Sequence[ScoreMatrix]],
    *,
    measure: Measure | None = None,
    test: str = DEFAULT_TEST,
    samples: int = 0,
) -> Comparison:
    """The first system is the baseline; of several runs, as of several seeds, the mean counts. Sentences are resampled, runs are not.

    A direction is tested where all runs of all systems translated the same text.
    test: one of TESTS
    samples: resamples of the bootstrap or trials of the randomisation; 0 for sacreBLEU's 1000 and 10000.
    Raises DataError when no direction was scored by all, and for a randomisation, which swaps the nth run of one with the nth
    of the other, of systems that do not have as many.
    """
    names, first = list(systems), next(iter(systems.values()))[0]
    measure = measure or first.measures[0]
    if test == "randomisation" and len({len(runs) for runs in systems.values()}) > 1:
        numbers = ", ".join(f"{name} has {len(runs)}" for name, runs in systems.items())
        raise DataError(
            f"randomisation swaps the runs of two systems, so that each must have as many: {numbers}; the bootstrap takes any number"
        )
    cells = {
        name: [
            {cell.name: (matrix, cell) for cell in matrix.all_cells if str(measure) in cell.scores}
            for matrix in runs
        ]
        for name, runs in systems.items()
    }
    shared = [
        direction
        for direction in cells[names[0]][0]
        if all(direction in own for own in chain(*cells.values()))
    ]
    if not shared:
        raise DataError(
            f"{', '.join(names)}: no direction has {measure.title} in all of them; evaluate them with one protocol"
        )
    return _compared(
        {one: {name: [own[one] for own in runs] for name, runs in cells.items()} for one in shared},
        measure,
        test,
        samples,
    )


def compare_direct_and_pivot(
    runs: Sequence[ScoreMatrix], *, measure: Measure, test: str = DEFAULT_TEST, samples: int = 0
) -> Comparison:
    """One hop against two in the mean of a system's runs, of each pair that all have scores of in both ways: `two hops`, `one hop`."""
    directions = {}
    for pair in runs[0].pivots:
        ways = {
            "pivot": [run.pivots.get(pair) for run in runs],
            "direct": [run.cells.get(pair) for run in runs],
        }
        if all(cell and str(measure) in cell.scores for cell in chain(*ways.values())):
            directions[str(pair)] = {way: list(zip(runs, cells)) for way, cells in ways.items()}
    return _compared(directions, measure, test, samples)


def _compared(
    directions: Mapping[str, Mapping[str, Sequence[tuple[ScoreMatrix, Cell]]]],
    measure: Measure,
    test: str,
    samples: int,
) -> Comparison:
    """directions: of each the systems, and of each system where every run has it; a direction may be none."""
    rows, kinds, signatures, several = {}, {}, {}, False
    for direction, systems in directions.items():
        cells = {name: [cell for _, cell in own] for name, own in systems.items()}
        base, *others = systems
        ps: list[float | None] = [None] * len(others)
        if (
            others
            and measure.metric != "comet"
            and len({(cell.source_text, cell.reference_text) for cell in chain(*cells.values())})
            == 1
        ):
            ps, signature = _test(measure, systems, test, samples)
            signatures.setdefault(signature, {})[cells[base][0].pair.target] = None
        values = {
            name: mean(cell.scores[str(measure)].value for cell in own)
            for name, own in cells.items()
        }
        rows[direction] = {
            name: ComparedScore(values[name], p)
            for name, p in zip(systems, [None, *ps], strict=True)
        }
        kinds[direction] = [own[0].kind for own in cells.values()]
        several |= any(len(own) > 1 for own in cells.values())
    targets = {signature: list(languages) for signature, languages in signatures.items()}
    return Comparison(
        measure, test, targets, list(next(iter(directions.values()), {})), rows, kinds, several
    )


def _test(
    measure: Measure,
    systems: Mapping[str, Sequence[tuple[ScoreMatrix, Cell]]],
    test: str,
    samples: int,
) -> tuple[list[float], str]:
    """p of every system but the first against that in one direction, and the signature of the test."""
    matrix, cell = next(iter(systems.values()))[0]
    scorer = Scorer(measure, target=cell.pair.target, tokenizer=matrix.protocol.tokenizer)
    lines = {
        name: [scorer.prepare(run.hypotheses[own.name]) for run, own in runs]
        for name, runs in systems.items()
    }
    tuples = [(name, list(zip(*runs, strict=True))) for name, runs in lines.items()]
    references = scorer.prepare(matrix.texts[cell.reference_text])
    signatures, results = PairedTest(
        tuples,
        {measure.metric: _OverRuns(scorer.metric)},
        [references],
        TESTS[test],
        n_samples=samples,
    )()
    ((title, signature),) = signatures.items()
    base, *others = results[title]
    # sacreBLEU finds the smallest p of all for a system beside itself, since no difference of 0 exceeds 0.
    ps = [1.0 if result.score == base.score else float(result.p_value) for result in others]
    return ps, f"{title}|{signature}"
