"""From a seed to sentences: distinct in every language, and held-out sets that no language has seen in training."""

from __future__ import annotations

from random import Random

from polyglot.core.errors import DataError
from polyglot.phrasebook.czech import Czech
from polyglot.phrasebook.english import English
from polyglot.phrasebook.finnish import Finnish
from polyglot.phrasebook.french import French
from polyglot.phrasebook.generation import Imagination
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

SHORTEST, LONGEST = 3, 20  # words of a sentence, in every language
PATIENCE = (
    2000  # meanings in a row that bring nothing new before we believe that there is nothing new
)


def realise(meaning: Meaning) -> Sentence:
    """One meaning -> the sentence in all languages."""
    return Sentence(
        meaning, {language: grammar.realise(meaning) for language, grammar in GRAMMARS.items()}
    )


def generate(count: int, *, seed: int) -> list[Sentence]:
    """`count` sentences, the same for the same seed; no two have the same text in any language."""
    if count < 0:
        raise DataError(
            f"phrasebook: {count} sentences were asked for; the number must be 0 or more"
        )
    imagination = Imagination(Random(seed))
    seen: dict[str, set[str]] = {language: set() for language in LANGUAGES}
    sentences: list[Sentence] = []
    failures = 0
    while len(sentences) < count:
        sentence = realise(imagination.meaning())
        texts = {language: sentence.text(language) for language in LANGUAGES}
        if any(texts[language] in seen[language] for language in LANGUAGES) or not has_good_length(
            sentence
        ):
            failures += 1
            if failures == PATIENCE:
                raise DataError(
                    f"phrasebook: {count} distinct sentences were asked for, but after {len(sentences)} nothing new came up; ask for fewer"
                )
            continue
        failures = 0
        for language, text in texts.items():
            seen[language].add(text)
        sentences.append(sentence)
    return sentences


def splits(
    *, seed: int = 1, train: int = 12000, valid: int = 500, test: int = 500
) -> dict[str, list[Sentence]]:
    """Three sets of sentences, pairwise distinct in every language."""
    sentences = generate(train + valid + test, seed=seed)
    return {
        "train": sentences[valid + test :],
        "valid": sentences[:valid],
        "test": sentences[valid : valid + test],
    }


def has_good_length(sentence: Sentence) -> bool:
    return all(
        SHORTEST <= sum(token.category != "PUNCT" for token in sentence.tokens(language)) <= LONGEST
        for language in LANGUAGES
    )
