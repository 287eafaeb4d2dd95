"""All directions of a run in one matrix: rows are sources, columns are targets, and every score keeps its signature."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import DataError
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.metrics import Score
from polyglot.evaluation.output_errors import Outputs
from polyglot.evaluation.protocol import Protocol, Reference
from polyglot.evaluation.results_cache import Store
from polyglot.evaluation.views import markdown, terminal
from polyglot.evaluation.views.heat_map import heat_map_png
from polyglot.tasks.pairs import LanguagePair

FORMAT = 2  # of matrix.json: to be raised when an older program could not read it


@dataclass(frozen=True)
class Cell:
    """One direction, in one hop or through a pivot."""

    pair: LanguagePair
    kind: str
    """`supervised`, `zero-shot`, `copy` or `pivot`"""
    scores: Mapping[str, Score] = field(default_factory=dict)
    """by measure; empty where there is no text"""
    sentences: int = 0
    seconds: float = 0.0
    """for translating them, loading left out"""
    reason: str | None = None
    """why there are no scores"""
    via: str | None = None
    """the language between, for a pivot"""
    outputs: Outputs | None = None
    """what is wrong with the translations, beside their scores"""
    source_text: str = ""
    """the name of the sources among the texts of the matrix"""
    reference_text: str = ""
    """the name of the references"""

    @property
    def name(self) -> str:
        return cell_name(self.pair, self.via)


@dataclass(frozen=True)
class Matrix:
    """Scores of all directions, and everything that must be known to repeat or compare them."""

    languages: Sequence[str]
    cells: Mapping[LanguagePair, Cell]
    """in one hop"""
    trained: Sequence[LanguagePair]
    checkpoint: Mapping[str, Any]
    """run, checkpoint and steps that the parameters came from, and a hash of them"""
    search: Mapping[str, Any]
    """how translations were searched for, every setting that was in force"""
    protocol: Protocol
    test: Sequence[str]
    """the test corpora in words"""
    versions: Mapping[str, str]
    machine: str
    reference: Reference | None = None
    """a paper's table to be shown beside"""
    pivots: Mapping[LanguagePair, Cell] = field(default_factory=dict)
    """in two hops, through the protocol's pivot"""
    test_set: str = ""
    """its name where the protocol has several"""
    hypotheses: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """by the name of the cell"""
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """sources and references, each once, by the names that cells have for them"""

    @property
    def measures(self) -> list[Measure]:
        return self.protocol.measures

    @property
    def all_cells(self) -> list[Cell]:
        """Direct ones first."""
        return [*self.cells.values(), *self.pivots.values()]

    def means(self, measure: Measure | str) -> dict[str, float]:
        """The mean of each kind of cell that has scores."""
        return {kind: mean for kind, mean, _ in terminal.grid_of(self, measure).means()}

    def signatures(self, measure: Measure | str) -> dict[str, list[str]]:
        """Every signature of a measure with the targets it was used for: usually one, more where tokenizers differ."""
        targets: dict[str, dict[str, None]] = {}
        for cell in self.all_cells:
            if str(measure) in cell.scores:
                targets.setdefault(cell.scores[str(measure)].signature, {})[cell.pair.target] = None
        return {signature: list(languages) for signature, languages in targets.items()}

    @classmethod
    def joined(cls, matrices: Sequence[Matrix]) -> Matrix:
        """What several models translate, each its own directions, as if it were one's.

        Machine and versions are each that differs; all else is as the first has it.
        """
        if len(matrices) == 1:
            return matrices[0]
        every = {
            name: {
                key: value for matrix in matrices for key, value in getattr(matrix, name).items()
            }
            for name in ("cells", "pivots", "hypotheses", "texts")
        }
        languages, trained = (
            [one for matrix in matrices for one in getattr(matrix, name)]
            for name in ("languages", "trained")
        )
        made_with = all_of([{"machine": matrix.machine, **matrix.versions} for matrix in matrices])
        return replace(
            matrices[0],
            languages=list(dict.fromkeys(languages)),
            trained=list(dict.fromkeys(trained)),
            machine=made_with.pop("machine"),
            versions=made_with,
            **every,
        )

    def save(self, folder: Path) -> None:
        """`matrix.json`, `.csv` and `.md`, hypotheses and texts, one line each, and last a picture for each measure.

        What an earlier matrix left there is replaced at the end, all at once. Raises CheckpointError when it cannot be written.
        """
        store = Store(folder)
        store.begin(keep=self.hypotheses)
        for name, lines in self.texts.items():
            store.put_text(name, lines)
        for name, lines in self.hypotheses.items():
            store.put_hypotheses(name, lines)
        values = json.dumps(self.to_dict(), indent=1, ensure_ascii=False)
        store.finish(
            {
                "matrix.csv": markdown.csv(self),
                "matrix.md": markdown.markdown(self),
                "matrix.json": values,
            },
            keep=self.hypotheses,
        )
        for measure in self.measures:
            replace_file(folder / f"{measure}.png", heat_map_png(self, measure))

    @classmethod
    def load(cls, folder: Path) -> Matrix:
        """A matrix that was saved. Raises DataError when there is none that this version can read."""
        path = folder / "matrix.json"
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            if values["format"] != FORMAT:
                raise DataError(
                    f"{path}: format {values['format']}, this version of Polyglot reads {FORMAT}; evaluate again"
                )
            store = Store(folder)
            return cls.from_dict(values, hypotheses=store.hypotheses(), texts=store.texts())
        except OSError as error:
            raise DataError(
                f"{error.filename}: no matrix can be read: {error.strerror}; has the run been evaluated?"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{path}: no matrix of ours: {type(error).__name__} {error}; evaluate again"
            ) from None

    def to_dict(self) -> dict[str, Any]:
        """All but hypotheses and texts, as JSON has it."""
        return {
            "format": FORMAT,
            "languages": list(self.languages),
            "checkpoint": dict(self.checkpoint),
            "trained": list(map(str, self.trained)),
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
    ) -> Matrix:
        """What `to_dict` gave, with the hypotheses by cell and the texts by name."""
        same = ("languages", "checkpoint", "test", "test_set", "search", "versions", "machine")
        return cls(
            **{name: values[name] for name in same},
            cells=by_pair(map(cell_from_dict, values["cells"])),
            pivots=by_pair(map(cell_from_dict, values["pivots"])),
            trained=[LanguagePair.parse(pair) for pair in values["trained"]],
            protocol=Protocol.model_validate(values["protocol"]),
            reference=values["reference"] and Reference.model_validate(values["reference"]),
            hypotheses=hypotheses,
            texts=texts,
        )


def cell_name(pair: LanguagePair, via: str | None) -> str:
    """What the files of a direction are called: `de-fr`, or `de-en-fr` through English."""
    return "-".join(filter(None, (pair.source, via, pair.target)))


def cell_to_dict(cell: Cell) -> dict[str, Any]:
    return {**asdict(cell), "pair": str(cell.pair)}


def cell_from_dict(values: Mapping[str, Any]) -> Cell:
    scores = {measure: Score(**score) for measure, score in values["scores"].items()}
    outputs = values["outputs"] and Outputs(**values["outputs"])
    return Cell(
        **{
            **values,
            "pair": LanguagePair.parse(values["pair"]),
            "scores": scores,
            "outputs": outputs,
        }
    )


def by_pair(cells: Iterable[Cell]) -> dict[LanguagePair, Cell]:
    return {cell.pair: cell for cell in cells}


def all_of(made_with: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Each machine and version that differs, once."""
    return {
        name: "; ".join(dict.fromkeys(one for each in made_with for one in each[name].split("; ")))
        for name in made_with[0]
    }
