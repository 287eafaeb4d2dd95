"""Estimate, without training, which vocabulary sizes SentencePiece may refuse for a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from polyglot.tasks.batch import SPECIAL_TOKENS
from polyglot.text.vocabulary import VocabularyConfig

BYTES = 256
"""Pieces of the byte fallback."""
LONGEST_PIECE = 16
"""Characters; the limit of SentencePiece."""
CHARACTERS_PER_PIECE = 60
"""A text that is shorter than this is doubtful; its training takes a second.

The declaration of human rights has 4 to 50 characters for each piece that training finds.
"""
CANDIDATES_PER_PIECE = {"unigram": 10, "bpe": 16}
"""Parts of words for each piece that training finds; for long texts with few different words.

The declaration of human rights has 2 to 10 and 2 to 13 of them in languages with spaces.
"""
SPACE = "▁"
END = "\0"
"""Stands for the character after the end of a word."""


def is_doubtful_size(
    texts: Sequence[str],
    config: VocabularyConfig,
    *,
    unsplit_pieces: Sequence[str] = (),
) -> bool:
    """True if the text may have too few or too many pieces for the size: training will tell."""
    if config.type not in ("unigram", "bpe"):
        return False
    words = _distinct_words(texts)
    characters = {character for word in words for character in word}
    required = len(SPECIAL_TOKENS) + len(characters) + len(unsplit_pieces)
    if config.byte_fallback:
        required += BYTES
    if required > config.size:
        return True
    if config.limit == "soft":
        return False

    missing = config.size - required
    if sum(map(len, texts)) < CHARACTERS_PER_PIECE * missing:
        return True
    candidates = _repeated_substrings(words)
    if config.type == "bpe":
        candidates = _substrings(words)
    needed = CANDIDATES_PER_PIECE[config.type] * missing
    return not _has_different(candidates, needed)


def _distinct_words(texts: Iterable[str]) -> dict[str, None]:
    """Return the words in order, each once, with the space before it."""
    words: dict[str, None] = {}
    for text in texts:
        for word in text.split(" "):
            if word:
                words[f"{SPACE}{word}"] = None
    return words


def _substrings(words: Iterable[str]) -> Iterator[str]:
    """Yield all parts of words with at least two characters: BPE can merge no others."""
    for word in words:
        for start, end in _spans(word):
            yield word[start:end]


def _repeated_substrings(words: Iterable[str]) -> Iterator[str]:
    """Yield the parts of words that different characters follow.

    The unigram model begins with these (the inner nodes of a suffix tree), and removes some.
    """
    following: dict[str, str] = {}
    for word in words:
        text = f"{word}{END}"
        for start, end in _spans(word):
            part = text[start:end]
            next_character = text[end]
            if following.setdefault(part, next_character) != next_character:
                yield part


def _spans(word: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each possible piece with at least two characters."""
    for start in range(len(word) - 1):
        longest = min(len(word), start + LONGEST_PIECE)
        for end in range(start + 2, longest + 1):
            yield start, end


def _has_different(items: Iterable[str], count: int) -> bool:
    """True if there are at least this many different items; stops as soon as there are."""
    if count <= 0:
        return True
    different = set()
    for item in items:
        different.add(item)
        if len(different) >= count:
            return True
    return False
