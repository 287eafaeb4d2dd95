"""Analyses of sentence embeddings that `polyglot analyse` stored in a run directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polyglot.report.files import RunFiles, default_first


@dataclass(frozen=True)
class StoredAnalysis:
    """One analysis of the sentence embeddings of a run."""

    name: str
    """name of the folder below `analysis/`"""
    values: Mapping[str, Any]
    """content of analysis.json"""


def stored_analyses(files: RunFiles) -> list[StoredAnalysis]:
    """Read every valid analysis: `default` first, then by name."""
    analyses = []
    for folder, values in files.contents("analysis.json"):
        analyses.append(StoredAnalysis(folder.name, values))
    return sorted(analyses, key=lambda analysis: default_first(analysis.name))
