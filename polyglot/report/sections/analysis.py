"""What `polyglot analyse` found of roles, graphs, words and heads: its tables and pictures."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from polyglot.report.files import Files
from polyglot.report.section import Section, render

FORMAT = 1  # of page.json


def analysis(files: Files) -> Section | None:
    """None for a run that was not analysed; what another version wrote is left out."""
    pages = [page for path in sorted((files.run.path / "analysis").glob("*/page.json")) if (page := _page(path))]
    return Section("analysis", "What was learnt", render("analysis.html", pages=pages)) if pages else None


def _page(path: Path) -> dict[str, Any] | None:
    values = json.loads(path.read_text(encoding="utf-8"))
    if values.get("format") != FORMAT:
        return None
    there = {
        title: path.parent / Path(file).name for title, file in values["pictures"].items() if (path.parent / Path(file).name).is_file()
    }
    pictures = {title: base64.b64encode(file.read_bytes()).decode() for title, file in there.items()}
    return {"title": values["title"], "tables": values["tables"], "pictures": pictures}
