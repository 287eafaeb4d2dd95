"""Score matrix: scores of all directions of a run; rows are sources, columns are targets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from polyglot.core.errors import ConfigError, DataError, abbreviate, unknown_name
from polyglot.core.score_tables import ERROR_TITLES, KINDS, direction_name, format_number
from polyglot.core.stored_json import read_json, validate_stored, verify_checksum, with_checksum
from polyglot.core.stored_matrix import STORED_MATRIX
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.metrics import Score
from polyglot.evaluation.output_errors import OutputErrors
from polyglot.evaluation.protocol import Protocol
from polyglot.evaluation.references import Reference
from polyglot.evaluation.results_cache import (
    MATRIX_FILE,
    ResultsCache,
    check_files,
    files_digests,
)
from polyglot.tasks.pairs import LanguagePair

if TYPE_CHECKING:
    from pandas import DataFrame

FORMAT = 2  # of matrix.json; raise it when an older version of the program could not read the file


@dataclass(frozen=True)
class Cell:
    """Scores of one direction, translated directly or through a pivot language.

    The names of the fields are the keys of `matrix.json`.
    """

    pair: LanguagePair
    kind: str
    """one of KINDS"""
    scores: Mapping[str, Score] = field(default_factory=dict)
    """by measure; empty if there is no test text"""
    sentences: int = 0
    seconds: float = 0.0
    """time of translation, without loading the model"""
    reason: str | None = None
    """why there are no scores"""
    via: str | None = None
    """pivot language; None for a direct translation"""
    outputs: OutputErrors | None = None
    """errors of the translations that a score does not show"""
    source_text: str = ""
    """name of the sources among the texts of the matrix"""
    reference_text: str = ""
    """name of the references among the texts of the matrix"""

    @property
    def name(self) -> str:
        return cell_name(self.pair, self.via)


@dataclass(frozen=True, repr=False)
class ScoreMatrix:
    """Scores of all directions, with everything that is needed to repeat or compare them."""

    languages: Sequence[str]
    cells: Mapping[LanguagePair, Cell]
    """direct translations"""
    trained: Sequence[LanguagePair]
    checkpoint: Mapping[str, Any]
    """run, checkpoint and steps of the parameters, and their hash"""
    search: Mapping[str, Any]
    """all settings of the search that were in force"""
    protocol: Protocol
    test: Sequence[str]
    """description of each test corpus"""
    versions: Mapping[str, str]
    machine: str
    reference: Reference | None = None
    """table of a paper to compare with"""
    pivots: Mapping[LanguagePair, Cell] = field(default_factory=dict)
    """translations through the pivot language of the protocol"""
    test_set: str = ""
    """name of the test set if the protocol has several"""
    hypotheses: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """translations by the name of the cell"""
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """sources and references; cells refer to them by name"""

    def __repr__(self) -> str:
        run = self.checkpoint.get("run", "a model")
        cells = self.all_cells
        scored_count = sum(bool(cell.scores) for cell in cells)
        head = f"<ScoreMatrix of {run}: {len(self.languages)} languages, "
        head += f"{scored_count} of {len(cells)} directions scored"
        if self.test_set:
            head += f", test set {self.test_set}"
        lines = [head]
        for measure in self.measures:
            means = self._describe_means(measure)
            lines.append(f" {measure.title}: {means}")
        return "\n".join(lines) + ">"

    def _describe_means(self, measure: Measure) -> str:
        """Return `supervised 41.2, zero-shot 30.5`."""
        means = []
        for kind, value in self.means(measure).items():
            number = format_number(value)
            means.append(f"{kind} {number}")
        return ", ".join(means) or "no scores"

    def to_pandas(self, measure: Measure | str | None = None) -> DataFrame:
        """Return the scores as a data frame of pandas.

        With a measure, such as `bleu`: sources as rows, targets as columns, NaN without a score.
        Without one: a row for each direction and each pivot translation, with the columns of
        `matrix.csv`. Raises ConfigError for a measure that the matrix does not have.
        """
        from pandas import DataFrame, Index

        if measure is None:
            return DataFrame([self._record(cell) for cell in self.all_cells])
        known_measures = list(map(str, self.measures))
        name = str(measure)
        if name not in known_measures:
            raise ConfigError(f"measure: {unknown_name('measure', name, known_measures)}")
        frame = DataFrame(
            index=Index(self.languages, name="source"),
            columns=Index(self.languages, name="target"),
            dtype=float,
        )
        for pair, cell in self.cells.items():
            score = cell.scores.get(name)
            if score is not None:
                frame.loc[pair.source, pair.target] = score.value
        return frame

    def _record(self, cell: Cell) -> dict[str, Any]:
        """Return the row of a cell in `to_pandas`."""
        record: dict[str, Any] = {
            "source": cell.pair.source,
            "target": cell.pair.target,
            "kind": cell.kind,
            "via": cell.via,
            "sentences": cell.sentences,
            "seconds": cell.seconds,
        }
        for name in map(str, self.measures):
            score = cell.scores.get(name)
            record[name] = getattr(score, "value", None)
            record[f"{name}_interval"] = getattr(score, "interval", None)
            record[f"{name}_signature"] = getattr(score, "signature", None)
        for error in ERROR_TITLES:
            record[error] = getattr(cell.outputs, error, None)
        record["reason"] = cell.reason
        return record

    @property
    def measures(self) -> list[Measure]:
        return self.protocol.measures

    @property
    def all_cells(self) -> list[Cell]:
        """Cells of direct translation, then cells of pivot translation."""
        return [*self.cells.values(), *self.pivots.values()]

    def means(self, measure: Measure | str) -> dict[str, float]:
        """Mean score of each kind of direct translation that has scores."""
        name = str(measure)
        scored = [cell for cell in self.cells.values() if name in cell.scores]
        means = {}
        for kind in KINDS:
            values = [cell.scores[name].value for cell in scored if cell.kind == kind]
            if values:
                means[kind] = mean(values)
        return means

    def signatures(self, measure: Measure | str) -> dict[str, list[str]]:
        """Target languages by signature of a measure; tokenizers may differ between targets."""
        targets: dict[str, list[str]] = {}
        for cell in self.all_cells:
            score = cell.scores.get(str(measure))
            if score is None:
                continue
            languages = targets.setdefault(score.signature, [])
            if cell.pair.target not in languages:
                languages.append(cell.pair.target)
        return targets

    @classmethod
    def merge(cls, matrices: Sequence[ScoreMatrix]) -> ScoreMatrix:
        """Combine the matrices of several models with different directions into one.

        Machine and versions list every different value. All other settings are those of the first.
        """
        first = matrices[0]
        if len(matrices) == 1:
            return first

        merged: dict[str, dict[Any, Any]] = {}
        for name in ("cells", "pivots", "hypotheses", "texts"):
            merged[name] = {}
            for matrix in matrices:
                merged[name].update(getattr(matrix, name))

        languages: dict[str, None] = {}
        trained: dict[LanguagePair, None] = {}
        for matrix in matrices:
            languages.update(dict.fromkeys(matrix.languages))
            trained.update(dict.fromkeys(matrix.trained))

        versions = merge_provenance(
            [{"machine": matrix.machine, **matrix.versions} for matrix in matrices]
        )
        machine = versions.pop("machine")
        return replace(
            first,
            languages=list(languages),
            trained=list(trained),
            machine=machine,
            versions=versions,
            **merged,
        )

    def save(self, folder: Path, *, tables: Mapping[str, str] | None = None) -> None:
        """Write `matrix.json`, hypotheses and texts; replace an earlier matrix in one step.

        tables: content of further files that are replaced in the same step, by name.
        Raises CheckpointError if a file cannot be written.
        """
        cache = ResultsCache(folder)
        cache.begin(keep=self.hypotheses)
        for name, lines in self.texts.items():
            cache.put_text(name, lines)
        for name, lines in self.hypotheses.items():
            cache.put_hypotheses(name, lines)

        values = self.to_dict()
        values["files"] = files_digests(self.hypotheses, self.texts)
        content = json.dumps(with_checksum(values), indent=1, ensure_ascii=False)
        files = dict(tables or {})
        files[MATRIX_FILE] = content  # the last one, see MATRIX_FILE
        cache.finish(files, keep=self.hypotheses)

    @classmethod
    def load(cls, folder: str | Path) -> ScoreMatrix:
        """Read a saved matrix. Raises DataError if it is missing, damaged or of another version."""
        folder = Path(folder)
        path = folder / MATRIX_FILE
        try:
            values = read_json(path)
            if not isinstance(values, dict) or "format" not in values:
                raise ValueError("it has no format")  # noqa: TRY301
            if values["format"] != FORMAT:
                raise DataError(
                    f"{path}: format {values['format']}, this version of Polyglot reads {FORMAT}; "
                    "evaluate again"
                )
            verify_checksum(values)
            validate_stored(values, STORED_MATRIX)
            cache = ResultsCache(folder)
            hypotheses = cache.hypotheses()
            texts = cache.texts()
            check_files(values.get("files"), hypotheses, texts)
            return cls.from_dict(values, hypotheses=hypotheses, texts=texts)
        except OSError as error:
            raise DataError(
                f"{error.filename}: the matrix cannot be read: {error.strerror}; "
                f"{_evaluate_hint(folder)}"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{path}: not a valid matrix: {error}; evaluate again") from None

    def to_dict(self) -> dict[str, Any]:
        """Content of `matrix.json`: everything except hypotheses and texts."""
        return {
            "format": FORMAT,
            "languages": list(self.languages),
            "checkpoint": dict(self.checkpoint),
            "trained": [str(pair) for pair in self.trained],
            "test": list(self.test),
            "test_set": self.test_set,
            "search": dict(self.search),
            "protocol": {
                **self.protocol.model_dump(),
                "search": self.protocol.search.model_dump(exclude_unset=True),
            },
            "measures": {str(measure): measure.title for measure in self.measures},
            "signatures": {str(measure): self.signatures(measure) for measure in self.measures},
            "means": {str(measure): self.means(measure) for measure in self.measures},
            "cells": [cell_to_dict(cell) for cell in self.cells.values()],
            "pivots": [cell_to_dict(cell) for cell in self.pivots.values()],
            "versions": dict(self.versions),
            "machine": self.machine,
            "reference": self.reference and self.reference.model_dump(),
        }

    @classmethod
    def from_dict(
        cls,
        values: Mapping[str, Any],
        *,
        hypotheses: Mapping[str, Sequence[str]],
        texts: Mapping[str, Sequence[str]],
    ) -> ScoreMatrix:
        """Inverse of `to_dict`. hypotheses: by cell; texts: by name."""
        cells = [cell_from_dict(cell) for cell in values["cells"]]
        pivots = [cell_from_dict(cell) for cell in values["pivots"]]
        reference = values["reference"]
        return cls(
            languages=values["languages"],
            cells=cells_by_pair(cells),
            trained=[LanguagePair.parse(pair) for pair in values["trained"]],
            checkpoint=values["checkpoint"],
            search=values["search"],
            protocol=Protocol.model_validate(values["protocol"]),
            test=values["test"],
            versions=values["versions"],
            machine=values["machine"],
            reference=reference and Reference.model_validate(reference),
            pivots=cells_by_pair(pivots),
            test_set=values["test_set"],
            hypotheses=hypotheses,
            texts=texts,
        )


def cell_name(pair: LanguagePair, via: str | None) -> str:
    """File name of a direction: `de-fr`, or `de-en-fr` with English as pivot language."""
    return direction_name(pair.source, pair.target, via)


def cell_to_dict(cell: Cell) -> dict[str, Any]:
    """Entry of a cell in `matrix.json`."""
    return {
        **asdict(cell),
        "pair": str(cell.pair),
        "outputs": cell.outputs and cell.outputs.to_dict(),
    }


def cell_from_dict(values: Mapping[str, Any]) -> Cell:
    """Inverse of `cell_to_dict`."""
    scores = {measure: Score(**score) for measure, score in values["scores"].items()}
    outputs = values["outputs"] and OutputErrors.from_dict(values["outputs"])
    pair = LanguagePair.parse(values["pair"])
    return Cell(**{**values, "pair": pair, "scores": scores, "outputs": outputs})


def cells_by_pair(cells: Iterable[Cell]) -> dict[LanguagePair, Cell]:
    return {cell.pair: cell for cell in cells}


def merge_provenance(records: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Join the different values of each key (machine, versions of packages) with semicolons."""
    merged = {}
    for key in records[0]:
        values: dict[str, None] = {}
        for record in records:
            values.update(dict.fromkeys(record[key].split("; ")))
        merged[key] = "; ".join(values)
    return merged


def _evaluate_hint(folder: Path) -> str:
    """Advice for a missing matrix: other protocols that the run was evaluated with."""
    names = sorted(path.parent.name for path in folder.parent.glob(f"*/{MATRIX_FILE}"))
    if not names:
        return "has the run been evaluated?"
    return f"the run was evaluated with: {abbreviate(names)}; choose one with --protocol"
