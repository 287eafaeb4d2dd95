"""All directions of a run in one matrix: rows are sources, columns are targets, and every score keeps its signature."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from polyglot.errors import CheckpointError, DataError
from polyglot.evaluate import views
from polyglot.evaluate.heat_map import heat_map_png
from polyglot.evaluate.protocol import Protocol, Reference
from polyglot.evaluate.scores import Score
from polyglot.run import replace_file
from polyglot.task import LanguagePair

FORMAT = 1  # of matrix.json: to be raised when an older program could not read it


@dataclass(frozen=True)
class Cell:
    """One direction."""

    pair: LanguagePair
    kind: str
    """`supervised`, `zero-shot` or `copy`"""
    scores: Mapping[str, Score] = field(default_factory=dict)
    """by metric; empty where there is no text"""
    sentences: int = 0
    seconds: float = 0.0
    """for translating them, loading left out"""
    reason: str | None = None
    """why there are no scores"""


@dataclass(frozen=True)
class Matrix:
    """Scores of all directions, and everything that must be known to repeat or compare them."""

    languages: Sequence[str]
    cells: Mapping[LanguagePair, Cell]
    trained: Sequence[LanguagePair]
    checkpoint: Mapping[str, Any]
    """run, checkpoint and steps that the parameters came from"""
    search: Mapping[str, Any]
    """how translations were searched for, every setting"""
    protocol: Protocol
    test: Sequence[str]
    """the test corpora in words"""
    versions: Mapping[str, str]
    machine: str
    reference: Reference | None = None
    """a paper's table to be shown beside"""
    hypotheses: Mapping[LanguagePair, Sequence[str]] = field(default_factory=dict)

    @property
    def metrics(self) -> list[str]:
        return self.protocol.metrics

    def means(self, metric: str) -> dict[str, float]:
        """The mean of each kind of cell that has scores."""
        return {kind: mean for kind, mean, _ in views.grid_of(self, metric).means()}

    def signatures(self, metric: str) -> dict[str, list[str]]:
        """Every signature of a metric with the targets it was used for: usually one, more where tokenizers differ."""
        targets: dict[str, dict[str, None]] = {}
        for cell in self.cells.values():
            if metric in cell.scores:
                targets.setdefault(cell.scores[metric].signature, {})[cell.pair.target] = None
        return {signature: list(languages) for signature, languages in targets.items()}

    def save(self, folder: Path) -> None:
        """`matrix.json`, `.csv` and `.md`, the hypotheses, one line each, and last a picture for each metric.

        What an earlier matrix left there is replaced. Raises CheckpointError when it cannot be written.
        """
        make_folder(folder, keep=self.hypotheses)
        for pair, lines in self.hypotheses.items():
            save_hypotheses(folder, pair, lines)
        replace_file(folder / "matrix.json", json.dumps(self.to_dict(), indent=1, ensure_ascii=False))
        replace_file(folder / "matrix.csv", views.csv(self))
        replace_file(folder / "matrix.md", views.markdown(self))
        for metric in self.metrics:
            replace_file(folder / f"{metric}.png", heat_map_png(self, metric))

    @classmethod
    def load(cls, folder: Path) -> Matrix:
        """A matrix that was saved. Raises DataError when there is none that this version can read."""
        path = folder / "matrix.json"
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            if values["format"] != FORMAT:
                raise DataError(f"{path}: format {values['format']}, this version of Polyglot reads {FORMAT}; evaluate again")
            texts = {file.stem: file.read_bytes().decode() for file in folder.glob("hypotheses/*.txt")}
            return cls.from_dict(values, hypotheses={pair: text.split("\n")[:-1] for pair, text in texts.items()})
        except OSError as error:
            raise DataError(f"{error.filename}: no matrix can be read: {error.strerror}; has the run been evaluated?") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{path}: no matrix of ours: {type(error).__name__} {error}; evaluate again") from None

    def to_dict(self) -> dict[str, Any]:
        """All but the hypotheses, as JSON has it."""
        return {
            "format": FORMAT,
            "languages": list(self.languages),
            "checkpoint": dict(self.checkpoint),
            "trained": list(map(str, self.trained)),
            "test": list(self.test),
            "search": dict(self.search),
            "protocol": {**self.protocol.model_dump(), "search": self.protocol.search.model_dump(exclude_unset=True)},
            "signatures": {metric: self.signatures(metric) for metric in self.metrics},
            "means": {metric: self.means(metric) for metric in self.metrics},
            "cells": [{**asdict(cell), "pair": str(cell.pair)} for cell in self.cells.values()],
            "versions": dict(self.versions),
            "machine": self.machine,
            "reference": self.reference and self.reference.model_dump(),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], *, hypotheses: Mapping[str, Sequence[str]]) -> Matrix:
        """What `to_dict` gave, with the hypotheses by pair."""

        def cell(one: Mapping[str, Any]) -> Cell:
            scores = {metric: Score(**score) for metric, score in one["scores"].items()}
            return Cell(**{**one, "pair": LanguagePair.parse(one["pair"]), "scores": scores})

        same = ("languages", "checkpoint", "test", "search", "versions", "machine")
        return cls(
            **{name: values[name] for name in same},
            cells=by_pair(map(cell, values["cells"])),
            trained=[LanguagePair.parse(pair) for pair in values["trained"]],
            protocol=Protocol.model_validate(values["protocol"]),
            reference=values["reference"] and Reference.model_validate(values["reference"]),
            hypotheses={LanguagePair.parse(pair): lines for pair, lines in hypotheses.items()},
        )


def make_folder(folder: Path, *, keep: Collection[LanguagePair] = ()) -> None:
    """A folder for a matrix, without what an earlier one left there but the hypotheses of the pairs to keep.

    Raises CheckpointError when it cannot be written.
    """
    kept = {f"{pair}.txt" for pair in keep}
    try:
        (folder / "hypotheses").mkdir(parents=True, exist_ok=True)
        for path in [*folder.glob("matrix.*"), *folder.glob("*.png"), *folder.glob("hypotheses/*.txt")]:
            if path.name not in kept:
                path.unlink()
    except OSError as error:
        raise CheckpointError(f"{folder}: the matrix cannot be written: {error.strerror or error}") from None


def save_hypotheses(folder: Path, pair: LanguagePair, lines: Sequence[str]) -> None:
    """The hypotheses of one direction, one line each, into the folder of a matrix."""
    replace_file(folder / "hypotheses" / f"{pair}.txt", "".join(f"{line}\n" for line in lines))


def by_pair(cells: Iterable[Cell]) -> dict[LanguagePair, Cell]:
    return {cell.pair: cell for cell in cells}
