"""Words of a corpus stay words on the page of an analysis."""

from __future__ import annotations

from polyglot.analysis.page import Page, Table
from tests.builders.rendered import ODD, marks, texts


def test_words_stay_text() -> None:
    table = Table(ODD, ["word", ODD], [[ODD, "0.5"]], note=ODD)
    page = Page("chart", ODD, [table], {}, {ODD: b""}).markdown({ODD: "picture-1.png"})
    assert texts(page) == [ODD, ODD, ODD, "word", ODD, ODD, "0.5", ODD]
    assert not {"html_inline", "html_block", "em_open", "link_open"} & marks(page)
