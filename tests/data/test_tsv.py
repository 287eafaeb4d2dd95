"""Escape of text in tab-separated columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglot.data.tsv import escape, tsv_line, unescape


@given(st.text(st.characters(codec="utf-8") | st.sampled_from("\\\t\n\rtnr")))
def test_every_text_comes_back(text):
    assert unescape(escape(text)) == text


@given(st.lists(st.text(st.sampled_from("ab\\\t\n\r")), min_size=1))
def test_a_row_is_one_line_with_all_its_columns(fields):
    line = tsv_line(fields)
    assert "\n" not in line and "\r" not in line
    assert [unescape(column) for column in line.split("\t")] == fields


@pytest.mark.parametrize(
    "text, escaped",
    [
        ("Ein Hund.", "Ein Hund."),
        ("a\tb", r"a\tb"),
        ("a\nb\rc", r"a\nb\rc"),
        (r"C:\temp", r"C:\\temp"),
        ("", ""),
    ],
)
def test_the_written_form(text, escaped):
    assert escape(text) == escaped


def test_a_backslash_before_another_character_stays():
    assert unescape(r"a\xb\\") == "a\\xb\\"
