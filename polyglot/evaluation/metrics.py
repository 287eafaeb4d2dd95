"""Scores of sacreBLEU with their signatures (Post 2018) and bootstrap intervals (Koehn 2004)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.error import URLError

from sacrebleu.metrics import BLEU, TER
from sacrebleu.metrics.base import Metric

from polyglot.core.errors import ConfigError
from polyglot.evaluation.measures import CONDITIONS, Condition, Measure
from polyglot.evaluation.sacrebleu_internals import ResamplingChrf


def _bleu(*, lowercase: bool, tokenizer: str) -> Metric:
    # force: no warning about tokenised text, which is intended here
    return BLEU(lowercase=lowercase, tokenize=tokenizer, force=True)


def _chrf(*, lowercase: bool, tokenizer: str) -> Metric:
    return ResamplingChrf(lowercase=lowercase)  # characters need no tokenizer


def _chrf_with_words(*, lowercase: bool, tokenizer: str) -> Metric:
    return ResamplingChrf(lowercase=lowercase, word_order=2)


def _ter(*, lowercase: bool, tokenizer: str) -> Metric:
    return TER(case_sensitive=not lowercase)  # the default of sacreBLEU ignores capitals


METRICS: dict[str, Callable[..., Metric]] = {
    "bleu": _bleu,
    "chrf": _chrf,
    "chrf++": _chrf_with_words,
    "ter": _ter,
}
"""Metrics by name, with the same settings as on the `sacrebleu` command line."""

TOKENIZERS = frozenset(BLEU.TOKENIZERS)

TOKENIZER_LANGUAGES = {
    "zh": ("zh", "zho", "cmn", "yue"),
    "ja-mecab": ("ja", "jpn"),
    "ko-mecab": ("ko", "kor"),
    "char": ("th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bo", "bod"),
}
"""Tokenizers of sacreBLEU for languages written without spaces between words.

sacreBLEU itself chooses the first three.
"""


@dataclass(frozen=True, slots=True)
class Score:
    """A score with the signature that says how it was computed."""

    value: float
    signature: str
    mean: float | None = None
    """mean of the bootstrap resamples; None without resamples"""
    interval: float | None = None
    """half of the width of the 95 % confidence interval around that mean (Koehn 2004)"""


class Scorer:
    """Computes one measure for one target language."""

    def __init__(self, measure: Measure, *, target: str, tokenizer: str | None = None) -> None:
        """tokenizer: of BLEU; the default depends on condition and target language.

        Raises ConfigError if the tokenizer is not installed.
        """
        condition = CONDITIONS[measure.condition]
        if tokenizer is None:
            tokenizer = _choose_tokenizer(condition, target)
        self.measure = measure
        self.prepare = condition.preparation(target)
        try:
            self.metric = METRICS[measure.metric](
                lowercase=condition.lowercase, tokenizer=tokenizer
            )
        # Each tokenizer reports a missing package or download with a different exception.
        except (RuntimeError, ImportError, OSError) as error:
            raise ConfigError(
                f"{measure.metric} into {target}: the tokenizer {tokenizer!r} cannot be used: "
                f"{_reason(error)}; or set another, such as tokenizer: char"
            ) from None

    def score(
        self, hypotheses: Sequence[str], references: Sequence[str], *, resamples: int = 0
    ) -> Score:
        """Score a text with one reference per sentence.

        Both texts are unprocessed; the steps of the condition are applied here.
        resamples: bootstrap resamples for the confidence interval; none if 0 or 1.
        """
        assert len(hypotheses) == len(references) > 0, (len(hypotheses), len(references))
        prepared_hypotheses = self.prepare(hypotheses)
        prepared_references = self.prepare(references)
        result = self.metric.corpus_score(
            prepared_hypotheses, [prepared_references], n_bootstrap=max(1, resamples)
        )
        # The signature describes the score, with or without an interval.
        self.metric.n_bootstrap = None
        self.metric.seed = None
        signature = str(self.metric.get_signature())
        if resamples <= 1:
            return Score(result.score, signature)
        mean, interval = _mean_and_interval(result)
        return Score(result.score, signature, mean, interval)


def _mean_and_interval(result: Any) -> tuple[float, float]:
    """Mean of the resamples and half of the interval width, from a score of sacreBLEU."""
    # 30 decimals are more than a float has; the JSON needs some signature.
    values = json.loads(result.format(width=30, is_json=True, signature="nrefs:1"))
    # Both are missing if the mean is 0; then all resamples are 0.
    return values.get("confidence_mean", 0.0), values.get("confidence_var", 0.0)


def _choose_tokenizer(condition: Condition, target: str) -> str:
    """Tokenizer of the condition, or that of a target language written without spaces."""
    if condition.tokenizer is not None and has_spaces(target):
        return condition.tokenizer
    return default_tokenizer(target)


def _reason(error: Exception) -> str:
    if isinstance(error, URLError):
        return f"sacreBLEU downloads its model at the first use, and that failed: {error.reason}"
    return " ".join(str(error).split()) or type(error).__name__


def default_tokenizer(target: str) -> str:
    """Tokenizer of sacreBLEU for a language: `13a` if there are spaces between words."""
    code = target.split("_")[0].lower()
    for tokenizer, codes in TOKENIZER_LANGUAGES.items():
        if code in codes:
            return tokenizer
    return BLEU.TOKENIZER_DEFAULT


def has_spaces(target: str) -> bool:
    """True for a language with spaces between words."""
    return default_tokenizer(target) == BLEU.TOKENIZER_DEFAULT
