"""Checks of the sentences that a caller passes."""

from __future__ import annotations

import pytest

from polyglot.core.errors import DataError
from polyglot.inference.text_input import check_sentences, to_one_line


@pytest.mark.parametrize("convert", [list, tuple, iter, lambda lines: dict.fromkeys(lines).keys()])
def test_any_iterable_of_strings_becomes_a_list(convert):
    assert check_sentences(convert(["ein Hund", "", "zwei"]), "de") == ["ein Hund", "", "zwei"]


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (
            "ein Hund",
            "de: a list of sentences is expected, found the single string 'ein Hund'; "
            "put it in a list",
        ),
        (None, "de: a list of sentences is expected, found None"),
        (3, "de: a list of sentences is expected, found 3"),
        (["ein Hund", None], "de: sentence 2 should be a string, found None"),
        (
            ["ein Hund", "ein \ud800"],
            "de: sentence 2 contains half a character (a lone surrogate), "
            "which is not valid text: 'ein \\ud800'",
        ),
    ],
)
def test_other_input_is_an_error(sentences, message):
    with pytest.raises(DataError) as error:
        check_sentences(sentences, "de")
    assert str(error.value) == message


def test_only_the_beginning_of_a_long_string_is_shown():
    with pytest.raises(DataError) as error:
        check_sentences("x" * 41, "de")
    assert "x" * 40 in str(error.value)
    assert "x" * 41 not in str(error.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [("one\ntwo\r\nthree\n", "one two three"), (" one  two ", "one  two"), ("\n", "")],
)
def test_line_breaks_become_spaces(text, line):
    assert to_one_line(text) == line
