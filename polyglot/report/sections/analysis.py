"""What `polyglot analyse` found of roles, graphs, words and heads: its tables and pictures."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polyglot.report.files import Files
from polyglot.report.section import Section, render


def analysis(files: Files) -> Section | None:
    """None for a run that was not analysed."""
    pages = [_page(folder, values) for folder, values in files.left("page.json")]
    return (
        Section("analysis", "What was learnt", render("analysis.html", pages=pages))
        if pages
        else None
    )


def _page(folder: Path, values: Mapping[str, Any]) -> dict[str, Any]:
    files = {title: folder / Path(file).name for title, file in values["pictures"].items()}
    pictures = {
        title: base64.b64encode(file.read_bytes()).decode()
        for title, file in files.items()
        if file.is_file()
    }
    return {"title": values["title"], "tables": values["tables"], "pictures": pictures}
