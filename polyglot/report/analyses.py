"""What `polyglot analyse` left in a run directory: the newest numbers of each of its settings. Only files are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polyglot.report.files import Files


@dataclass(frozen=True)
class Analysed:
    """One analysis of a run's sentence embeddings."""

    name: str
    """of its folder below `analysis/`"""
    values: Mapping[str, Any]
    """analysis.json"""


def analyses(files: Files) -> list[Analysed]:
    """Every analysis that can be read: `default` first, then by name."""
    found = [Analysed(folder.name, values) for folder, values in files.left("analysis.json")]
    return sorted(found, key=lambda one: (one.name != "default", one.name))
