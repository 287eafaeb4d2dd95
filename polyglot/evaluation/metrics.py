"""Scores of sacreBLEU with their signatures (Post 2018) and bootstrap intervals (Koehn 2004)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sacrebleu.metrics import BLEU
from sacrebleu.metrics.base import Metric

from polyglot.core.errors import abbreviate
from polyglot.core.language_codes import has_spaces
from polyglot.evaluation.measures import CONDITIONS, Condition, Measure
from polyglot.evaluation.sacrebleu_internals import (
    ResamplingChrf,
    ResamplingTer,
    corpus_score,
)
from polyglot.evaluation.tokenizers import (
    Tokenizer,
    default_tokenizer,
    find_tokenizer,
    split_words,
)


def _bleu(*, lowercase: bool, tokenizer: str) -> Metric:
    # force: no warning about tokenised text, which is intended here
    return BLEU(lowercase=lowercase, tokenize=tokenizer, force=True)


def _chrf(*, lowercase: bool, tokenizer: str) -> Metric:
    return ResamplingChrf(lowercase=lowercase)  # characters need no tokenizer


def _chrf_with_words(*, lowercase: bool, tokenizer: str) -> Metric:
    return ResamplingChrf(lowercase=lowercase, word_order=2)


def _ter(*, lowercase: bool, tokenizer: str) -> Metric:
    metric = ResamplingTer(
        case_sensitive=not lowercase
    )  # the default of sacreBLEU ignores capitals
    return split_words(metric, tokenizer)


METRICS: dict[str, Callable[..., Metric]] = {
    "bleu": _bleu,
    "chrf": _chrf,
    "chrf++": _chrf_with_words,
    "ter": _ter,
}
"""Metrics by name, with the same settings as on the `sacrebleu` command line."""

USES_TOKENIZER = {"bleu"}
"""Metrics that count the words of a tokenizer; TER does so in languages without spaces."""


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
        """tokenizer: of BLEU, and of TER without spaces; the default depends on the target.

        If it cannot be used here, `tokenizer` of the scorer says so and names the fallback.
        """
        condition = CONDITIONS[measure.condition]
        if tokenizer is None:
            tokenizer = _choose_tokenizer(condition, target)
        self.measure = measure
        self.target = target
        self.prepare = condition.preparation(target)
        self.tokenizer = _tokenizer_of_metric(measure.metric, tokenizer, target)
        self.metric = METRICS[measure.metric](
            lowercase=condition.lowercase, tokenizer=self.tokenizer.name
        )

    def score(
        self,
        hypotheses: Sequence[str],
        references: Sequence[str],
        *,
        resamples: int = 0,
    ) -> Score:
        """Score a text with one reference per sentence.

        Both texts are unprocessed; the steps of the condition are applied here.
        resamples: bootstrap resamples for the confidence interval; none if 0 or 1.
        """
        assert len(hypotheses) == len(references) > 0, (len(hypotheses), len(references))
        prepared_hypotheses = self.prepare(hypotheses)
        prepared_references = self.prepare(references)
        result = corpus_score(
            self.metric, prepared_hypotheses, prepared_references, resamples=resamples
        )
        # The signature describes the score, with or without an interval.
        self.metric.n_bootstrap = None
        self.metric.seed = None
        signature = str(self.metric.get_signature())
        if resamples <= 1:
            return Score(result.score, signature)
        mean, interval = _mean_and_interval(result)
        return Score(result.score, signature, mean, interval)


def fallback_messages(scorers: Iterable[Scorer]) -> list[str]:
    """Return one line for each tokenizer that another one stands for."""
    targets: dict[Tokenizer, dict[str, None]] = {}
    for scorer in scorers:
        if scorer.tokenizer.reason:
            targets.setdefault(scorer.tokenizer, {})[scorer.target] = None
    messages = []
    for tokenizer, languages in targets.items():
        messages.append(
            f"scores into {abbreviate(languages)} use the tokenizer {tokenizer.name!r} in place of "
            f"{tokenizer.wanted!r}: {tokenizer.reason}"
        )
    return messages


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


def _tokenizer_of_metric(metric: str, tokenizer: str, target: str) -> Tokenizer:
    """Tokenizer that a metric uses; `none` for a metric that has its own."""
    if metric in USES_TOKENIZER:
        return find_tokenizer(tokenizer)
    if metric == "ter" and not has_spaces(target):
        return find_tokenizer(tokenizer)
    return Tokenizer("none")
