"""What a run directory has for a report. Only files are read; what another version wrote is left out, and said."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from polyglot.runs.run import Run

FORMATS = {"matrix.json": 2, "analysis.json": 2, "page.json": 1}
"""Of what an evaluation or an analysis leaves in its folder."""


@dataclass(frozen=True)
class Scored:
    """One evaluation: a protocol on one test set."""

    name: str
    """of its folder below `evaluation/`"""
    folder: Path
    values: Mapping[str, Any]
    """matrix.json"""

    @property
    def cells(self) -> list[dict[str, Any]]:
        """In one hop first, then in two; those without scores, too."""
        return [*self.values["cells"], *self.values["pivots"]]

    @property
    def measures(self) -> dict[str, str]:
        """Titles by name; the first is the one to show first."""
        return self.values["measures"]

    def signatures(self, measure: str) -> list[str]:
        """Each behind the name of its metric: `BLEU|nrefs:1|…`."""
        title = self.measures[measure].partition(" (")[0]
        return [f"{title}|{one}" for one in self.values["signatures"][measure]]

    def lines(self, room: str, name: str) -> list[str]:
        """Of `hypotheses` or `text`; empty where the file is gone."""
        path = self.folder / room / f"{name}.txt"
        return path.read_bytes().decode(errors="replace").split("\n")[:-1] if path.is_file() else []

    def mean(self, measure: str, kind: str) -> float | None:
        """Of all cells of a kind that have a score."""
        values = [
            cell["scores"][measure]["value"]
            for cell in self.cells
            if cell["kind"] == kind and measure in cell["scores"]
        ]
        return sum(values) / len(values) if values else None


def checkpoint_of(values: Mapping[str, Any]) -> str:
    """`best checkpoint, step 4,000`: whose parameters were scored."""
    steps = [f"{step:,}" for step in values["checkpoint"].get("steps", ())]
    named = f", {'step' if len(steps) == 1 else 'steps'} {', '.join(steps)}" if steps else ""
    return f"{values['checkpoint'].get('checkpoint', '')} checkpoint{named}"


@dataclass(frozen=True)
class Files:
    """A run directory."""

    run: Run
    sentences: Sequence[tuple[str, str]] = field(default_factory=tuple)
    """language and text, for which attention is to be shown"""

    @cached_property
    def log(self) -> list[dict[str, Any]]:
        """Every whole line of the log."""
        lines = []
        for line in (
            self.run.log.read_text(encoding="utf-8").splitlines() if self.run.log.is_file() else ()
        ):
            try:
                lines.append(json.loads(line))
            except ValueError:  # the last line of a run that was pulled from the plug
                continue
        return [line for line in lines if isinstance(line, dict)]

    @cached_property
    def scored(self) -> list[Scored]:
        """Every evaluation that can be read: the protocol `default` first, then by name."""
        found = [
            Scored(folder.relative_to(self.run.evaluation).as_posix(), folder, values)
            for folder, values in self.left("matrix.json")
        ]
        return sorted(found, key=lambda one: (one.name != "default", one.name))

    @cached_property
    def unreadable(self) -> list[str]:
        """Folders of evaluations and analyses of another version, or damaged."""
        return [
            path.parent.relative_to(self.run.path).as_posix()
            for path, values in self._left.items()
            if values is None
        ]

    def left(self, name: str) -> list[tuple[Path, dict[str, Any]]]:
        """Folders with a file of that name that can be read, and what it holds. name: one of FORMATS"""
        return [
            (path.parent, values)
            for path, values in self._left.items()
            if path.name == name and values is not None
        ]

    @cached_property
    def _left(self) -> dict[Path, dict[str, Any] | None]:
        """Every such file of what was completed; None where it cannot be read."""
        rooms = (self.run.evaluation, self.run.path / "analysis")
        paths = [
            path
            for room in rooms
            for name in FORMATS
            for path in room.rglob(name)
            if path.parent.name != ".unfinished"
        ]
        return {path: _content(path) for path in sorted(paths)}


def _content(path: Path) -> dict[str, Any] | None:
    """What the file holds; None where it is damaged, or of a format that this version does not know."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None
    return (
        values if isinstance(values, dict) and values.get("format") == FORMATS[path.name] else None
    )
