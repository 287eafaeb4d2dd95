"""Markdown pages and files of an analysis."""

from __future__ import annotations

import json

from polyglot.analysis.page import Page, Table, file_name
from polyglot.runs.run import Run
from tests.builders.rendered import MARKDOWN_TEXT, token_types, visible_texts


def test_words_of_a_corpus_stay_text() -> None:
    table = Table(
        MARKDOWN_TEXT,
        ["word", MARKDOWN_TEXT],
        [[MARKDOWN_TEXT, "0.5"]],
        note=MARKDOWN_TEXT,
    )
    page = Page("chart", MARKDOWN_TEXT, [table], {}, {MARKDOWN_TEXT: b""})
    markdown = page.markdown({MARKDOWN_TEXT: "picture-1.png"})
    headings_and_note = [MARKDOWN_TEXT] * 3
    cells = ["word", MARKDOWN_TEXT, MARKDOWN_TEXT, "0.5"]
    assert visible_texts(markdown) == [*headings_and_note, *cells, MARKDOWN_TEXT]
    assert not {"html_inline", "html_block", "em_open", "link_open"} & token_types(markdown)


def test_a_page_replaces_the_files_of_an_earlier_analysis(run: Run) -> None:
    table = Table("Words", ["word"], [["Haus"]])
    pictures = {"first": b"1", "second": b"2"}
    folder = Page("files", "Title", [table], {"count": 1}, pictures).save(run)
    content = json.loads((folder / "page.json").read_text(encoding="utf-8"))
    assert content["pictures"] == {"first": "picture-1.png", "second": "picture-2.png"}
    assert content["values"] == {"count": 1}
    assert (folder / "picture-2.png").read_bytes() == b"2"

    Page("files", "Title", [table], {}, {"first": b"3"}).save(run)
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["page.json", "page.md", "picture-1.png"]
    assert "![first](picture-1.png)" in (folder / "page.md").read_text(encoding="utf-8")


def test_a_word_becomes_part_of_a_folder_name() -> None:
    assert file_name("Straße") == "Straße"
    assert file_name("./a b") == "u2eu2fau20b"
