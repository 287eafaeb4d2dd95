"""The matrix as text: in the terminal, as Markdown and CSV. Zero-shot cells and copies are marked in each."""

from __future__ import annotations

import csv as csv_file
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import TYPE_CHECKING

from polyglot.evaluate.scores import TITLES
from polyglot.task import LanguagePair

if TYPE_CHECKING:
    from rich.table import Table

    from polyglot.evaluate.matrix import Matrix

SIGNS = {"supervised": "{}", "zero-shot": "{}†", "copy": "({})"}
"""How a score of each kind is written, so that nobody needs colours to tell them apart."""

STYLES = {"supervised": "", "zero-shot": "bold magenta", "copy": "dim"}
KEY = "† zero-shot: never trained · ( ) copy: a language into itself · – no score"


@dataclass(frozen=True)
class Grid:
    """What every view draws: one metric of a matrix, or a table of a paper."""

    title: str
    languages: Sequence[str]
    kinds: Mapping[LanguagePair, str]
    """of every cell that there is"""
    values: Mapping[LanguagePair, float]
    """of every cell that has a score"""

    def shown(self, pair: LanguagePair, *, digits: int = 1) -> str:
        """A score with the sign of its kind; – for a cell without one, nothing where there is no cell."""
        if pair not in self.kinds:
            return ""
        return SIGNS[self.kinds[pair]].format(f"{self.values[pair]:.{digits}f}") if pair in self.values else "–"

    def means(self) -> Iterator[tuple[str, float, int]]:
        """Kind, mean and number of cells, of each kind that has scores."""
        for kind in SIGNS:
            values = [value for pair, value in self.values.items() if self.kinds[pair] == kind]
            if values:
                yield kind, mean(values), len(values)


def grid_of(matrix: Matrix, metric: str) -> Grid:
    kinds = {pair: cell.kind for pair, cell in matrix.cells.items()}
    values = {pair: cell.scores[metric].value for pair, cell in matrix.cells.items() if metric in cell.scores}
    return Grid(TITLES[metric], matrix.languages, kinds, values)


def reference_grid(matrix: Matrix, metric: str) -> Grid | None:
    """The paper's table in our order of languages; papers print BLEU."""
    reference = matrix.reference
    if reference is None or metric != "bleu":
        return None
    values = {LanguagePair.parse(pair): score for pair, score in reference.scores.items()}
    languages = [language for language in matrix.languages if language in reference.languages]
    languages += [language for language in reference.languages if language not in languages]
    return Grid(reference.title, languages, {pair: reference.kind_of(pair) for pair in values}, values)


def heading(matrix: Matrix) -> str:
    """Which parameters: `phrasebook, best checkpoint (step 4000)`."""
    where = matrix.checkpoint
    steps = where.get("steps") or []
    name = f"{where['checkpoint']} checkpoint" if "checkpoint" in where else ""
    step = f" ({'step' if len(steps) == 1 else 'steps'} {', '.join(map(str, steps))})" if steps else ""
    return ", ".join(filter(None, [str(where.get("run", "")), name + step]))


# In the terminal ---------------------------------------------------------------------------------------------------------


