"""Sentences from a seed: distinct in every language, with held-out sets unseen in training."""

from __future__ import annotations

from random import Random

from polyglot.core.errors import DataError
from polyglot.phrasebook.czech import Czech
from polyglot.phrasebook.english import English
from polyglot.phrasebook.finnish import Finnish
from polyglot.phrasebook.french import French
from polyglot.phrasebook.generation import MeaningGenerator
from polyglot.phrasebook.german import German
from polyglot.phrasebook.grammar import Grammar
from polyglot.phrasebook.meaning import Meaning
from polyglot.phrasebook.sentence import Sentence
from polyglot.phrasebook.spanish import Spanish

GRAMMARS: dict[str, Grammar] = {
    "cs": Czech(),
    "de": German(),
    "en": English(),
    "es": Spanish(),
    "fi": Finnish(),
    "fr": French(),
}
LANGUAGES = tuple(GRAMMARS)

SHORTEST = 3  # words of a sentence, in every language
LONGEST = 20
PATIENCE = 2000  # duplicates in a row before generation gives up


def realise(meaning: Meaning) -> Sentence:
    """Realise one meaning in all languages."""
    return Sentence(
        meaning, {language: grammar.realise(meaning) for language, grammar in GRAMMARS.items()}
    )


def generate(count: int, *, seed: int) -> list[Sentence]:
    """Generate `count` sentences, distinct in every language; equal seeds give equal sentences."""
    if count < 0:
        raise DataError(
            f"phrasebook: {count} sentences were requested; the number must be 0 or more"
        )
    generator = MeaningGenerator(Random(seed))
    used_texts: dict[str, set[str]] = {language: set() for language in LANGUAGES}
    sentences: list[Sentence] = []
    failures = 0
    while len(sentences) < count:
        sentence = realise(generator.meaning())
        if _is_used(sentence, used_texts) or not has_good_length(sentence):
            failures += 1
            if failures == PATIENCE:
                raise DataError(
                    f"phrasebook: {count} distinct sentences were requested, but only "
                    f"{len(sentences)} exist with this seed; request fewer"
                )
            continue
        failures = 0
        for language in LANGUAGES:
            used_texts[language].add(sentence.text(language))
        sentences.append(sentence)
    return sentences


def _is_used(sentence: Sentence, used_texts: dict[str, set[str]]) -> bool:
    """True if a language already has this text."""
    return any(sentence.text(language) in used_texts[language] for language in LANGUAGES)


def splits(
    *,
    seed: int = 1,
    train: int = 12000,
    valid: int = 500,
    test: int = 500,
) -> dict[str, list[Sentence]]:
    """Three sets of sentences, pairwise distinct in every language."""
    sentences = generate(train + valid + test, seed=seed)
    return {
        "train": sentences[valid + test :],
        "valid": sentences[:valid],
        "test": sentences[valid : valid + test],
    }


def has_good_length(sentence: Sentence) -> bool:
    """True if the sentence has SHORTEST to LONGEST words in every language."""
    for language in LANGUAGES:
        words = [token for token in sentence.tokens(language) if token.category != "PUNCT"]
        if not SHORTEST <= len(words) <= LONGEST:
            return False
    return True
