"""One measure of a score matrix as a grid of cells with signs for their kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean
from typing import TYPE_CHECKING

from polyglot.evaluation.measures import RETRIEVAL, TITLES, Measure
from polyglot.tasks.pairs import LanguagePair

if TYPE_CHECKING:
    from polyglot.evaluation.score_matrix import Cell, Matrix


SIGNS = {"supervised": "{}", "zero-shot": "{}†", "pivot": "{}‡", "copy": "({})"}
"""How a score of each kind is written, so that nobody needs colours to tell them apart."""


KEY = "† zero-shot: never trained · ( ) copy: a language into itself · – no score"


PIVOT_KEY = "‡ pivot: in two hops, through another language"


@dataclass(frozen=True)
class Grid:
    """What every view draws: one measure of a matrix, or a table of a paper."""

    title: str
    languages: Sequence[str]
    kinds: Mapping[LanguagePair, str]
    """of every cell that there is"""
    values: Mapping[LanguagePair, float]
    """of every cell that has a score"""
    lower_is_better: bool = False

    def shown(self, pair: LanguagePair, *, digits: int = 1) -> str:
        """A score with the sign of its kind; – for a cell without one, nothing where there is no cell."""
        if pair not in self.kinds:
            return ""
        return (
            SIGNS[self.kinds[pair]].format(f"{self.values[pair]:.{digits}f}")
            if pair in self.values
            else "–"
        )

    def means(
        self, *, source: str | None = None, target: str | None = None
    ) -> Iterator[tuple[str, float, int]]:
        """Kind, mean and number of cells, of each kind that has scores; of all, or of one row or column."""
        for kind in SIGNS:
            values = [
                value
                for pair, value in self.values.items()
                if self.kinds[pair] == kind
                and source in (None, pair.source)
                and target in (None, pair.target)
            ]
            if values:
                yield kind, mean(values), len(values)


def grid_of(matrix: Matrix, measure: Measure | str) -> Grid:
    """The directions in one hop."""
    return _grid(matrix, matrix.cells, measure)


def pivot_grid(matrix: Matrix, measure: Measure | str) -> Grid:
    """The directions in two hops; without cells where the protocol has no pivot."""
    return _grid(matrix, matrix.pivots, measure)


def _grid(matrix: Matrix, cells: Mapping[LanguagePair, Cell], measure: Measure | str) -> Grid:
    measure = Measure.parse(str(measure))
    kinds = {pair: cell.kind for pair, cell in cells.items()}
    values = {
        pair: cell.scores[str(measure)].value
        for pair, cell in cells.items()
        if str(measure) in cell.scores
    }
    return Grid(measure.title, matrix.languages, kinds, values, measure.lower_is_better)


def reference_grid(matrix: Matrix, measure: Measure | str) -> Grid | None:
    """The paper's table in our order of languages, for the measure that it stands beside."""
    reference = matrix.reference
    if reference is None or str(measure) != str(matrix.protocol.papers_measure):
        return None
    values = {LanguagePair.parse(pair): score for pair, score in reference.scores.items()}
    languages = [language for language in matrix.languages if language in reference.languages]
    languages += [language for language in reference.languages if language not in languages]
    return Grid(
        reference.title, languages, {pair: reference.kind_of(pair) for pair in values}, values
    )


def heading(matrix: Matrix) -> str:
    """Which parameters, on what: `phrasebook, best checkpoint (step 4000)`."""
    where = matrix.checkpoint
    steps = where.get("steps") or []
    name = f"{where['checkpoint']} checkpoint" if "checkpoint" in where else ""
    step = (
        f" ({'step' if len(steps) == 1 else 'steps'} {', '.join(map(str, steps))})" if steps else ""
    )
    return ", ".join(filter(None, [str(where.get("run", "")), name + step, matrix.test_set]))


def signature_lines(matrix: Matrix, measure: Measure | str) -> list[str]:
    """`BLEU|nrefs:1|…`, and for which targets where there are several."""
    signatures, title = (
        matrix.signatures(measure),
        (TITLES | RETRIEVAL)[Measure.parse(str(measure)).metric],
    )
    return [
        f"{title}|{signature}" + (f" (into {', '.join(targets)})" if len(signatures) > 1 else "")
        for signature, targets in signatures.items()
    ]


def pivot_name(matrix: Matrix) -> str:
    return f"through {matrix.protocol.pivot}"


SHARES = {
    "off_target": "off-target",
    "copies": "copied source",
    "empty": "empty",
    "loops": "loops",
    "length_ratio": "length ratio",
}
"""Of `Outputs`, with their headings."""


def shares_of_kinds(matrix: Matrix) -> dict[str, dict[str, str]]:
    """What is wrong with the outputs of each kind of cell: the mean of each share over its cells that have it."""
    rows: dict[str, dict[str, str]] = {}
    for kind in SIGNS:
        found = [
            asdict(cell.outputs) for cell in matrix.all_cells if cell.kind == kind and cell.outputs
        ]
        if found:
            numbers = {
                name: [each[name] for each in found if each[name] is not None]
                for name, value in found[0].items()
                if name != "found"
            }
            rows[kind] = shown_shares(
                {name: mean(values) for name, values in numbers.items() if values}
            )
    return rows


def shown_shares(values: Mapping[str, float | None]) -> dict[str, str]:
    """`0.4 (0.1) %`, what the references have of the same in brackets; a ratio stays one."""
    shown = {}
    for name in SHARES:
        value, expected = values.get(name), values.get(f"{name}_references")
        beside = "" if expected is None else f" ({100 * expected:.1f})"
        shown[name] = (
            "–"
            if value is None
            else f"{value:.2f}"
            if name == "length_ratio"
            else f"{100 * value:.1f}{beside} %"
        )
    return shown