def table(matrix: Matrix, metric: str) -> Table:
    """One metric as a table for rich, with the mean of each kind below and the signature it was scored with."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    grid = grid_of(matrix, metric)
    scores = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    scores.add_column("from ↓ into →", style="bold")
    for language in grid.languages:
        scores.add_column(language, justify="right")
    for source in grid.languages:
        pairs = [LanguagePair(source, target) for target in grid.languages]
        scores.add_row(source, *(Text(grid.shown(pair), style=STYLES.get(grid.kinds.get(pair, ""), "")) for pair in pairs))
    means = [Text(f"{SIGNS[kind].format(kind)} {value:.1f} ({_cells(count)})", style=STYLES[kind]) for kind, value, count in grid.means()]
    page = Table.grid()  # one column, so that lines below are not wrapped to the width of the scores
    page.add_row(Text(f"{grid.title} · {heading(matrix)}", style="bold"))
    page.add_row(scores)
    page.add_row(Text.assemble("means: ", Text(" · ").join(means)))
    page.add_row(Text(KEY, style="dim"))
    for line in signature_lines(matrix, metric):
        page.add_row(Text(line, style="dim", overflow="fold"))
    return page


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"


def signature_lines(matrix: Matrix, metric: str) -> list[str]:
    """`BLEU|nrefs:1|…`, and for which targets where there are several."""
    signatures = matrix.signatures(metric)
    return [
        f"{TITLES[metric]}|{signature}" + (f" (into {', '.join(targets)})" if len(signatures) > 1 else "")
        for signature, targets in signatures.items()
    ]


# Files -------------------------------------------------------------------------------------------------------------------


def csv(matrix: Matrix) -> str:
    """One row a cell."""
    file = io.StringIO()
    writer = csv_file.writer(file, lineterminator="\n")
    columns = [column for metric in matrix.metrics for column in (metric, f"{metric}_signature")]
    writer.writerow(["source", "target", "kind", "sentences", "seconds", *columns, "reason"])
    for pair, cell in matrix.cells.items():
        scores = [cell.scores.get(metric) for metric in matrix.metrics]
        values = [value for score in scores for value in ((score.value, score.signature) if score else ("", ""))]
        writer.writerow([pair.source, pair.target, cell.kind, cell.sentences, cell.seconds, *values, cell.reason or ""])
    return file.getvalue()


def markdown(matrix: Matrix) -> str:
    """A page: a table for each metric, the paper's beside it, and all that must be known to repeat it."""
    blocks = [f"# Translation matrix: {heading(matrix)}", f"Rows are sources, columns are targets. {KEY}."]
    for metric in matrix.metrics:
        grid, paper = grid_of(matrix, metric), reference_grid(matrix, metric)
        blocks += [f"## {grid.title}", markdown_grid(grid), markdown_means(grid)]
        blocks += ["\n".join(f"- signature: `{line}`" for line in signature_lines(matrix, metric))]
        if paper is not None:
            reference = matrix.reference
            blocks += [f"### Beside it: {paper.title}", markdown_grid(paper, digits=2), _beside(grid, paper)]
            origin = {"from": reference.source, "test set": reference.test_set, "signature": f"`{reference.signature}`"}
            blocks += [_list({**origin, "condition": reference.condition})]
    empty = {str(pair): cell.reason for pair, cell in matrix.cells.items() if cell.reason}
    if empty:
        blocks += ["## Without a score", _list(empty)]
    sentences = sorted({cell.sentences for cell in matrix.cells.values() if cell.scores})
    settings = {
        "test text": "; ".join(matrix.test),
        "sentences of each direction": " to ".join(map(str, dict.fromkeys([*sentences[:1], *sentences[-1:]]))),
        "trained pairs": ", ".join(map(str, matrix.trained)),
        "search": ", ".join(f"{name} {value}" for name, value in matrix.search.items()),
        "versions": ", ".join(f"{name} {version}" for name, version in matrix.versions.items()),
        "machine": matrix.machine,
        "time": f"{sum(cell.seconds for cell in matrix.cells.values()):.1f} s of translating",
    }
    blocks += ["## Settings", _list(settings)]
    return "\n\n".join(blocks) + "\n"


def _list(items: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: {value}" for name, value in items.items())


def markdown_grid(grid: Grid, *, digits: int = 1) -> str:
    head = ["from ↓ into →", *grid.languages]
    lines = [head, ["---", *["---:"] * len(grid.languages)]]
    for source in grid.languages:
        lines.append([f"**{source}**", *(grid.shown(LanguagePair(source, target), digits=digits) for target in grid.languages)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def markdown_means(grid: Grid) -> str:
    lines = ["| kind | mean | cells |", "|---|---:|---:|"]
    return "\n".join(lines + [f"| {kind} | {SIGNS[kind].format(f'{value:.2f}')} | {count} |" for kind, value, count in grid.means()])


def _beside(grid: Grid, paper: Grid) -> str:
    """Means of ours and theirs over the pairs that both have; kinds as in our run."""
    lines = ["| our kind | ours | the paper's | difference | pairs that both have |", "|---|---:|---:|---:|---:|"]
    for kind in SIGNS:
        both = [pair for pair in grid.values if pair in paper.values and grid.kinds[pair] == kind]
        if both:
            ours, theirs = mean(grid.values[pair] for pair in both), mean(paper.values[pair] for pair in both)
            other = sum(paper.kinds[pair] != kind for pair in both)
            note = f" ({other} of them another kind in the paper)" if other else ""
            lines.append(f"| {kind} | {ours:.2f} | {theirs:.2f} | {ours - theirs:+.2f} | {len(both)}{note} |")
    return "\n".join(lines) if len(lines) > 2 else "No pair has a score in both."
