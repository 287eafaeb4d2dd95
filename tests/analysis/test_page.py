"""Words of a corpus stay words on the page of an analysis."""

from __future__ import annotations

from polyglot.analysis.page import Page, Table
from tests.builders.rendered import MARKDOWN_TEXT, token_types, visible_texts


def test_words_stay_text() -> None:
    table = Table(MARKDOWN_TEXT, ["word", MARKDOWN_TEXT], [[MARKDOWN_TEXT, "0.5"]], note=MARKDOWN_TEXT)
    page = Page("chart", MARKDOWN_TEXT, [table], {}, {MARKDOWN_TEXT: b""}).markdown({MARKDOWN_TEXT: "picture-1.png"})
    assert visible_texts(page) == [MARKDOWN_TEXT, MARKDOWN_TEXT, MARKDOWN_TEXT, "word", MARKDOWN_TEXT, MARKDOWN_TEXT, "0.5", MARKDOWN_TEXT]
    assert not {"html_inline", "html_block", "em_open", "link_open"} & token_types(page)
