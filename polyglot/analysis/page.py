"""The result of one analysis: tables and pictures, as JSON with all numbers, as Markdown, and as PNG files in a folder of the run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import CheckpointError
from polyglot.core.markdown import escape, table
from polyglot.runs.run import Run

FORMAT = 1  # of page.json: to be raised when an older report could not read it


@dataclass(frozen=True)
class Table:
    """Cells as they are to be shown."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    """what must be known to read it"""


@dataclass(frozen=True)
class Page:
    """What an analysis found."""

    name: str
    """of its folder below `analysis/`"""
    title: str
    tables: Sequence[Table]
    values: Mapping[str, Any]
    """every number, as JSON has them"""
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    """PNG files by title"""

    def save(self, run: Run) -> Path:
        """`page.json`, `page.md` and the pictures in `analysis/NAME/` of the run; what an earlier one left there is replaced.

        Raises CheckpointError when it cannot be written.
        """
        folder = run.path / "analysis" / self.name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for path in [*folder.glob("page.*"), *folder.glob("*.png")]:
                path.unlink()
        except OSError as error:
            raise CheckpointError(
                f"{folder}: the analysis cannot be written: {error.strerror or error}"
            ) from None
        files = {
            title: f"picture-{number}.png" for number, title in enumerate(self.pictures, start=1)
        }
        for title, picture in self.pictures.items():
            replace_file(folder / files[title], picture)
        tables = [asdict(table) for table in self.tables]
        content = {
            "format": FORMAT,
            "title": self.title,
            "tables": tables,
            "pictures": files,
            "values": self.values,
        }
        replace_file(folder / "page.json", json.dumps(content, indent=1, ensure_ascii=False))
        replace_file(folder / "page.md", self.markdown(files))
        return folder

    def markdown(self, files: Mapping[str, str] = {}) -> str:
        """files: of the pictures, by title; none are shown without."""
        blocks = [f"# {escape(self.title)}"]
        for one in self.tables:
            blocks += [f"## {escape(one.title)}", *([escape(one.note)] if one.note else [])]
            head = [escape(cell) for cell in one.head]
            blocks.append(
                table(head, ([escape(cell) for cell in row] for row in one.rows), words=head)
            )
        blocks += [f"![{escape(title)}]({file})" for title, file in files.items()]
        return "\n\n".join(blocks) + "\n"


def file_name(word: str) -> str:
    """A word as a part of the name of a folder: letters and digits stay, the rest is spelt in numbers."""
    return "".join(letter if letter.isalnum() else f"u{ord(letter):x}" for letter in word)
