"""Links between the pages lead somewhere, and the index lists every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.pages import BLOCK, PAGES


def anchors(page: Path) -> set[str]:
    """Anchors of the headings, as GitHub makes them."""
    prose = BLOCK.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_a_file_and_a_heading(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), link
        if anchor:
            assert anchor in anchors(target), link


def test_index_lists_every_page():
    index = ROOT / "docs" / "README.md"
    text = index.read_text(encoding="utf-8")
    for page in PAGES:
        if page.is_relative_to(index.parent) and page != index:
            assert f"]({page.relative_to(index.parent).as_posix()})" in text
