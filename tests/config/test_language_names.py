"""A mistyped name of a language gives one problem, whatever the number of its keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from polyglot.config.loading import check_config
from polyglot.core.errors import ConfigError
from polyglot.core.problems import Problem
from polyglot.training.preflight import preflight_problems
from tests.builders.runs import tiny_settings, write_corpus

KEYS = {
    "schedule": {"type": "uniform", "pairs": ["de-en", "en-*", "*-de"], "copies": ["de"]},
    "model": {"languages": {"de": {"encoder": {"type": "gru"}}}},
    "vocabulary": {"type": "word", "size": 100, "languages": {"de": {"size": 90}}},
    "text": {"languages": {"de": ["lowercase"]}},
    "validation": {"bleu_pairs": ["de-fr"]},
    "sharing": {"decoder": {"west": ["de", "fr"]}},
    "freeze": ["encoder.de"],
}
"""Settings of German in every place that may name a language."""


@pytest.fixture
def problems(tmp_path: Path):
    """Function that returns the problems of a configuration with these languages and settings."""
    write_corpus(tmp_path)

    def problems_of(languages: list[str], **sections: object) -> list[Problem]:
        values = tiny_settings(tmp_path, languages=languages, **{**KEYS, **sections})
        with pytest.raises(ConfigError) as error:
            check_config(values, where="tiny", extra_problems=preflight_problems)
        return error.value.problems

    return problems_of


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("dde", "Did you mean 'dde'? Known: en, dde, fr"),
        ("xx", "Did you mean 'xx'? Known: en, xx, fr"),
        ("deu_Latn", "Did you mean 'deu_Latn'? Known: en, deu_Latn, fr"),
    ],
)
def test_one_mistyped_language_is_one_problem(name: str, suggestion: str, problems) -> None:
    """Its missing text is a consequence, too."""
    [problem] = problems(["en", name, "fr"])
    message = str(problem)
    assert message.startswith("languages: no language named 'de', which is in ")
    assert message.endswith(suggestion)
    for key in ("model.languages.de", "text.languages.de", "schedule.copies", "freeze"):
        assert key in message


def test_an_invalid_code_is_one_problem(problems) -> None:
    [problem] = problems(["en", "de-DE", "fr"])
    assert str(problem).startswith("languages: 'de-DE' is no language code")


def test_a_name_that_is_wrong_in_one_place_is_reported_there(problems) -> None:
    [problem] = problems(["en", "de", "fr"], validation={"bleu_pairs": ["de-xx"]})
    assert str(problem).startswith("validation.bleu_pairs: 'de-xx' matches no pair")


def test_all_other_problems_are_still_reported(problems) -> None:
    found = problems(
        ["en", "xx", "fr"], training={"stepz": 3}, search={"n_best": 9}, optimizer={"type": "adan"}
    )
    keys = {problem.key for problem in found}
    assert keys == {"languages", "training.stepz", "search.n_best", "optimizer.type"}


def test_two_mistyped_languages_are_two_problems(problems) -> None:
    found = problems(["en", "xx", "yy"])
    names = [str(problem).partition("named ")[2].partition(",")[0] for problem in found]
    assert names == ["'de'", "'fr'"]
