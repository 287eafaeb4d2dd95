"""Preprocessing steps of one language before the vocabulary, with their inverse if it exists."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal

from polyglot.core.language_codes import find_code
from polyglot.core.registry import ComponentConfig, Registry
from polyglot.text.moses import MosesTokenizer
from polyglot.text.reversible_tokenizer import ReversibleTokenizer
from polyglot.text.spacing import SpacePredictor
from polyglot.text.symbols import Symbolized, Symbolizer, desymbolize


class Step:
    """Change of a line of text. `undo` returns the line unchanged unless a step overrides it."""

    class Config(ComponentConfig):
        pass

    version = ""
    """Name of the behaviour, if it changed while the settings stayed the same; part of hashes."""

    def __init__(self, config: Step.Config, *, language: str) -> None:
        self.config = config
        self.language = language

    @property
    def fingerprint(self) -> str:
        """Settings as JSON; steps with equal fingerprints do the same."""
        return self.config.model_dump_json()

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


PUNCTUATION_LANGUAGES = frozenset({"cs", "de", "en", "es", "fr"})
"""Languages with rules of their own in the Moses script."""


@STEPS.register("punctuation")
class PunctuationStep(Step):
    """Moses script `normalize-punctuation.perl`: quotation marks, dashes, spaces; no inverse."""

    # Most lines contain none of these, and the normalizer would not change them.
    _can_change = re.compile(r"[^\w ,.?!'-]|  |''")

    @cached_property
    def _normalizer(self):
        # The import takes 0.3 s, which a run without this step does not need.
        from sacremoses import MosesPunctNormalizer

        code = find_code(self.language, PUNCTUATION_LANGUAGES) or self.language
        return MosesPunctNormalizer(code)

    def apply(self, line: str) -> str:
        if not self._can_change.search(line):
            return line.strip()
        return self._normalizer.normalize(line)


@STEPS.register("moses")
class MosesStep(Step):
    """Moses tokenizer (no XML escapes, hyphens unchanged); the inverse guesses the spaces."""

    def __init__(self, config: Step.Config, *, language: str) -> None:
        super().__init__(config, language=language)
        self._tokenizer = MosesTokenizer(language)
        self._spaces = SpacePredictor(self._tokenizer.code)

    @property
    def fingerprint(self) -> str:
        # The name of this step in older versions, whose checkpoints store the fingerprint.
        return TokenizeStep.Config(type="tokenize").model_dump_json()

    def apply(self, line: str) -> str:
        return self._tokenizer.tokenize(line)

    def undo(self, line: str) -> str:
        return self._spaces.join(line.split())


@STEPS.register("tokenize_reversibly")
class ReversibleStep(Step):
    """Moses tokenizer with marks where spaces are unusual; the inverse restores every text.

    A word of a script that Moses does not know is not cut.
    """

    def __init__(self, config: Step.Config, *, language: str) -> None:
        super().__init__(config, language=language)
        tokenizer = MosesTokenizer(language)
        self._reversible = ReversibleTokenizer(tokenizer.tokenize, tokenizer.code)

    def apply(self, line: str) -> str:
        return self._reversible.tokenize(line)

    def undo(self, line: str) -> str:
        return self._reversible.detokenize(line)


PAPER_LANGUAGES = frozenset({"cs", "de", "en", "fr"})
"""Languages of the papers; their tokens are those of Moses, without marks."""


@STEPS.register("tokenize")
class TokenizeStep(Step):
    """`moses` for Czech, English, French and German; `tokenize_reversibly` for all others.

    The papers used Moses for these four languages. Two texts with different spaces can have the
    same tokens there, so that no inverse is exact.
    """

    def __init__(self, config: Step.Config, *, language: str) -> None:
        super().__init__(config, language=language)
        is_paper_language = find_code(language, PAPER_LANGUAGES) is not None
        step = MosesStep if is_paper_language else ReversibleStep
        self._step = step(config, language=language)
        self.version = "" if is_paper_language else "reversible"

    def apply(self, line: str) -> str:
        return self._step.apply(line)

    def undo(self, line: str) -> str:
        return self._step.undo(line)


class Normaliser:
    """All steps of one language, and then symbols; `undo` reverses them in reverse order."""

    def __init__(
        self,
        steps: Sequence[ComponentConfig],
        language: str,
        *,
        symbols: Symbolizer | None = None,
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

    def apply_to_pair(self, line: str, target: Normaliser, target_line: str) -> tuple[str, str]:
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
        if not self._steps and not self.symbols:
            return ""
        settings = "\n".join(step.fingerprint for step in self._steps)
        settings += "".join(step.version for step in self._steps)
        settings += self.symbols.fingerprint if self.symbols else ""
        return hashlib.sha256(f"{self.language}\n{settings}".encode()).hexdigest()
