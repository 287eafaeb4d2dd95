"""Steps before the vocabulary, one language each, undone on output where they can be."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Literal

from polyglot.core.registry import ComponentConfig, Registry
from polyglot.text.symbols import Symbolized, Symbolizer, desymbolize


class Step:
    """One change of a line of text; nothing to undo unless a step says otherwise."""

    class Config(ComponentConfig):
        pass

    def __init__(self, config: Step.Config, *, language: str) -> None:
        self.config = config
        self.language = language

    def apply(self, line: str) -> str:
        raise NotImplementedError

    def undo(self, line: str) -> str:
        return line


KNOWN_WORDS = 1 << 16  # some ten megabytes of each language

STEPS: Registry[Step] = Registry("text step")


@STEPS.register("unicode")
class UnicodeStep(Step):
    """One way to write each character, whatever bytes the file has for it (Unicode Standard Annex 15)."""

    class Config(Step.Config):
        form: Literal["NFC", "NFD", "NFKC", "NFKD"] = "NFC"
        """NFC keeps every character apart that looks different; NFKC also merges full-width letters, ligatures and fractions."""

    def apply(self, line: str) -> str:
        return unicodedata.normalize(self.config.form, line)


@STEPS.register("lowercase")
class LowercaseStep(Step):
    """Small letters only; what was a capital is lost."""

    def apply(self, line: str) -> str:
        return line.lower()


@STEPS.register("punctuation")
class PunctuationStep(Step):
    """Quotation marks, dashes and spaces as the Moses script `normalize-punctuation.perl` writes them; cannot be undone."""

    _notable = re.compile(
        r"[^\w ,.?!'-]|  |''"
    )  # a line without any of these stays as it is, and most lines have none

    @cached_property
    def _normalizer(self):
        from sacremoses import (
            MosesPunctNormalizer,  # 0.3 s that a run without this step does not wait for
        )

        return MosesPunctNormalizer(self.language)

    def apply(self, line: str) -> str:
        return self._normalizer.normalize(line) if self._notable.search(line) else line.strip()


class KnownWords(dict[str, str]):
    """What is made of words, each once while there is room."""

    def __init__(self, make: Callable[[str], str]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, word: str) -> str:
        if len(self) >= KNOWN_WORDS:
            self.clear()
        made = self[word] = self._make(word)
        return made


@STEPS.register("tokenize")
class TokenizeStep(Step):
    """Words and punctuation apart, as the Moses tokenizer does it (no XML escapes, hyphens left alone); undone by its detokenizer."""

    # The tokenizer passes over a line some twenty times. What it makes of a plain word does not depend on the words beside it (but a full
    # stop depends on the next word), so that lines of nothing else are put together from words that are known.
    _words = re.compile(
        r"(?:{word}[,;:!?]? )*{word}[.,;:!?]?".format(word=r"[^\W_]{1,40}(?:['-][^\W_]{1,40}){0,4}")
    )

    def __init__(self, config: Step.Config, *, language: str) -> None:
        super().__init__(config, language=language)
        self._known = KnownWords(self._apart)

    @cached_property
    def _tokenizer(self):
        from sacremoses import MosesTokenizer

        return MosesTokenizer(self.language)

    @cached_property
    def _detokenizer(self):
        from sacremoses import MosesDetokenizer

        return MosesDetokenizer(self.language)

    def apply(self, line: str) -> str:
        return (
            " ".join(map(self._known.__getitem__, line.split(" ")))
            if self._words.fullmatch(line)
            else self._apart(line)
        )

    def _apart(self, line: str) -> str:
        return self._tokenizer.tokenize(
            line, aggressive_dash_splits=False, return_str=True, escape=False
        )

    def undo(self, line: str) -> str:
        return self._detokenizer.detokenize(line.split(), return_str=True, unescape=False)


class Normaliser:
    """All steps of one language: applied in order before the vocabulary, undone in reverse after it; symbols come last."""

    def __init__(
        self, steps: Sequence[ComponentConfig], language: str, *, symbols: Symbolizer | None = None
    ) -> None:
        self.language, self.symbols = language, symbols
        self._configs = tuple(steps)
        self._steps = [STEPS.build(config, language=language) for config in steps]

    def apply(self, line: str) -> str:
        """A line that has no translation beside it, with symbols where the run has some."""
        return self.source(line).text

    def source(self, line: str, target: str | None = None) -> Symbolized:
        """A line to be translated, and what its symbols stand for in the target language, or by default in its own."""
        line = self._stepped(line)
        return (
            self.symbols.line(line, self.language, target) if self.symbols else Symbolized(line, {})
        )

    def pair(self, line: str, target: Normaliser, target_line: str) -> tuple[str, str]:
        """A line and its translation, with symbols where they match."""
        line, target_line = self._stepped(line), target._stepped(target_line)
        if not self.symbols:
            return line, target_line
        own, other = self.symbols.pair(line, target_line, self.language, target.language)
        return own.text, other.text

    def _stepped(self, line: str) -> str:
        for step in self._steps:
            line = step.apply(line)
        return line

    def undo(self, line: str, rules: Mapping[str, str] = {}) -> str:
        """rules: what the symbols of the line stand for"""
        if self.symbols:
            line = desymbolize(line, rules)
        for step in reversed(self._steps):
            line = step.undo(line)
        return line

    @property
    def fingerprint(self) -> str:
        """The same for the same settings and language, on every machine; empty when there are no steps and no symbols."""
        if not self._configs and not self.symbols:
            return ""
        settings = "\n".join(config.model_dump_json() for config in self._configs)
        settings += self.symbols.fingerprint if self.symbols else ""
        return hashlib.sha256(f"{self.language}\n{settings}".encode()).hexdigest()
