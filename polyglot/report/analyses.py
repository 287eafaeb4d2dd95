"""What `polyglot analyse` left in a run directory: the newest numbers of each of its settings. Only files are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polyglot.report.files import Files

FORMAT = 2  # of analysis.json


@dataclass(frozen=True)
class Analysed:
    """One analysis of a run's sentence embeddings."""

    name: str
    """of its folder below `analysis/`"""
    values: Mapping[str, Any]
    """analysis.json"""


def analyses(files: Files) -> list[Analysed]:
    """Every analysis that can be read: `default` first, then by name; what another version wrote is left out."""
    paths = (files.run.path / "analysis").glob("*/analysis.json")
    found = [Analysed(path.parent.name, json.loads(path.read_text(encoding="utf-8"))) for path in paths]
    return sorted((one for one in found if one.values.get("format") == FORMAT), key=lambda one: (one.name != "default", one.name))
