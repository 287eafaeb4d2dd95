"""Markdown elements show text exactly as it was written."""

from __future__ import annotations

import pytest

from polyglot.core.markdown import bullet_list, code_span, escape, table
from tests.builders.rendered import MARKDOWN_TEXT, token_types, visible_texts

TEXTS = [
    MARKDOWN_TEXT,
    "snake_case_name",
    "_begins and ends_",
    "text test_2016.{language}.gz",
    "a\\|b",
    "\\",
    "|",
    "# no heading",
    "> no quotation",
]
MARKUP = {
    "html_inline",
    "em_open",
    "strong_open",
    "link_open",
    "image",
    "code_inline",
    "s_open",
}


@pytest.mark.parametrize("text", TEXTS)
def test_headings_items_and_cells_show_escaped_text_as_written(text: str) -> None:
    escaped = escape(text)
    assert visible_texts(f"# {escaped}") == [text]
    assert visible_texts(bullet_list({"name": escaped})) == [f"name: {text}"]
    page = table(["head", escaped], [[escaped, 1.5]])
    assert visible_texts(page) == ["head", text, text, "1.5"]
    assert not MARKUP & token_types(page)


def test_several_lines_become_one_line() -> None:
    assert escape("one\n\n# two\tthree") == "one \\# two three"


def test_text_without_markup_is_not_escaped() -> None:
    text = "test_2016_flickr.en.gz, p < 0.05, 31.4 ± 0.2 (de → fr)"
    assert escape(text) == text


@pytest.mark.parametrize("text", ["key", '"a|b"', "a `tick`", "``two``"])
def test_code_is_shown_as_written_also_in_a_cell(text: str) -> None:
    assert visible_texts(code_span(text)) == [text]
    assert visible_texts(table(["key"], [[code_span(text)]])) == ["key", text]


def test_numbers_are_aligned_to_the_right_and_words_to_the_left() -> None:
    assert table(["a", "b", "c"], [[1, 2, 3]], words=["c"]).splitlines() == [
        "| a | b | c |",
        "| --- | ---: | --- |",
        "| 1 | 2 | 3 |",
    ]
