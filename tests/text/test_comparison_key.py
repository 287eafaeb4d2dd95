"""Comparison keys: equal exactly for sentences that are equal or nearly equal."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglot.text.comparison_key import NO_SENTENCE, comparison_key, sentence_hashes

WORDS = st.lists(st.sampled_from(["hund", "katze", "été", "пес", "की", "犬", "ärger"]), min_size=1)


@given(WORDS, st.integers(0, 10**9), st.integers(0, 10**9), st.randoms())
def test_case_punctuation_spaces_and_numbers_change_nothing(words, number, other_number, chance):
    plain = " ".join([*words, str(number)])
    parts = []
    for word in [*words, str(other_number)]:
        parts.append(chance.choice([word, word.upper(), word.capitalize()]))
        parts.append(chance.choice([" ", "  ", "\u00a0", ", ", " — ", "!", "", "\u200b"]))
    changed = "".join(["« ", *parts, "»"])
    assert comparison_key(changed) == comparison_key(plain)


@given(WORDS, WORDS)
def test_other_letters_are_another_sentence(first, second):
    are_equal = "".join(first) == "".join(second)
    assert (comparison_key(" ".join(first)) == comparison_key(" ".join(second))) == are_equal


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Chapter 1.", "chapter 12"),
        ("3 km", "½ KM"),
        ("ﬁn", "fin"),
        ("Straße", "STRASSE"),
        ("don 't", "Don't"),
        ("e\u0301", "é"),
        ("１２ dogs", "9 dogs"),
        ("पृष्ठ १", "पृष्ठ २"),
    ],
)
def test_nearly_equal(first, second):
    assert comparison_key(first) == comparison_key(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [("12:30", "12:31"), ("12", "0"), ("…", "!"), ("कि", "का"), ("a", "ä"), ("👍", "👎")],
)
def test_lines_without_letters_and_other_marks_differ(first, second):
    assert comparison_key(first) != comparison_key(second)


def test_an_empty_line_is_no_sentence_and_a_short_one_may_be_none():
    hashes = sentence_hashes(["", " \u00a0", "Yes!", "yes", "…", "Yes, sir"], shortest=4)
    assert (hashes == NO_SENTENCE).tolist() == [True, True, True, True, True, False]
    hashes = sentence_hashes(["", "Yes!", "yes", "…"])
    assert (hashes == NO_SENTENCE).tolist() == [True, False, False, False]
    assert hashes[1] == hashes[2] != hashes[3]


def test_hashes_of_many_similar_sentences_differ():
    generator = random.Random(1)
    sentences = set()
    while len(sentences) < 50_000:
        sentences.add("".join(generator.choice("abcdef") for _ in range(generator.randrange(1, 9))))
    assert len(set(sentence_hashes(sentences).tolist())) == len(sentences)
