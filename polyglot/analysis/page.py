"""Result of one analysis: tables and figures, written as JSON, Markdown and PNG files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from polyglot.core import markdown
from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import CheckpointError
from polyglot.core.file_locks import output_lock
from polyglot.core.markdown import escape
from polyglot.core.stored_json import with_checksum
from polyglot.runs.run import Run

FORMAT = 1  # of page.json; to be increased if an older `polyglot report` cannot read it


WORK = "writing an analysis there"
"""Work of the process that holds the lock of a folder below `analysis/`."""


@dataclass(frozen=True)
class Table:
    """Table with formatted cells."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    """explanation below the title"""


@dataclass(frozen=True)
class Page:
    """Tables, figures and numbers of one analysis."""

    name: str
    """name of the folder below `analysis/` of the run"""
    title: str
    tables: Sequence[Table]
    values: Mapping[str, Any]
    """all numbers, as in `page.json`"""
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    """PNG files by title"""

    def save(self, run: Run) -> Path:
        """Write `page.json`, `page.md` and the figures to `analysis/NAME/` of the run.

        Replaces the files of an earlier analysis of the same name. Returns the folder. Raises
        CheckpointError if it cannot be written, or if another process writes there.
        """
        folder = run.results / "analysis" / self.name
        with output_lock(folder, work=WORK):
            self._write_files(folder)
        return folder

    def _write_files(self, folder: Path) -> None:
        clear_folder(folder, "page.*", "*.png")
        files = {}
        for number, (title, picture) in enumerate(self.pictures.items(), start=1):
            files[title] = f"picture-{number}.png"
            replace_file(folder / files[title], picture)

        content = {
            "format": FORMAT,
            "title": self.title,
            "tables": [asdict(table) for table in self.tables],
            "pictures": files,
            "values": self.values,
        }
        text = json.dumps(with_checksum(content), indent=1, ensure_ascii=False)
        replace_file(folder / "page.json", text)
        replace_file(folder / "page.md", self.markdown(files))

    def markdown(self, files: Mapping[str, str] = {}) -> str:
        """Return the page as Markdown. files: file names of the figures to show, by title."""
        blocks = [f"# {escape(self.title)}"]
        for table in self.tables:
            blocks.append(f"## {escape(table.title)}")
            if table.note:
                blocks.append(escape(table.note))
            blocks.append(_table_markdown(table))
        for title, file in files.items():
            blocks.append(f"![{escape(title)}]({file})")
        return "\n\n".join(blocks) + "\n"


def _table_markdown(table: Table) -> str:
    head = [escape(cell) for cell in table.head]
    rows = [list(map(escape, row)) for row in table.rows]
    return markdown.table(head, rows, words=head)


def clear_folder(folder: Path, *patterns: str) -> None:
    """Delete the files of an earlier analysis that match one of the patterns.

    Raises CheckpointError if that fails.
    """
    try:
        for pattern in patterns:
            for path in folder.glob(pattern):
                path.unlink()
    except OSError as error:
        reason = error.strerror or error
        raise CheckpointError(f"{folder}: the analysis cannot be written: {reason}") from None


def file_name(word: str) -> str:
    """Return a word as part of a folder name: letters and digits stay, `.` becomes `u2e`."""
    characters = []
    for character in word:
        characters.append(character if character.isalnum() else f"u{ord(character):x}")
    return "".join(characters)
