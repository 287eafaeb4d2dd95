"""One measure of a score matrix as a grid: the common input of tables, pages and heat maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean

from polyglot.core.language_codes import find_language
from polyglot.core.score_tables import (
    ERROR_TITLES,
    KINDS,
    NO_VALUE,
    format_number,
    format_percent,
    metric_title,
)
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.score_matrix import Cell, ScoreMatrix
from polyglot.tasks.pairs import LanguagePair

KIND_MARKS = {"supervised": "{}", "zero-shot": "{}†", "pivot": "{}‡", "copy": "({})"}
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
        return KIND_MARKS[self.kinds[pair]].format(format_number(self.values[pair], digits))

    def means(
        self,
        *,
        source: str | None = None,
        target: str | None = None,
    ) -> Iterator[tuple[str, float, int]]:
        """Yield kind, mean and number of cells of each kind that has scores.

        source, target: only cells of this row, of this column.
        """
        for kind in KINDS:
            values = []
            for pair, value in self.values.items():
                is_in_row = source in (None, pair.source)
                is_in_column = target in (None, pair.target)
                if self.kinds[pair] == kind and is_in_row and is_in_column:
                    values.append(value)
            if values:
                yield kind, mean(values), len(values)


def direct_grid(matrix: ScoreMatrix, measure: Measure | str) -> Grid:
    """Grid of the direct translations."""
    return _grid(matrix, matrix.cells, measure)


def pivot_grid(matrix: ScoreMatrix, measure: Measure | str) -> Grid:
    """Grid of the pivot translations; without cells if the protocol has no pivot."""
    return _grid(matrix, matrix.pivots, measure)


def _grid(matrix: ScoreMatrix, cells: Mapping[LanguagePair, Cell], measure: Measure | str) -> Grid:
    measure = Measure.parse(str(measure))
    name = str(measure)
    kinds = {pair: cell.kind for pair, cell in cells.items()}
    values = {pair: cell.scores[name].value for pair, cell in cells.items() if name in cell.scores}
    return Grid(measure.title, matrix.languages, kinds, values, measure.lower_is_better)


def reference_grid(matrix: ScoreMatrix, measure: Measure | str) -> Grid | None:
    """Table of the paper in our order of languages; None unless the measure is compared with it."""
    reference = matrix.reference
    if reference is None or str(measure) != str(matrix.protocol.paper_measure):
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
    return Grid(reference.title, languages, kinds, values)


def matrix_title(matrix: ScoreMatrix) -> str:
    """Run, checkpoint and test set: `phrasebook, best checkpoint (step 4000)`."""
    description = matrix.checkpoint
    checkpoint = f"{description['checkpoint']} checkpoint" if "checkpoint" in description else ""
    steps = description.get("steps") or []
    if steps:
        noun = "step" if len(steps) == 1 else "steps"
        checkpoint += f" ({noun} {', '.join(map(str, steps))})"
    parts = [str(description.get("run", "")), checkpoint, matrix.test_set]
    return ", ".join(part for part in parts if part)


def signature_lines(matrix: ScoreMatrix, measure: Measure | str) -> list[str]:
    """Signatures with the name of the metric: `BLEU|nrefs:1|…`; several with target languages."""
    title = metric_title(Measure.parse(str(measure)).metric)
    signatures = matrix.signatures(measure)
    if len(signatures) == 1:
        return [f"{title}|{signature}" for signature in signatures]
    return [
        f"{title}|{signature} (into {', '.join(targets)})"
        for signature, targets in signatures.items()
    ]


def pivot_name(matrix: ScoreMatrix) -> str:
    return f"through {matrix.protocol.pivot}"


def mean_errors_by_kind(matrix: ScoreMatrix) -> dict[str, dict[str, str]]:
    """Formatted mean of each output error over the cells of each kind that have it."""
    rows: dict[str, dict[str, str]] = {}
    for kind in KINDS:
        cells = [cell for cell in matrix.all_cells if cell.kind == kind and cell.outputs]
        if cells:
            rows[kind] = format_errors(_mean_errors(cells))
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
            formatted[name] = format_percent(value, expected=errors.get(f"{name}_references"))
    return formatted
