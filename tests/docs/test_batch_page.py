"""The page on the path of one batch: every function that it names is in the file beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "polyglot"
PAGE = REPOSITORY / "docs" / "develop" / "batch.md"


def steps() -> list[tuple[list[str], list[str]]]:
    """Functions and files of each row of the tables."""
    rows = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = line.strip().strip("|").split("|")
        names = re.findall(r"`([\w.]+)`", cells[-2]) if len(cells) > 2 else []
        files = re.findall(r"`([\w/]+(?:\.py|/))`", cells[-1])
        if names and files:
            rows.append((names, files))
    return rows


def source_of(place: str) -> str:
    path = PACKAGE / place
    files = sorted(path.glob("*.py")) if path.is_dir() else [path]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def test_the_page_has_steps():
    assert len(steps()) > 20


@pytest.mark.parametrize(("names", "files"), steps(), ids=lambda items: "-".join(items))
def test_functions_are_in_their_files(names, files):
    source = "\n".join(map(source_of, files))
    for name in names:
        last = name.rpartition(".")[2]
        assert re.search(rf"(?:class|def) {last}\b|^{last}\b", source, re.MULTILINE), name
