"""Predicted spaces around apostrophes and quotation marks."""

from __future__ import annotations

import pytest

from polyglot.text.spacing import QUOTING_APOSTROPHES, SHORT_WORD, SpacePredictor

SHORT = "a" * SHORT_WORD
LONG = "a" * (SHORT_WORD + 1)


def join(language: str, *tokens: str) -> str:
    return SpacePredictor(language).join(tokens)


@pytest.mark.parametrize("language", sorted(QUOTING_APOSTROPHES))
def test_an_apostrophe_beside_a_short_word_is_inside_a_word(language):
    """Between two long words, it begins a quotation."""
    assert join(language, SHORT, "'", LONG) == f"{SHORT}'{LONG}"
    assert join(language, LONG, "'", SHORT) == f"{LONG}'{SHORT}"
    assert join(language, LONG, "'", LONG, "'", LONG) == f"{LONG} '{LONG}' {LONG}"


@pytest.mark.parametrize("language", ["fr", "it", "uk"])
def test_languages_without_quoting_apostrophes_write_them_inside_words(language):
    """`fr` has elisions, `uk` an apostrophe inside of words."""
    for before in (SHORT, LONG):
        for after in (SHORT, LONG):
            assert join(language, before, "'", after) == f"{before}'{after}"


@pytest.mark.parametrize("apostrophe", ["’", "´"])
@pytest.mark.parametrize("language", ["en", "fr"])
def test_only_the_straight_apostrophe_may_quote_between_words(apostrophe, language):
    assert join(language, LONG, apostrophe, LONG) == f"{LONG}{apostrophe}{LONG}"


def test_an_apostrophe_closes_the_quotation_that_one_has_opened():
    """Also beside a short word; a quotation in other marks changes nothing."""
    assert join("en", "'", "I", "'", "am") == "'I' am"
    assert join("en", '"', "I", "'", "am") == "\"I'am"
    assert join("en", '"', "I", "'", "am", '"') == '"I\'am"'
    assert join("en", "'", "I", "'", "am", "'", "I", "'", "am") == "'I' am'I'am"


@pytest.mark.parametrize(
    ("before", "after"), [("", "am"), ("I", ""), (",", "am"), ("I", "!"), ("", "")]
)
def test_an_apostrophe_without_a_word_on_both_sides_is_a_quotation_mark(before, after):
    tokens = [token for token in (before, "'", after) if token]
    assert not join("en", *tokens).startswith(f"{before}'") or not before
