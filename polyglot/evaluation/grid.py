"""One measure of a score matrix as a grid: the common input of tables, pages and heat maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean
from typing import Any

from polyglot.core.language_codes import find_language
from polyglot.core.score_tables import (
    ERROR_TITLES,
    KINDS,
    NO_VALUE,
    format_number,
    format_percent,
    is_step,
    metric_title,
)
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.score_matrix import Cell, ScoreMatrix
from polyglot.tasks.pairs import LanguagePair

KIND_MARKS = {
    "supervised": "{}",
    "zero-shot": "{}†",
    "pivot": "{}‡",
    "copy": "({})",
}
"""Format of a score of each kind, readable without colours; in the order of KINDS."""

assert tuple(KIND_MARKS) == KINDS

LEGEND = "† zero-shot: never trained · ( ) monolingual copy · – no score"
PIVOT_LEGEND = "‡ pivot translation, through another language"


@dataclass(frozen=True)
class Grid:
    """One measure of a score matrix, or a table of a paper."""

    title: str
    languages: Sequence[str]
    kinds: Mapping[LanguagePair, str]
    """kind of each cell"""
    values: Mapping[LanguagePair, float]
    """score of each cell that has one"""
    lower_is_better: bool = False

    def format_cell(self, pair: LanguagePair, *, digits: int = 1) -> str:
        """Score with the mark of its kind; – without a score; empty without a cell."""
        if pair not in self.kinds:
            return ""
        if pair not in self.values:
            return NO_VALUE
        number = format_number(self.values[pair], digits)
        return mark_kind(self.kinds[pair], number)

    def means(
        self,
        *,
        source: str | None = None,
        target: str | None = None,
    ) -> Iterator[tuple[str, float, int]]:
        """Yield kind, mean and number of cells of each kind that has scores.

        source, target: only cells of this row, of this column.
        """
        values_by_kind: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for pair, value in self.values.items():
            is_in_row = source in (None, pair.source)
            is_in_column = target in (None, pair.target)
            if is_in_row and is_in_column:
                kind = self.kinds[pair]
                values_by_kind[kind].append(value)
        for kind, values in values_by_kind.items():
            if values:
                yield kind, mean(values), len(values)


def mark_kind(kind: str, text: str) -> str:
    """Text with the mark of a kind: `21.4†` for a zero-shot score."""
    return KIND_MARKS[kind].format(text)


def direct_grid(matrix: ScoreMatrix, measure: Measure | str) -> Grid:
    """Grid of the direct translations."""
    return _grid(matrix, matrix.cells, measure)


def pivot_grid(matrix: ScoreMatrix, measure: Measure | str) -> Grid:
    """Grid of the pivot translations; without cells if the protocol has no pivot."""
    return _grid(matrix, matrix.pivots, measure)


def _grid(matrix: ScoreMatrix, cells: Mapping[LanguagePair, Cell], measure: Measure | str) -> Grid:
    measure = Measure.parse(str(measure))
    name = str(measure)
    kinds = {}
    values = {}
    for pair, cell in cells.items():
        kinds[pair] = cell.kind
        score = cell.scores.get(name)
        if score is not None:
            values[pair] = score.value
    return Grid(
        title=measure.title,
        languages=matrix.languages,
        kinds=kinds,
        values=values,
        lower_is_better=measure.lower_is_better,
    )


def reference_grid(matrix: ScoreMatrix, measure: Measure | str) -> Grid | None:
    """Table of the paper in our order of languages; None unless the measure is compared with it."""
    reference = matrix.reference
    paper_measure = matrix.protocol.paper_measure
    if reference is None or str(measure) != str(paper_measure):
        return None

    names = {}
    for language in reference.languages:
        names[language] = find_language(language, matrix.languages) or language
    values = {}
    kinds = {}
    for name, score in reference.scores.items():
        paper_pair = LanguagePair.parse(name)
        pair = LanguagePair(names[paper_pair.source], names[paper_pair.target])
        values[pair] = score
        kinds[pair] = reference.kind_of(paper_pair)
    languages = [language for language in matrix.languages if language in names.values()]
    languages += [language for language in names.values() if language not in languages]
    return Grid(
        title=reference.title,
        languages=languages,
        kinds=kinds,
        values=values,
    )


def legend(matrix: ScoreMatrix) -> str:
    """Meaning of the marks of the kinds."""
    if matrix.pivots:
        return f"{LEGEND} · {PIVOT_LEGEND}"
    return LEGEND


def matrix_title(matrix: ScoreMatrix) -> str:
    """Run, checkpoint and test set: `phrasebook, best checkpoint (step 4000)`."""
    return scores_title(matrix.checkpoint, matrix.test_set)


def scores_title(description: Mapping[str, Any], test_set: str) -> str:
    """Title of scores. description: the entry `checkpoint` of a matrix."""
    run = str(description.get("run", ""))
    precision = description.get("precision")
    engine = description.get("engine")
    parts = [run, _describe_checkpoint(description), precision, engine, test_set]
    return ", ".join(filter(None, parts))


def _describe_checkpoint(description: Mapping[str, Any]) -> str:
    """Checkpoint and its steps: `best checkpoint (step 4000)`, or `checkpoint of step 300`."""
    steps = description.get("steps") or []
    name = description.get("checkpoint")
    if is_step(name):
        return f"checkpoint of step {name}"
    checkpoint = ""
    if name is not None:
        checkpoint = f"{name} checkpoint"
    if steps:
        noun = "step" if len(steps) == 1 else "steps"
        listed = ", ".join(map(str, steps))
        checkpoint += f" ({noun} {listed})"
    return checkpoint


def signature_lines(matrix: ScoreMatrix, measure: Measure | str) -> list[str]:
    """Signatures with the name of the metric: `BLEU|nrefs:1|…`; several with target languages."""
    metric = Measure.parse(str(measure)).metric
    title = metric_title(metric)
    signatures = matrix.signatures(measure)
    lines = []
    for signature, targets in signatures.items():
        line = f"{title}|{signature}"
        if len(signatures) > 1:
            languages = ", ".join(targets)
            line += f" (into {languages})"
        lines.append(line)
    return lines


def pivot_name(matrix: ScoreMatrix) -> str:
    return f"through {matrix.protocol.pivot}"


def mean_errors_by_kind(matrix: ScoreMatrix) -> dict[str, dict[str, str]]:
    """Formatted mean of each output error over the cells of each kind that have it."""
    rows: dict[str, dict[str, str]] = {}
    translated = [cell for cell in matrix.all_cells if cell.outputs]
    for kind in KINDS:
        cells = [cell for cell in translated if cell.kind == kind]
        if cells:
            errors = _mean_errors(cells)
            rows[kind] = format_errors(errors)
    return rows


def _mean_errors(cells: Sequence[Cell]) -> dict[str, float]:
    """Mean of each field of `OutputErrors` over the cells that have a value for it."""
    values: dict[str, list[float]] = {}
    for cell in cells:
        errors = asdict(cell.outputs)
        del errors["languages"]
        for name, value in errors.items():
            if value is not None:
                values.setdefault(name, []).append(value)
    return {name: mean(numbers) for name, numbers in values.items()}


def format_errors(errors: Mapping[str, float | None]) -> dict[str, str]:
    """Format each output error as `0.4 (0.1) %`, with the value of the references in brackets.

    The length ratio is not a percentage.
    """
    formatted = {}
    for name in ERROR_TITLES:
        value = errors.get(name)
        if name == "length_ratio":
            formatted[name] = format_number(value, 2)
        else:
            expected = errors.get(f"{name}_references")
            formatted[name] = format_percent(value, expected=expected)
    return formatted
