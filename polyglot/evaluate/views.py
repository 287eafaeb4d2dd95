"""The matrix as tables: what each holds, and how the terminal shows it. Zero-shot cells, copies and pivots are marked in each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean
from typing import TYPE_CHECKING

from polyglot.core.errors import counted
from polyglot.evaluate.conditions import RETRIEVAL, TITLES, Measure
from polyglot.tasks.pairs import LanguagePair

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.measure import Measurement
    from rich.table import Table

    from polyglot.evaluate.matrix import Cell, Matrix

SIGNS = {"supervised": "{}", "zero-shot": "{}†", "pivot": "{}‡", "copy": "({})"}
"""How a score of each kind is written, so that nobody needs colours to tell them apart."""

STYLES = {"supervised": "", "zero-shot": "bold magenta", "pivot": "cyan", "copy": "dim"}
KEY = "† zero-shot: never trained · ( ) copy: a language into itself · – no score"
PIVOT_KEY = "‡ pivot: in two hops, through another language"
GAP = 3  # between two columns of a table in the terminal


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
        return SIGNS[self.kinds[pair]].format(f"{self.values[pair]:.{digits}f}") if pair in self.values else "–"

    def means(self, *, source: str | None = None, target: str | None = None) -> Iterator[tuple[str, float, int]]:
        """Kind, mean and number of cells, of each kind that has scores; of all, or of one row or column."""
        for kind in SIGNS:
            values = [
                value
                for pair, value in self.values.items()
                if self.kinds[pair] == kind and source in (None, pair.source) and target in (None, pair.target)
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
    values = {pair: cell.scores[str(measure)].value for pair, cell in cells.items() if str(measure) in cell.scores}
    return Grid(measure.title, matrix.languages, kinds, values, measure.lower_is_better)


def reference_grid(matrix: Matrix, measure: Measure | str) -> Grid | None:
    """The paper's table in our order of languages, for the measure that it stands beside."""
    reference = matrix.reference
    if reference is None or str(measure) != str(matrix.protocol.papers_measure):
        return None
    values = {LanguagePair.parse(pair): score for pair, score in reference.scores.items()}
    languages = [language for language in matrix.languages if language in reference.languages]
    languages += [language for language in reference.languages if language not in languages]
    return Grid(reference.title, languages, {pair: reference.kind_of(pair) for pair in values}, values)


def heading(matrix: Matrix) -> str:
    """Which parameters, on what: `phrasebook, best checkpoint (step 4000)`."""
    where = matrix.checkpoint
    steps = where.get("steps") or []
    name = f"{where['checkpoint']} checkpoint" if "checkpoint" in where else ""
    step = f" ({'step' if len(steps) == 1 else 'steps'} {', '.join(map(str, steps))})" if steps else ""
    return ", ".join(filter(None, [str(where.get("run", "")), name + step, matrix.test_set]))


def signature_lines(matrix: Matrix, measure: Measure | str) -> list[str]:
    """`BLEU|nrefs:1|…`, and for which targets where there are several."""
    signatures, title = matrix.signatures(measure), (TITLES | RETRIEVAL)[Measure.parse(str(measure)).metric]
    return [
        f"{title}|{signature}" + (f" (into {', '.join(targets)})" if len(signatures) > 1 else "")
        for signature, targets in signatures.items()
    ]


def pivot_name(matrix: Matrix) -> str:
    return f"through {matrix.protocol.pivot}"


SHARES = {"off_target": "off-target", "copies": "copied source", "empty": "empty", "loops": "loops", "length_ratio": "length ratio"}
"""Of `Outputs`, with their headings."""


def shares_of_kinds(matrix: Matrix) -> dict[str, dict[str, str]]:
    """What is wrong with the outputs of each kind of cell: the mean of each share over its cells that have it."""
    rows: dict[str, dict[str, str]] = {}
    for kind in SIGNS:
        found = [asdict(cell.outputs) for cell in matrix.all_cells if cell.kind == kind and cell.outputs]
        if found:
            numbers = {
                name: [each[name] for each in found if each[name] is not None] for name, value in found[0].items() if name != "found"
            }
            rows[kind] = shown_shares({name: mean(values) for name, values in numbers.items() if values})
    return rows


def shown_shares(values: Mapping[str, float | None]) -> dict[str, str]:
    """`0.4 (0.1) %`, what the references have of the same in brackets; a ratio stays one."""
    shown = {}
    for name in SHARES:
        value, expected = values.get(name), values.get(f"{name}_references")
        beside = "" if expected is None else f" ({100 * expected:.1f})"
        shown[name] = "–" if value is None else f"{value:.2f}" if name == "length_ratio" else f"{100 * value:.1f}{beside} %"
    return shown


# In the terminal ---------------------------------------------------------------------------------------------------------


