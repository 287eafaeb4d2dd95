"""A sentence in six languages: its tokens, their tree, its written text, and who corresponds to whom."""

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

    `category` is a Universal Dependencies name, `sense` the same in all languages (None for function words), `head` the index of
    the token it depends on (-1 at the root), `node` the part of the meaning it expresses (None for inner punctuation).
    """

    text: str
    category: str
    sense: str | None
    head: int
    node: str | None


@dataclass(frozen=True, slots=True)
class Sentence:
    """One meaning and what each language makes of it."""

    meaning: Meaning
    translations: Mapping[str, tuple[Token, ...]]

    def tokens(self, language: str) -> tuple[Token, ...]:
        if language not in self.translations:
            raise DataError(f"phrasebook: {unknown_name('language', language, self.translations)}")
        return self.translations[language]

    def text(self, language: str) -> str:
        return detokenize((token.text for token in self.tokens(language)), language)

    def alignment(self, source: str, target: str) -> tuple[tuple[int, int], ...]:
        """Pairs (index in source, index in target) of the tokens that express the same node of the meaning."""
        return tuple(
            (left, right)
            for left, ours in enumerate(self.tokens(source))
            for right, theirs in enumerate(self.tokens(target))
            if ours.node is not None and ours.node == theirs.node
        )


def freeze(words: list[Word]) -> tuple[Token, ...]:
    """Words whose heads are words -> tokens whose heads are indices."""
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
    """Tokens -> running text with that language's spaces around punctuation and apostrophes."""
    line = ""
    for text in texts:
        line += text if not line else _space(line[-1], text, language) + text
    return line


def _space(before: str, text: str, language: str) -> str:
    if text == "?" and language == "fr":
        return " "
    return "" if text in CLOSING or before in OPENING or before == "'" else " "
