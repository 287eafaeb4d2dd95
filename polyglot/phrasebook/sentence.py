"""Sentence in six languages: tokens, dependency tree, text and word alignment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from polyglot.core.errors import DataError, unknown_name
from polyglot.phrasebook.meaning import Meaning
from polyglot.phrasebook.phrase import Word

CLOSING = (".", ",", "?", "'s")
OPENING = ("¿",)


@dataclass(frozen=True, slots=True)
class Token:
    """A word or punctuation mark.

    `category` is a Universal Dependencies name. `sense` is the same in all languages, None for
    function words. `head` is the index of the head token, -1 at the root. `node` is the part of
    the meaning that the token expresses, None for inner punctuation.
    """

    text: str
    category: str
    sense: str | None
    head: int
    node: str | None


@dataclass(frozen=True, slots=True)
class Sentence:
    """One meaning with its tokens in every language."""

    meaning: Meaning
    translations: Mapping[str, tuple[Token, ...]]

    def tokens(self, language: str) -> tuple[Token, ...]:
        if language not in self.translations:
            raise DataError(f"phrasebook: {unknown_name('language', language, self.translations)}")
        return self.translations[language]

    def text(self, language: str) -> str:
        return detokenize((token.text for token in self.tokens(language)), language)

    def alignment(self, source: str, target: str) -> tuple[tuple[int, int], ...]:
        """Aligned pairs (source index, target index): tokens of the same node of the meaning."""
        return tuple(
            (left, right)
            for left, ours in enumerate(self.tokens(source))
            for right, theirs in enumerate(self.tokens(target))
            if ours.node is not None and ours.node == theirs.node
        )


def freeze(words: list[Word]) -> tuple[Token, ...]:
    """Convert words, whose heads are words, to tokens, whose heads are indices."""
    index = {id(word): position for position, word in enumerate(words)}
    return tuple(
        Token(
            word.text,
            word.category,
            word.sense,
            -1 if word.head is None else index[id(word.head)],
            word.node,
        )
        for word in words
    )


def detokenize(texts: Iterable[str], language: str) -> str:
    """Join tokens to text, with the spaces of the language around punctuation and apostrophes."""
    line = ""
    for text in texts:
        line += text if not line else _space(line[-1], text, language) + text
    return line


def _space(before: str, text: str, language: str) -> str:
    if text == "?" and language == "fr":
        return " "
    if text in CLOSING or before in OPENING or before == "'":
        return ""
    return " "
