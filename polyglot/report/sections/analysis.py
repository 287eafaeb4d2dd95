"""Section with the tables and figures of `polyglot analyse`: roles, graphs, words, heads."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polyglot.report.files import RunFiles
from polyglot.report.section import Section, render

LARGEST_PICTURE = 64 * 2**20
"""Bytes; a larger file is no picture of ours, and would make the report useless."""


def analysis(files: RunFiles) -> Section | None:
    """Return None for a run without analyses."""
    pages = [_page(folder, values) for folder, values in files.contents("page.json")]
    if not pages:
        return None
    return Section("analysis", "Analyses of the model", render("analysis.html", pages=pages))


def _page(folder: Path, values: Mapping[str, Any]) -> dict[str, Any]:
    pictures = {}
    for title, name in values["pictures"].items():
        file = folder / Path(name).name
        if file.is_file() and file.stat().st_size <= LARGEST_PICTURE:
            content = base64.b64encode(file.read_bytes())
            pictures[title] = content.decode()
    return {
        "title": values["title"],
        "tables": values["tables"],
        "pictures": pictures,
    }
