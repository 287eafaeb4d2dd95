"""Directions that a model has components for."""

from __future__ import annotations

import pytest

from polyglot.core.errors import ConfigError
from polyglot.inference.directions import Directions
from polyglot.tasks.pairs import LanguagePair

DIRECTIONS = Directions.of(LanguagePair.parse(name) for name in ("de-en", "en-fr", "de-fr"))


def test_directions_have_the_languages_of_all_pairs_once_and_in_order():
    assert DIRECTIONS == Directions(sources=["de", "en"], targets=["en", "fr"])


def test_an_untrained_direction_with_both_components_is_allowed():
    assert DIRECTIONS.resolve("en", "en") == LanguagePair("en", "en")


def test_a_direction_may_have_other_spellings():
    assert DIRECTIONS.resolve("deu_Latn", "FRA") == LanguagePair("de", "fr")


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("fr", "en", "source language: no encoder named 'fr'. Known: de, en"),
        ("de", "de", "target language: no decoder named 'de'. Known: en, fr"),
    ],
)
def test_a_missing_component_is_an_error(source, target, message):
    with pytest.raises(ConfigError) as error:
        DIRECTIONS.resolve(source, target)
    assert str(error.value) == message