def tables(matrix: Matrix) -> Iterator[Table]:
    """What `evaluate` prints: every metric under the first condition in full, and the rest as means."""
    first = matrix.measures[0].condition
    for measure in matrix.measures:
        if measure.condition == first:
            yield table(matrix, measure)
    if len({measure.condition for measure in matrix.measures}) > 1:
        yield conditions_table(matrix)
    if any(grid.values for grid in (pivot_grid(matrix, measure) for measure in matrix.measures)):
        yield pivot_table(matrix, matrix.measures[0])
    if any(cell.outputs for cell in matrix.all_cells):
        yield outputs_table(matrix)


def table(matrix: Matrix, measure: Measure | str) -> Table:
    """One measure as a table for rich, with the mean of each kind below and the signature it was scored with."""
    from rich.text import Text

    grid = grid_of(matrix, measure)
    means = [
        Text(f"{SIGNS[kind].format(kind)} {value:.1f} ({counted(count, 'cell')})", style=STYLES[kind])
        for kind, value, count in (*grid.means(), *pivot_grid(matrix, measure).means())
    ]
    key = KEY + (f" · {PIVOT_KEY}" if matrix.pivots else "")
    return page(
        f"{grid.title} · {heading(matrix)}",
        Square(grid),
        Text.assemble("means: ", Text(" · ").join(means)),
        key,
        *signature_lines(matrix, measure),
    )


@dataclass(frozen=True)
class Square:
    """A grid for rich; where the terminal has no room for all columns, some of them after the others."""

    grid: Grid

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        yield from self._parts(console, options)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        from rich.measure import measure_renderables

        return measure_renderables(console, options, self._parts(console, options))

    def _parts(self, console: Console, options: ConsoleOptions) -> list[Table]:
        from rich.measure import Measurement

        room = options.max_width - Measurement.get(console, options, self._columns([])).maximum
        parts, left = [[]], room
        for target in self.grid.languages:
            shown = (self.grid.shown(LanguagePair(source, target)) for source in self.grid.languages)
            own = GAP + max(map(len, (target, *shown)))
            if parts[-1] and own > left:
                parts.append([])
                left = room
            parts[-1].append(target)
            left -= own
        return [self._columns(part) for part in parts]

    def _columns(self, targets: Sequence[str]) -> Table:
        from rich.text import Text

        result = plain_table("from ↓ into →", *targets)
        for source in self.grid.languages:
            pairs = [LanguagePair(source, target) for target in targets]
            result.add_row(
                source, *(Text(self.grid.shown(pair), style=STYLES.get(self.grid.kinds.get(pair, ""), "")) for pair in pairs)
            )
        return result


def conditions_table(matrix: Matrix) -> Table:
    """The mean of each kind under every condition."""
    kinds = [kind for kind in SIGNS if any(cell.kind == kind and cell.scores for cell in matrix.all_cells)]
    rows = plain_table("means", *(SIGNS[kind].format(kind) for kind in kinds))
    for measure in matrix.measures:
        means = matrix.means(measure) | {kind: value for kind, value, _ in pivot_grid(matrix, measure).means()}
        rows.add_row(measure.title, *(f"{means[kind]:.1f}" if kind in means else "–" for kind in kinds))
    return page("Under every condition", rows)


def pivot_table(matrix: Matrix, measure: Measure | str) -> Table:
    """Direct and in two hops, pair by pair; two digits, since differences are small."""
    direct, hops = grid_of(matrix, measure), pivot_grid(matrix, measure)
    rows = plain_table("pair", "direct", pivot_name(matrix), "difference")
    for pair, value in hops.values.items():
        rows.add_row(str(pair), direct.shown(pair, digits=2), hops.shown(pair, digits=2), f"{direct.values[pair] - value:+.2f}")
    return page(f"{direct.title}, direct and {pivot_name(matrix)}", rows)


def outputs_table(matrix: Matrix) -> Table:
    """What is wrong with the outputs, kind by kind."""
    rows = plain_table("outputs", *SHARES.values())
    for kind, shares in shares_of_kinds(matrix).items():
        rows.add_row(SIGNS[kind].format(kind), *shares.values())
    return page("What is wrong with the outputs; in brackets the same of the references", rows)


def plain_table(head: str, *columns: str) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    result = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    result.add_column(head, style="bold")
    for column in columns:
        result.add_column(Text(column), justify="right", overflow="fold")  # the name of a run may look like rich's markup
    return result


def page(title: str, body: Table | Square, *lines: object) -> Table:
    """One column, so that lines below are not wrapped to the width of the table."""
    from rich.table import Table
    from rich.text import Text

    result = Table.grid()
    result.add_row(Text(title, style="bold"))
    result.add_row(body)
    for line in lines:
        result.add_row(line if isinstance(line, Text) else Text(str(line), style="dim", overflow="fold"))
    return result
