"""Properties of the generated corpus, over thousands of sentences."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from polyglot.core.errors import DataError
from polyglot.phrasebook import LANGUAGES, Sentence, generate, splits
from polyglot.phrasebook.generation import MeaningGenerator
from polyglot.phrasebook.lexicon import czech, english, finnish, french, german, spanish
from polyglot.phrasebook.sentence import detokenize

LEXICONS = {"cs": czech, "de": german, "en": english, "es": spanish, "fi": finnish, "fr": french}
CATEGORIES = {
    "NOUN",
    "VERB",
    "ADJ",
    "DET",
    "PRON",
    "ADP",
    "ADV",
    "NUM",
    "PROPN",
    "CCONJ",
    "SCONJ",
    "AUX",
    "PUNCT",
    "PART",
}
FREQUENT = 40  # occurrences from which a small model learns a word


@pytest.fixture(scope="module")
def corpus() -> dict[str, list[Sentence]]:
    return splits()


@pytest.fixture(scope="module")
def some(corpus) -> list[Sentence]:
    return corpus["train"][:3000]


def test_same_seed_same_sentences():
    first, second = generate(200, seed=5), generate(200, seed=5)
    assert first == second
    assert [sentence.text("fi") for sentence in first] != [
        sentence.text("fi") for sentence in generate(200, seed=6)
    ]


def test_more_sentences_begin_like_fewer():
    assert generate(100, seed=5) == generate(150, seed=5)[:100]


def test_sizes_are_those_asked_for(corpus):
    assert {name: len(sentences) for name, sentences in corpus.items()} == {
        "train": 12000,
        "valid": 500,
        "test": 500,
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_occurs_twice_in_any_language(corpus, language):
    texts = [sentence.text(language) for sentences in corpus.values() for sentence in sentences]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("language", LANGUAGES)
def test_lengths_and_vocabulary_are_moderate(corpus, language):
    words = [
        [token.text for token in sentence.tokens(language) if token.category != "PUNCT"]
        for sentence in corpus["train"]
    ]
    assert all(3 <= len(sentence) <= 20 for sentence in words)
    assert 5.5 <= sum(map(len, words)) / len(words) <= 10
    assert 400 <= len({word.lower() for sentence in words for word in sentence}) <= 1500


def test_every_content_word_is_frequent(corpus):
    counts = Counter(
        token.sense
        for sentence in corpus["train"]
        for token in sentence.tokens("en")
        if token.sense
    )
    words = {
        *english.NOUNS,
        *english.VERBS,
        *english.ADJECTIVES,
        *english.CITIES,
        *english.FREQUENCIES,
    }
    assert {word: counts[word] for word in words if counts[word] < FREQUENT} == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_names_the_same_senses(language):
    lexicon = LEXICONS[language]
    for table in ("NOUNS", "ADJECTIVES", "CITIES", "TIMES", "FREQUENCIES", "NUMBERS"):
        assert set(getattr(lexicon, table)) == set(getattr(english, table)), table
    assert set(english.VERBS) <= set(lexicon.VERBS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_heads_form_a_tree(some, language):
    for sentence in some:
        tokens = sentence.tokens(language)
        assert sum(token.head == -1 for token in tokens) == 1, sentence.text(language)
        for index in range(len(tokens)):
            path = [index]
            while tokens[path[-1]].head != -1:
                path.append(tokens[path[-1]].head)
                assert len(path) <= len(tokens), sentence.text(language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_content_words_carry_the_senses_of_the_meaning(some, language):
    for sentence in some:
        senses = Counter(token.sense for token in sentence.tokens(language) if token.sense)
        assert senses == Counter(token.sense for token in sentence.tokens("en") if token.sense), (
            sentence.text(language)
        )
        assert {token.category for token in sentence.tokens(language)} <= CATEGORIES


def test_alignment_is_symmetric_and_joins_what_means_the_same(some):
    for sentence in some[:500]:
        for source in LANGUAGES:
            for target in LANGUAGES:
                pairs = sentence.alignment(source, target)
                assert sorted((right, left) for left, right in pairs) == list(
                    sentence.alignment(target, source)
                )
                for left, right in pairs:
                    ours, theirs = sentence.tokens(source)[left], sentence.tokens(target)[right]
                    assert ours.sense == theirs.sense or None in (ours.sense, theirs.sense)
        aligned = {left for left, _ in sentence.alignment("en", "fi")}
        content = {index for index, token in enumerate(sentence.tokens("en")) if token.sense}
        assert content <= aligned


@pytest.mark.parametrize("language", LANGUAGES)
def test_texts_are_written_like_ordinary_text(some, language):
    for sentence in some:
        text = sentence.text(language)
        assert text == text.strip() and "  " not in text
        assert text[-1] in ".?" and not any(mark in text for mark in "{}_*/")
        assert (
            " ." not in text
            and " ," not in text
            and ",." not in text
            and ("?" not in text or (" ?" in text) == (language == "fr"))
        )
        assert text.lstrip("¿")[0].isupper() or text.lstrip("¿")[0].isdigit()
        assert text == detokenize((token.text for token in sentence.tokens(language)), language)


def test_too_many_sentences_are_refused(monkeypatch):
    monkeypatch.setattr("polyglot.phrasebook.corpus.LONGEST", 3)
    monkeypatch.setattr("polyglot.phrasebook.corpus.PATIENCE", 20)
    with pytest.raises(
        DataError,
        match=r"1000 distinct sentences were requested, but only \d+ exist with this seed",
    ):
        generate(1000, seed=1)


def test_negative_counts_are_refused():
    with pytest.raises(
        DataError, match="-1 sentences were requested; the number must be 0 or more"
    ):
        generate(-1, seed=1)


def test_unknown_language_is_refused():
    with pytest.raises(DataError, match="no language named 'dk'.*Known: cs, de, en, es, fi, fr"):
        generate(1, seed=1)[0].text("dk")


def test_states_are_past_and_present_and_some_are_negated():
    generator = MeaningGenerator(Random(1))
    kinds = ("quality", "mood", "profession", "place")
    for kind in kinds:
        clauses = []
        for _ in range(300):
            generator.cast.used_names.clear()
            clauses.append(getattr(generator, kind)())
        past = sum(clause.past for clause in clauses)
        negated = sum(clause.negated for clause in clauses)
        assert 80 < past < 160, kind  # 40 %
        assert 20 < negated < 70, kind  # 14 %
