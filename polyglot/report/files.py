"""What a run directory has for a report. Only files are read; what another version wrote is left out, and said."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from polyglot.run import Run

FORMAT = 2  # of matrix.json


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

    def lines(self, room: str, name: str) -> list[str]:
        """Of `hypotheses` or `text`; empty where the file is gone."""
        path = self.folder / room / f"{name}.txt"
        return path.read_bytes().decode(errors="replace").split("\n")[:-1] if path.is_file() else []

    def mean(self, measure: str, kind: str) -> float | None:
        """Of all cells of a kind that have a score."""
        values = [cell["scores"][measure]["value"] for cell in self.cells if cell["kind"] == kind and measure in cell["scores"]]
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
        for line in self.run.log.read_text(encoding="utf-8").splitlines() if self.run.log.is_file() else ():
            try:
                lines.append(json.loads(line))
            except ValueError:  # the last line of a run that was pulled from the plug
                continue
        return [line for line in lines if isinstance(line, dict)]

    @cached_property
    def _matrices(self) -> list[tuple[str, Path, dict[str, Any]]]:
        paths = sorted(self.run.evaluation.rglob("matrix.json"))
        return [(path.parent.relative_to(self.run.evaluation).as_posix(), path.parent, _json(path)) for path in paths]

    @cached_property
    def scored(self) -> list[Scored]:
        """Every evaluation that can be read: the protocol `default` first, then by name."""
        found = [Scored(*each) for each in self._matrices if each[2].get("format") == FORMAT]
        return sorted(found, key=lambda one: (one.name != "default", one.name))

    @cached_property
    def unreadable(self) -> list[str]:
        """Evaluations of another version, or damaged."""
        return [name for name, _, values in self._matrices if values.get("format") != FORMAT]


def _json(path: Path) -> dict[str, Any]:
    """What the file holds; nothing where it is damaged."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}
