"""Tokenizers of sacreBLEU: which one separates the words of a language, and which are installed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from urllib.error import URLError

from sacrebleu.metrics import BLEU, TER

from polyglot.core.language_codes import (
    CHINESE_SCRIPTS,
    JAPANESE_SCRIPTS,
    SCRIPTS_WITHOUT_SPACES,
    has_spaces,
    parse_language,
)

TOKENIZERS = frozenset(BLEU.TOKENIZERS)

STANDARD = BLEU.TOKENIZER_DEFAULT
"""Tokenizer of sacreBLEU for languages with spaces: that of mteval-v13a, as WMT used."""

FALLBACK = "char"
"""Tokenizer in place of one that cannot be used; it needs no package and fits every script."""

SPACE_TOKENIZERS = frozenset({"13a", "intl", "none"})
"""Tokenizers that find words between spaces and punctuation."""

PACKAGES = {"ja-mecab": "polyglot-nmt[ja]", "ko-mecab": "polyglot-nmt[ko]"}
"""Package that each tokenizer needs."""


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Tokenizer that is used."""

    name: str
    wanted: str = ""
    """tokenizer that it stands for; empty if that is itself"""
    reason: str = ""
    """reason why the wanted tokenizer cannot be used"""


def default_tokenizer(target: str) -> str:
    """Tokenizer of sacreBLEU for the script of a language: `13a` if spaces separate its words."""
    code = parse_language(target)
    if code.script in CHINESE_SCRIPTS:
        return "zh"
    if code.script in JAPANESE_SCRIPTS and code.language == "ja":
        return "ja-mecab"
    if code.script == "Kore":
        return "ko-mecab"
    if code.script == "Ethi":
        return "intl"  # older text has the sign U+1361 between words
    if code.script in SCRIPTS_WITHOUT_SPACES:
        return "char"
    return STANDARD


def separates_words(tokenizer: str, target: str) -> bool:
    """True if a tokenizer finds words, or characters, of a language."""
    if has_spaces(target):
        return True
    if tokenizer in SPACE_TOKENIZERS:
        return False
    if tokenizer in ("zh", "ja-mecab", "ko-mecab"):
        return tokenizer == default_tokenizer(target)
    return True


@cache
def find_tokenizer(name: str) -> Tokenizer:
    """Return a tokenizer of sacreBLEU, or the fallback with the reason if it cannot be used."""
    try:
        BLEU(tokenize=name)
    # Each tokenizer reports a missing package, dictionary or download with another exception.
    # SystemExit: sacreBLEU ends the program if a download fails because of a certificate.
    except (RuntimeError, ImportError, OSError, AssertionError, SystemExit) as error:
        return Tokenizer(FALLBACK, wanted=name, reason=_reason(name, error))
    return Tokenizer(name)


def split_words(metric: TER, tokenizer: str) -> TER:
    """Split lines with a tokenizer of sacreBLEU before that of TER, which only knows spaces.

    `none` leaves the metric unchanged; otherwise the signature has both: `tok:char+tercom`.
    """
    if tokenizer != "none":
        metric.tokenizer = _TokenizerChain(BLEU(tokenize=tokenizer).tokenizer, metric.tokenizer)
        metric.tokenizer_signature = metric.tokenizer.signature()
    return metric


class _TokenizerChain:
    """Two tokenizers of sacreBLEU, applied one after the other."""

    def __init__(self, first: object, second: object) -> None:
        self._first = first
        self._second = second

    def __call__(self, line: str) -> str:
        return self._second(self._first(line))

    def signature(self) -> str:
        return f"{self._first.signature()}+{self._second.signature()}"


def _reason(name: str, error: BaseException) -> str:
    if isinstance(error, URLError):
        return f"sacreBLEU downloads its model at the first use, and that failed: {error.reason}"
    if name in PACKAGES:
        return f"not installed; pip install '{PACKAGES[name]}'"
    return " ".join(str(error).split()) or type(error).__name__
