"""Preprocessing steps of one language before the vocabulary, with their inverse if it exists."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Literal

from polyglot.core.registry import ComponentConfig, Registry
from polyglot.text.symbols import Symbolized, Symbolizer, desymbolize

CACHED_WORDS = 1 << 16
"""Words in a cache; some ten megabytes for each language."""


class Step:
    """Change of a line of text. `undo` returns the line unchanged unless a step overrides it."""

    class Config(ComponentConfig):
        pass

    def __init__(self, config: Step.Config, *, language: str) -> None:
        self.config = config
        self.language = language

    def apply(self, line: str) -> str:
        raise NotImplementedError

    def undo(self, line: str) -> str:
        return line


STEPS: Registry[Step] = Registry("text step")


@STEPS.register("unicode")
class UnicodeStep(Step):
    """Unicode normalisation: one code for each character (Unicode Standard Annex 15)."""

    class Config(Step.Config):
        form: Literal["NFC", "NFD", "NFKC", "NFKD"] = "NFC"
        """`NFKC` also merges full-width letters, ligatures and fractions; `NFC` does not."""

    def apply(self, line: str) -> str:
        return unicodedata.normalize(self.config.form, line)


@STEPS.register("lowercase")
class LowercaseStep(Step):
    """Lower-case letters; the case is lost."""

    def apply(self, line: str) -> str:
        return line.lower()


@STEPS.register("punctuation")
class PunctuationStep(Step):
    """Moses script `normalize-punctuation.perl`: quotation marks, dashes, spaces; no inverse."""

    # Most lines contain none of these, and the normalizer would not change them.
    _can_change = re.compile(r"[^\w ,.?!'-]|  |''")

    @cached_property
    def _normalizer(self):
        # The import takes 0.3 s, which a run without this step does not need.
        from sacremoses import MosesPunctNormalizer

        return MosesPunctNormalizer(self.language)

    def apply(self, line: str) -> str:
        if not self._can_change.search(line):
            return line.strip()
        return self._normalizer.normalize(line)


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


@STEPS.register("tokenize")
class TokenizeStep(Step):
    """Moses tokenizer (no XML escapes, hyphens unchanged); the inverse is its detokenizer."""

    # The tokenizer passes over a line some twenty times. Its result for a plain word does not
    # depend on the neighbours (except for a full stop, which depends on the next word). So lines
    # of plain words are assembled from cached words.
    _word = r"[^\W_]{1,40}(?:['-][^\W_]{1,40}){0,4}"
    _plain_words = re.compile(rf"(?:{_word}[,;:!?]? )*{_word}[.,;:!?]?")

    def __init__(self, config: Step.Config, *, language: str) -> None:
        super().__init__(config, language=language)
        self._cache = WordCache(self._tokenize)

    @cached_property
    def _tokenizer(self):
        from sacremoses import MosesTokenizer

        return MosesTokenizer(self.language)

    @cached_property
    def _detokenizer(self):
        from sacremoses import MosesDetokenizer

        return MosesDetokenizer(self.language)

    def apply(self, line: str) -> str:
        if not self._plain_words.fullmatch(line):
            return self._tokenize(line)
        return " ".join(self._cache[word] for word in line.split(" "))

    def _tokenize(self, line: str) -> str:
        return self._tokenizer.tokenize(
            line, aggressive_dash_splits=False, return_str=True, escape=False
        )

    def undo(self, line: str) -> str:
        return self._detokenizer.detokenize(line.split(), return_str=True, unescape=False)


class Normaliser:
    """All steps of one language, and then symbols; `undo` reverses them in reverse order."""

    def __init__(
        self, steps: Sequence[ComponentConfig], language: str, *, symbols: Symbolizer | None = None
    ) -> None:
        self.language = language
        self.symbols = symbols
        self._configs = tuple(steps)
        self._steps = [STEPS.build(config, language=language) for config in steps]

    def apply(self, line: str) -> str:
        """Preprocess a line without its translation, with symbols if the run has them."""
        return self.source(line).text

    def source(self, line: str, target: str | None = None) -> Symbolized:
        """Preprocess a source line; rules of symbols are for the target language."""
        line = self._apply_steps(line)
        if not self.symbols:
            return Symbolized(line, {})
        return self.symbols.line(line, self.language, target)

    def pair(self, line: str, target: Normaliser, target_line: str) -> tuple[str, str]:
        """Preprocess a line and its translation, with symbols where they match."""
        line = self._apply_steps(line)
        target_line = target._apply_steps(target_line)
        if not self.symbols:
            return line, target_line
        symbolized = self.symbols.pair(line, target_line, self.language, target.language)
        source_side, target_side = symbolized
        return source_side.text, target_side.text

    def _apply_steps(self, line: str) -> str:
        for step in self._steps:
            line = step.apply(line)
        return line

    def undo(self, line: str, rules: Mapping[str, str] = {}) -> str:
        """Reverse symbols and steps. rules: text for each symbol of the line."""
        if self.symbols:
            line = desymbolize(line, rules)
        for step in reversed(self._steps):
            line = step.undo(line)
        return line

    @property
    def fingerprint(self) -> str:
        """Hash of settings and language, equal on all machines; empty without steps and symbols."""
        if not self._configs and not self.symbols:
            return ""
        settings = "\n".join(config.model_dump_json() for config in self._configs)
        settings += self.symbols.fingerprint if self.symbols else ""
        return hashlib.sha256(f"{self.language}\n{settings}".encode()).hexdigest()
