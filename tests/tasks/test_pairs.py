"""Pairs: written and read, named by patterns, and sorted into copies, supervised and zero-shot
ones.
"""

from __future__ import annotations

import itertools
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglot.core.errors import ConfigError
from polyglot.tasks.pairs import LanguagePair, Task, match_pairs, pair_kind

LANGUAGES = ["en", "de", "fr", "cs"]
codes = st.builds(
    str.__add__,
    st.sampled_from(string.ascii_letters),
    st.text(string.ascii_letters + string.digits + "_", max_size=6),
)


def pairs(*texts):
    return [LanguagePair.parse(text) for text in texts]


@given(codes, codes)
def test_a_pair_is_read_as_it_is_written(source, target):
    pair = LanguagePair.parse(f"{source}-{target}")
    assert (pair.source, pair.target, str(pair)) == (source, target, f"{source}-{target}")
    assert pair.is_copy == (source == target)
    assert Task(pair).name == str(pair) and (Task(pair).source, Task(pair).target) == (
        source,
        target,
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "de",
        "de-",
        "-en",
        "de-en-fr",
        "de en",
        "de_en",
        "de-1n",
        "*-en",
        "dé-en",
        "de–en",
        " de-en",
    ],
)
def test_what_is_no_pair_is_refused(text):
    with pytest.raises(
        ConfigError, match="is no language pair; write source and target with a hyphen"
    ):
        LanguagePair.parse(text)


def test_patterns():
    assert match_pairs(["en-*"], LANGUAGES) == pairs("en-de", "en-fr", "en-cs")
    assert match_pairs(["*-en"], LANGUAGES) == pairs("de-en", "fr-en", "cs-en")
    assert match_pairs(["de-fr", "fr-de"], LANGUAGES) == pairs("de-fr", "fr-de")
    assert match_pairs(["*-*"], LANGUAGES) == [
        LanguagePair(*both) for both in itertools.permutations(LANGUAGES, 2)
    ]
    assert (
        match_pairs(["en-*", "*-*", "en-de"], LANGUAGES)
        == match_pairs(["en-*"], LANGUAGES) + match_pairs(["*-*"], LANGUAGES)[3:]
    )
    assert match_pairs([], LANGUAGES) == []


def test_only_a_pattern_without_a_star_names_a_copy():
    assert match_pairs(["de-de"], LANGUAGES) == pairs("de-de")
    assert not any(
        pair.is_copy
        for pattern in ("*-*", "de-*", "*-de")
        for pair in match_pairs([pattern], LANGUAGES)
    )


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("de", "'de' is no pattern for language pairs; write 'de-en', '*-en' or '*-*'"),
        ("de-xx", "'de-xx' matches no pair of the languages en, de, fr, cs"),
        ("xx-*", "'xx-*' matches no pair"),
    ],
)
def test_a_pattern_that_names_nothing_is_refused(pattern, sentence):
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        match_pairs(["*-*", pattern], LANGUAGES)


def test_every_pattern_that_names_nothing_is_said():
    with pytest.raises(ConfigError) as error:
        match_pairs(["de-xx", "en-de", "yy-*", "fr"], LANGUAGES)
    assert [problem.message.split()[0] for problem in error.value.problems] == [
        "'de-xx'",
        "'yy-*'",
        "'fr'",
    ]


@given(
    st.sets(
        st.sampled_from([LanguagePair(*both) for both in itertools.product(LANGUAGES, LANGUAGES)])
    )
)
def test_every_pair_has_one_kind(trained):
    for pair in (LanguagePair(*both) for both in itertools.product(LANGUAGES, LANGUAGES)):
        kind = pair_kind(pair, trained)
        assert (kind == "copy") == pair.is_copy
        assert (kind == "supervised") == (pair in trained and not pair.is_copy)
        assert (kind == "zero-shot") == (pair not in trained and not pair.is_copy)


def test_pattern_may_have_another_spelling_of_a_language():
    languages = ["deu_Latn", "eng_Latn", "zho_Hant"]
    assert match_pairs(["de-en"], languages) == pairs("deu_Latn-eng_Latn")
    assert match_pairs(["*-EN"], languages) == pairs("deu_Latn-eng_Latn", "zho_Hant-eng_Latn")
    assert match_pairs(["de-deu"], languages) == pairs("deu_Latn-deu_Latn")
    assert match_pairs(["zh-en"], languages) == pairs("zho_Hant-eng_Latn")
