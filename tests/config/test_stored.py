"""Configurations of runs that an older version has written."""

from __future__ import annotations

import pytest

from polyglot.config.schema import TextConfig
from polyglot.config.stored import complete_stored_config, complete_stored_model
from polyglot.text.preprocessing import Normaliser

OLDER_SCHEDULE = {"pairs": ["*-*"]}
PRESENT_SCHEDULE = {"pairs": ["*-*"], "center": "en"}


def stored_text(schedule):
    text = {
        "steps": ["lowercase", {"type": "tokenize"}],
        "languages": {"ru": [{"type": "tokenize"}, {"type": "unicode"}], "es": []},
    }
    return complete_stored_config({"schedule": dict(schedule), "text": text})["text"]


def test_tokenize_of_an_older_run_is_moses():
    assert stored_text(OLDER_SCHEDULE) == {
        "steps": ["lowercase", {"type": "moses"}],
        "languages": {"ru": [{"type": "moses"}, {"type": "unicode"}], "es": []},
    }


def test_tokenize_of_a_present_run_stays():
    assert stored_text(PRESENT_SCHEDULE)["steps"] == ["lowercase", {"type": "tokenize"}]


@pytest.mark.parametrize(
    ("language", "start"), [("de", "6b81c09d39"), ("es", "7c99dddd09"), ("ru", "aa6cd3e95f")]
)
def test_fingerprint_of_an_older_run_is_the_same(language, start):
    """Checkpoints store it; these values are from the version before the step `moses`."""
    steps = TextConfig(steps=["lowercase", "moses"]).for_language(language)
    assert Normaliser(steps, language).fingerprint.startswith(start)


@pytest.mark.parametrize("text", [None, 3, {"steps": 3}, {"steps": [3], "languages": []}])
def test_other_values_are_left_to_the_check(text):
    values = {"schedule": dict(OLDER_SCHEDULE), "text": text}
    assert complete_stored_config(values) == {"schedule": OLDER_SCHEDULE, "text": text}


def test_word_prediction_of_an_older_run_has_layers_of_its_own():
    model = {
        "options": {"decoder": [{"type": "word_prediction"}, {"type": "context_gate"}, "roles"]},
        "languages": {"de": {"options": {"decoder": [{"type": "word_prediction"}]}}},
    }
    complete_stored_model(model)
    own = {"type": "word_prediction", "layers": "own"}
    assert model["options"]["decoder"] == [own, {"type": "context_gate"}, "roles"]
    assert model["languages"]["de"]["options"]["decoder"] == [own]
