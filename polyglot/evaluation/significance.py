"""Comparison of systems direction by direction, with the paired significance tests of sacreBLEU."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean

from polyglot.core.errors import DataError
from polyglot.core.language_codes import normal_form
from polyglot.core.score_tables import KINDS, format_number
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.metrics import Scorer
from polyglot.evaluation.sacrebleu_internals import paired_test
from polyglot.evaluation.score_matrix import Cell, ScoreMatrix
from polyglot.evaluation.scored_texts import have_different_texts, text_content

logger = logging.getLogger("polyglot")

SIGNIFICANCE_LEVEL = 0.05  # a difference with a smaller p-value is marked

TESTS = {"bootstrap": "bs", "randomisation": "ar"}
"""Paired bootstrap (Koehn 2004) and paired approximate randomisation (Riezler and Maxwell 2005)."""
DEFAULT_TEST = "bootstrap"

DIRECT = "direct"
PIVOT = "pivot"
"""Names of the two systems of `compare_direct_and_pivot`."""

Direction = tuple[str, str, str]
"""Source, target and pivot in normal form; the pivot is empty for a direct translation."""

ScoredCells = dict[Direction, tuple[ScoreMatrix, Cell]]
"""Cells of one run that have a score, with its matrix."""

Systems = Mapping[str, Sequence[ScoreMatrix]]
"""Runs of each system, by name; the first is the baseline."""

RunCells = Sequence[tuple[ScoreMatrix, Cell]]
"""One direction of one system: the cell of each run, with the matrix that has it."""


@dataclass(frozen=True, slots=True)
class ComparedScore:
    """Score of one system in one direction."""

    value: float
    """mean of the runs"""
    p: float | None = None
    """p-value of the difference from the baseline; None for the baseline, and without a test"""

    @property
    def is_significant(self) -> bool:
        return self.p is not None and self.p < SIGNIFICANCE_LEVEL

    def format(self, digits: int = 1) -> str:
        """Score, with `*` if it differs significantly from the baseline."""
        number = format_number(self.value, digits)
        if self.is_significant:
            return f"{number}*"
        return number


@dataclass(frozen=True)
class Comparison:
    """Scores of several systems in all common directions."""

    measure: Measure
    test: str
    """one of TESTS"""
    signatures: Mapping[str, Sequence[str]]
    """target languages by signature of the test; empty if no direction could be tested"""
    names: Sequence[str]
    """systems; the first is the baseline"""
    rows: Mapping[str, Mapping[str, ComparedScore]]
    """by direction, then by system"""
    kinds: Mapping[str, Sequence[str]]
    """kind of each direction in each system: a direction can be zero-shot in only some of them"""
    averages_runs: bool = False
    """True if a score is the mean of several runs, such as several seeds"""
    test_set: str = ""
    """name of the test set if the protocol has several"""
    has_different_texts: bool = False
    """True if the directions of a kind have different test sentences"""

    def means(self) -> dict[str, dict[str, float]]:
        """Mean score by kind and system, over the directions of this kind in the system."""
        means: dict[str, dict[str, float]] = {}
        for kind in KINDS:
            means_of_kind = {}
            for column, name in enumerate(self.names):
                values = []
                for direction, scores in self.rows.items():
                    if self.kinds[direction][column] == kind:
                        values.append(scores[name].value)
                if values:
                    means_of_kind[name] = mean(values)
            if means_of_kind:
                means[kind] = means_of_kind
        return means

    @property
    def test_description(self) -> str:
        """Name and signature of the test: `paired bootstrap, BLEU|…`.

        With target languages if there are several signatures.
        """
        if self.test == "bootstrap":
            name = "paired bootstrap"
        else:
            name = "paired approximate randomisation"
        signatures = list(self.signatures)
        if len(signatures) > 1:
            signatures = []
            for signature, targets in self.signatures.items():
                languages = ", ".join(targets)
                signatures.append(f"{signature} into {languages}")
        listed = "; ".join(signatures)
        return f"{name}, {listed}"

    @property
    def resampling_note(self) -> str:
        """Note that sentences and not seeds are resampled; empty for single runs."""
        if not self.averages_runs:
            return ""
        return "; the test compares means over the seeds and resamples sentences, not seeds"

    @property
    def note(self) -> str:
        """Explanation of the mark `*`."""
        if not self.signatures:
            return "no test"
        return (
            f"* differs from {self.names[0]} with p < {SIGNIFICANCE_LEVEL} "
            f"({self.test_description}){self.resampling_note}"
        )


def compare_systems(
    systems: Systems,
    *,
    measure: Measure | None = None,
    test: str = DEFAULT_TEST,
    samples: int = 0,
) -> Comparison:
    """Compare every system with the first, in all directions that all runs scored.

    A system is a sequence of runs, such as several seeds, and its score is their mean. The test
    resamples sentences, not runs. A direction is tested if all runs translated the same text.

    measure: default the first measure. test: one of TESTS. samples: resamples of the bootstrap, or
    trials of the randomisation; 0 for sacreBLEU's 1000 and 10000.

    Raises DataError if there is no common direction. The randomisation swaps the n-th run of one
    system with the n-th of the other: it also raises DataError for different numbers of runs.
    """
    names = list(systems)
    baseline = systems[names[0]]
    if measure is None:
        measure = baseline[0].measures[0]
    if test == "randomisation":
        _check_numbers_of_runs(systems)

    directions = _common_directions(systems, measure)
    if not directions:
        listed = ", ".join(names)
        raise DataError(
            f"{listed}: no direction has {measure.title} in all of them; "
            "evaluate them with one protocol"
        )
    comparison = _compare(directions, measure, test, samples)
    cells = [_first_cell(systems[names[0]]) for systems in directions.values()]
    return replace(
        comparison,
        test_set=baseline[0].test_set,
        has_different_texts=have_different_texts(cells),
    )


def _common_directions(
    systems: Systems,
    measure: Measure,
) -> dict[str, dict[str, RunCells]]:
    """Directions that all runs of all systems scored: cells of each system, by direction.

    Runs may spell a language differently; a direction has the name of the first run.
    """
    cells: dict[str, list[ScoredCells]] = {}
    common: dict[Direction, None] | None = None  # a dict, to keep the order of the first run
    for name, runs in systems.items():
        cells[name] = [_scored_cells(run, measure) for run in runs]
        for scored in cells[name]:
            if common is None:
                common = dict.fromkeys(scored)
            common = {direction: None for direction in common if direction in scored}

    directions: dict[str, dict[str, RunCells]] = {}
    for direction in common or ():
        by_system = {}
        for name, run_cells in cells.items():
            by_system[name] = [scored[direction] for scored in run_cells]
        baseline = next(iter(by_system.values()))
        name = _first_cell(baseline).name
        directions[name] = by_system
    return directions


def compare_direct_and_pivot(
    runs: Sequence[ScoreMatrix],
    *,
    measure: Measure,
    test: str = DEFAULT_TEST,
    samples: int = 0,
) -> Comparison:
    """Compare direct translation with pivot translation, in the mean of a system's runs.

    The systems of the comparison are PIVOT, the baseline, and DIRECT; its directions are the pairs
    that all runs scored in both ways.
    """
    directions = {}
    for pair in runs[0].pivots:
        pivot_cells = [run.pivots.get(pair) for run in runs]
        direct_cells = [run.cells.get(pair) for run in runs]
        all_cells = [*pivot_cells, *direct_cells]
        if all(_has_score(cell, measure) for cell in all_cells):
            directions[str(pair)] = {
                PIVOT: list(zip(runs, pivot_cells)),
                DIRECT: list(zip(runs, direct_cells)),
            }
    return _compare(directions, measure, test, samples)


def _has_score(cell: Cell | None, measure: Measure) -> bool:
    return cell is not None and str(measure) in cell.scores


def _mean_score(runs: RunCells, measure: Measure) -> float:
    """Mean score of the runs of a system in one direction."""
    values = [cell.scores[str(measure)].value for _, cell in runs]
    return mean(values)


def _check_numbers_of_runs(systems: Systems) -> None:
    counts = set(map(len, systems.values()))
    if len(counts) > 1:
        numbers = []
        for name, runs in systems.items():
            numbers.append(f"{name} has {len(runs)}")
        listed = ", ".join(numbers)
        raise DataError(
            "the randomisation swaps the runs of two systems, so all systems must have the same "
            f"number of runs: {listed}; the bootstrap takes any number"
        )


def _scored_cells(matrix: ScoreMatrix, measure: Measure) -> ScoredCells:
    """Cells with a score of the measure, by direction."""
    cells = {}
    for cell in matrix.all_cells:
        if _has_score(cell, measure):
            cells[_direction(cell)] = (matrix, cell)
    return cells


def _direction(cell: Cell) -> Direction:
    """Direction of a cell, equal for all spellings of its languages."""
    source = normal_form(cell.pair.source)
    target = normal_form(cell.pair.target)
    via = normal_form(cell.via) if cell.via else ""
    return source, target, via


def _compare(
    directions: Mapping[str, Mapping[str, RunCells]],
    measure: Measure,
    test: str,
    samples: int,
) -> Comparison:
    """Compare the systems of each direction. directions: may be empty."""
    rows: dict[str, dict[str, ComparedScore]] = {}
    kinds: dict[str, list[str]] = {}
    signatures: dict[str, list[str]] = {}
    names: list[str] = []
    averages_runs = False
    for direction, systems in directions.items():
        p_values: list[float | None] = [None] * len(systems)
        if _can_be_tested(systems, measure):
            tested, signature = _test(systems, measure, test, samples)
            p_values[1:] = tested
            _add_target(signatures, signature, systems)

        _warn_about_tokenizers(direction, systems, measure)

        rows[direction] = {}
        kinds[direction] = []
        for (name, runs), p_value in zip(systems.items(), p_values, strict=True):
            score = _mean_score(runs, measure)
            rows[direction][name] = ComparedScore(score, p_value)
            kinds[direction].append(_first_cell(runs).kind)
            if len(runs) > 1:
                averages_runs = True
        names = list(systems)
    return Comparison(
        measure=measure,
        test=test,
        signatures=signatures,
        names=names,
        rows=rows,
        kinds=kinds,
        averages_runs=averages_runs,
    )


def _warn_about_tokenizers(
    direction: str,
    systems: Mapping[str, RunCells],
    measure: Measure,
) -> None:
    """Warn if the scores of a direction were computed with different tokenizers."""
    tokenizers = _tokenizers(systems, measure)
    if len(tokenizers) > 1:
        listed = ", ".join(sorted(tokenizers))
        logger.warning(
            f"{direction}: scored with different tokenizers ({listed}), "
            "so the scores cannot be compared; evaluate all runs again with one tokenizer"
        )


def _can_be_tested(systems: Mapping[str, RunCells], measure: Measure) -> bool:
    """True if there are several systems, all runs translated the same text, and it is not COMET."""
    texts = set()
    for runs in systems.values():
        for _, cell in runs:
            source_text = text_content(cell.source_text)
            reference_text = text_content(cell.reference_text)
            texts.add((source_text, reference_text))
    if len(systems) < 2 or measure.metric == "comet" or len(texts) != 1:
        return False
    return len(_tokenizers(systems, measure)) == 1


def _tokenizers(systems: Mapping[str, RunCells], measure: Measure) -> set[str]:
    """Tokenizers in the signatures of the scores; an empty name for a metric without one."""
    tokenizers = set()
    for runs in systems.values():
        for _, cell in runs:
            score = cell.scores[str(measure)]
            fields = score.signature.split("|")
            tokenizer_fields = [field for field in fields if field.startswith("tok:")]
            tokenizers.add("".join(tokenizer_fields))
    return tokenizers


def _add_target(
    signatures: dict[str, list[str]],
    signature: str,
    systems: Mapping[str, RunCells],
) -> None:
    """Add the target language of a direction to those of its signature."""
    baseline = next(iter(systems.values()))
    target = _first_cell(baseline).pair.target
    targets = signatures.setdefault(signature, [])
    if target not in targets:
        targets.append(target)


def _first_cell(runs: RunCells) -> Cell:
    _, cell = runs[0]
    return cell


def _test(
    systems: Mapping[str, RunCells],
    measure: Measure,
    test: str,
    samples: int,
) -> tuple[list[float], str]:
    """Test each system against the first in one direction: p-values and signature of the test."""
    matrix, cell = next(iter(systems.values()))[0]
    target = cell.pair.target
    tokenizer = matrix.protocol.tokenizer_for(target)
    scorer = Scorer(measure, target=target, tokenizer=tokenizer)
    references = scorer.prepare(matrix.texts[cell.reference_text])
    hypotheses = {}
    for name, runs in systems.items():
        hypotheses[name] = []
        for run_matrix, run_cell in runs:
            lines = run_matrix.hypotheses[run_cell.name]
            hypotheses[name].append(scorer.prepare(lines))
    return paired_test(
        hypotheses,
        references,
        metric=scorer.metric,
        title=measure.metric,
        test=TESTS[test],
        samples=samples,
    )
