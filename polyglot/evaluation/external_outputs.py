"""Outputs of other programs: plain text, scored like the run that they are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from polyglot.core.errors import (
    ConfigError,
    DataError,
    abbreviate,
    pluralize,
    unknown_name,
)
from polyglot.core.language_codes import normal_form
from polyglot.data.text_files import line_blocks
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.metrics import Scorer
from polyglot.evaluation.score_matrix import Cell, ScoreMatrix, cells_by_pair
from polyglot.runs.detection import is_run


def is_output(path: Path) -> bool:
    """True for a text file and for a folder of text files; False for a run.

    Raises ConfigError for the name of a file that does not exist.
    """
    if path.suffix and not path.exists():
        raise ConfigError(f"{path}: no such file")
    if path.is_dir():
        has_text = any(path.glob("*.txt"))
        return has_text and not is_run(path)
    return path.exists()


def only_direction(matrix: ScoreMatrix, name: str) -> ScoreMatrix:
    """Matrix with one direction, such as `de-fr`. Its languages may be spelled differently.

    Raises ConfigError if the matrix does not have this direction.
    """
    cell = _find_cell(matrix.all_cells, name)
    if cell is None:
        directions = _names(matrix.all_cells)
        raise ConfigError(f"--pair: {unknown_name('direction', name, directions)}")
    if cell.via is None:
        return replace(matrix, cells=cells_by_pair([cell]), pivots={})
    return replace(matrix, cells={}, pivots=cells_by_pair([cell]))


def output_matrix(path: Path, matrix: ScoreMatrix, measure: Measure) -> ScoreMatrix:
    """Score the output of another program on the references of a run, with its signature.

    path: a file of one direction, or a folder with files such as `de-fr.txt`. The direction of a
    file is in its name, such as `moses.de-fr.txt`, or the only one of the matrix.

    Raises DataError for another number of lines than the references have, and ConfigError for an
    unknown direction and for scores that this machine cannot compute like those of the run.
    """
    if measure.metric == "comet":
        raise ConfigError(f"{path}: comet is not computed for outputs; choose another --measure")
    scored = [cell for cell in matrix.all_cells if str(measure) in cell.scores]
    if not scored:
        raise DataError(f"the run was not scored with {measure.title}")
    direct_cells = []
    pivot_cells = []
    hypotheses = {}
    for file, cell in _cells_by_file(path, scored).items():
        lines = _read_lines(file, cell, matrix)
        scored_cell = _score(file, cell, matrix, measure, lines)
        if cell.via is None:
            direct_cells.append(scored_cell)
        else:
            pivot_cells.append(scored_cell)
        hypotheses[cell.name] = lines
    return replace(
        matrix,
        cells=cells_by_pair(direct_cells),
        pivots=cells_by_pair(pivot_cells),
        checkpoint={"run": "output of another program"},
        hypotheses=hypotheses,
    )


def _cells_by_file(path: Path, cells: Sequence[Cell]) -> Mapping[Path, Cell]:
    """Return the cell of the run for each file. Raises ConfigError if no file has a direction."""
    if not path.is_dir():
        return {path: _direction_of_file(path, cells)}
    files = {}
    for file in sorted(path.glob("*.txt")):
        cell = _find_cell(cells, file.stem)
        if cell:
            files[file] = cell
    if not files:
        raise ConfigError(
            f"{path}: no file is named like a direction of the run, such as {cells[0].name}.txt"
        )
    return files


def _direction_of_file(path: Path, cells: Sequence[Cell]) -> Cell:
    """Return the cell whose direction is in the name of a file, or the only translation.

    Raises ConfigError if there are several translations and the name has no direction.
    """
    for part in path.name.split("."):
        cell = _find_cell(cells, part)
        if cell:
            return cell
    translations = [cell for cell in cells if not cell.pair.is_copy]
    if len(translations) == 1:
        return translations[0]
    names = _names(translations)
    raise ConfigError(
        f"{path}: the direction is unknown. Name it with --pair, such as --pair {names[0]}, or in "
        f"the name of the file, such as {path.stem}.{names[0]}.txt; the run has {abbreviate(names)}"
    )


def _find_cell(cells: Iterable[Cell], name: str) -> Cell | None:
    """Cell of a direction, whose languages may be spelled differently."""
    languages = _normal_languages(name)
    for cell in cells:
        if _normal_languages(cell.name) == languages:
            return cell
    return None


def _normal_languages(direction: str) -> list[str]:
    """Return the languages of a direction such as `de-fr` in one spelling."""
    return [normal_form(language) for language in direction.split("-")]


def _names(cells: Iterable[Cell]) -> list[str]:
    return [cell.name for cell in cells]


def _read_lines(file: Path, cell: Cell, matrix: ScoreMatrix) -> list[str]:
    """Lines of an output. Raises DataError if the references have another number of lines."""
    lines: list[str] = []
    for block in line_blocks(file, empty=True):
        lines += block
    references = matrix.texts[cell.reference_text]
    if len(lines) != len(references):
        raise DataError(
            f"{file}: has {pluralize(len(lines), 'line')}, but the references of {cell.name} have "
            f"{len(references)}; write one line for each sentence, also for an empty translation"
        )
    return lines


def _score(
    file: Path,
    cell: Cell,
    matrix: ScoreMatrix,
    measure: Measure,
    lines: Sequence[str],
) -> Cell:
    """Score an output, and return the cell of the run with this score only."""
    target = cell.pair.target
    scorer = Scorer(measure, target=target, tokenizer=matrix.protocol.tokenizer_for(target))
    score = scorer.score(lines, matrix.texts[cell.reference_text])
    expected = cell.scores[str(measure)].signature
    if score.signature != expected:
        raise ConfigError(
            f"{file}: would be scored with {score.signature}, but the run was scored with "
            f"{expected}; evaluate the run again on this machine"
        )
    return replace(cell, scores={str(measure): score}, outputs=None)
