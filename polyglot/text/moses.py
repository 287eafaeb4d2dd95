"""Tokenizer of Moses, with a cache of words and the code of each language."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property

from polyglot.core.language_codes import find_code

CACHED_WORDS = 1 << 16
"""Words in a cache; some ten megabytes for each language."""

MOSES_LANGUAGES = frozenset(
    "as bn ca cs de el en es et fi fr ga gu hi hu is it ja kn ko lt lv ml mni mr nl or pa pl pt ro "
    "ru sk sl sv ta tdt te yue zh".split()
)
"""Languages with rules or abbreviations of their own in sacremoses."""


class WordCache(dict[str, str]):
    """Cache of a function of words, which is emptied when it is full."""

    def __init__(self, function: Callable[[str], str]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, word: str) -> str:
        if len(self) >= CACHED_WORDS:
            self.clear()
        result = self._function(word)
        self[word] = result
        return result


class MosesTokenizer:
    """Tokenizer of sacremoses without XML escapes; hyphens stay inside words."""

    # The tokenizer passes over a line some twenty times. Its result for a plain word does not
    # depend on the neighbours (except for a full stop, which depends on the next word). So lines
    # of plain words are assembled from cached words.
    _word = r"[^\W_]{1,40}(?:['-][^\W_]{1,40}){0,4}"
    _plain_words = re.compile(rf"(?:{_word}[,;:!?]? )*{_word}[.,;:!?]?")

    def __init__(self, language: str) -> None:
        self.code = find_code(language, MOSES_LANGUAGES) or language
        self._cache = WordCache(self._tokenize)

    @cached_property
    def _tokenizer(self):
        # The import takes 0.3 s, which a run without this step does not need.
        from sacremoses import MosesTokenizer as Tokenizer

        return Tokenizer(self.code)

    def tokenize(self, line: str) -> str:
        """Return the tokens of a line with single spaces between them."""
        if not self._plain_words.fullmatch(line):
            return self._tokenize(line)
        return " ".join(self._cache[word] for word in line.split(" "))

    def _tokenize(self, line: str) -> str:
        return self._tokenizer.tokenize(
            line, aggressive_dash_splits=False, return_str=True, escape=False
        )
