"""The only file that calls private functions of sacreBLEU. Tested with sacreBLEU 2.6.0.

Without these functions, chrF is that of sacreBLEU, and significance can be tested only for systems
with a single run, through the public interface.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

import numpy
from numpy.typing import NDArray
from sacrebleu.metrics import CHRF, TER
from sacrebleu.metrics.base import Metric, Score
from sacrebleu.significance import PairedTest

from polyglot.core.errors import DataError
from polyglot.evaluation.resampling import bootstrap_sums, randomised_sums

DEFAULT_SEED = "12345"
"""Seed of sacreBLEU."""

MAX_SEED_DIGITS = 100
"""Longest value of SACREBLEU_SEED; Python refuses to convert very long numbers."""

METRIC_FUNCTIONS = (
    "_extract_corpus_statistics",
    "_aggregate_and_compute",
    "_compute_score_from_stats",
)
"""Functions of a metric that sacreBLEU's paired tests call."""


class ResamplingChrf(CHRF):
    """chrF whose bootstrap resamples can be averaged.

    sacreBLEU 2.6.0 returns a Python float for a resample without any match and a numpy number for
    all others, and cannot average the two. Here all resamples are numpy numbers.
    """

    def _compute_f_score(self, statistics: Sequence[int] | numpy.ndarray) -> float:
        score = super()._compute_f_score(statistics)
        # The statistics of a text are whole numbers, those of a resample are float32.
        if isinstance(statistics, numpy.ndarray) and statistics.dtype.kind == "f":
            return statistics.dtype.type(score)
        return score


class ResamplingTer(TER):
    """TER whose bootstrap resamples can be averaged.

    sacreBLEU 2.6.0 returns a Python float for a resample with empty references only and a numpy
    number for all others, and cannot average the two. Here all resamples are numpy numbers.
    """

    def _compute_score_from_stats(self, statistics: Sequence[float] | numpy.ndarray) -> Score:
        result = super()._compute_score_from_stats(statistics)
        if isinstance(statistics, numpy.ndarray) and statistics.dtype.kind == "f":
            result.score = statistics.dtype.type(result.score)
        return result


class MeanOverRuns:
    """Metric of a system with several runs: the mean of their scores.

    It has what sacreBLEU's paired tests call. A hypothesis is a tuple with the translation of one
    sentence by each run, so that resampling keeps the translations of a sentence together.
    """

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.get_signature = metric.get_signature

    def _extract_corpus_statistics(
        self,
        hypotheses: Sequence[tuple[str, ...]],
        references: Sequence[Sequence[str]],
    ) -> NDArray[Any]:
        """Statistics of all runs side by side (sentences, runs × statistics)."""
        statistics = []
        for lines in zip(*hypotheses):
            statistics.append(
                numpy.asarray(self.metric._extract_corpus_statistics(lines, references))
            )
        self._width = statistics[0].shape[1]
        return numpy.concatenate(statistics, axis=1)

    def _aggregate_and_compute(self, statistics: NDArray[Any]) -> Score:
        return self._compute_score_from_stats(statistics.sum(axis=0))

    def _compute_score_from_stats(self, statistics: NDArray[Any]) -> Score:
        """Mean score from statistics (runs × statistics) that are summed over sentences."""
        scores = []
        for run_statistics in statistics.reshape(-1, self._width):
            scores.append(self.metric._compute_score_from_stats(run_statistics))
        return Score(scores[0].name, mean(score.score for score in scores))


def corpus_score(
    metric: Metric,
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    resamples: int,
) -> Score:
    """Score a text; with more than one resample, the score has a confidence interval."""
    if resamples <= 1 or not _has_internals(metric):
        return metric.corpus_score(hypotheses, [references], n_bootstrap=max(1, resamples))

    statistics = metric._extract_corpus_statistics(hypotheses, [references])
    score = metric._aggregate_and_compute(statistics)
    table = numpy.asarray(statistics)
    resampled_scores = []
    for (sums,) in bootstrap_sums([table], samples=resamples, seed=_seed()):
        resampled_scores.append(metric._compute_score_from_stats(sums))
    score.estimate_ci(resampled_scores)
    return score


def paired_test(
    systems: Mapping[str, Sequence[Sequence[str]]],
    references: Sequence[str],
    *,
    metric: Metric,
    title: str,
    test: str,
    samples: int,
) -> tuple[list[float], str]:
    """Test each system against the first with one of sacreBLEU's paired tests.

    systems: translations by each run of each system. test: `bs` or `ar`. samples: 0 for the
    default.
    Returns the p-value of each system except the first, and the signature of the test.
    Raises DataError for several runs if this version of sacreBLEU lacks METRIC_FUNCTIONS.
    """
    samples = samples or PairedTest._DEFAULT_SAMPLES[test]
    if not _has_internals(metric):
        return _public_paired_test(
            systems, references, metric=metric, title=title, test=test, samples=samples
        )

    tested_metric = MeanOverRuns(metric)
    baseline, *compared = _system_statistics(systems, references, tested_metric)
    p_values = []
    for system in compared:
        p_value = _p_value(tested_metric, baseline, system, test, samples)
        p_values.append(p_value)

    signature = metric.get_signature()
    seed = str(_seed()).lower()
    signature.update("seed", seed)
    signature.update(test, samples)
    return p_values, f"{baseline.score.name}|{signature}"


@dataclass(frozen=True, slots=True)
class _SystemStatistics:
    """Statistics of the sentences of one system, and its score."""

    table: NDArray[Any]
    score: Score


def _system_statistics(
    systems: Mapping[str, Sequence[Sequence[str]]],
    references: Sequence[str],
    metric: MeanOverRuns,
) -> list[_SystemStatistics]:
    """Return the statistics of each system over all its runs."""
    statistics = []
    for runs in systems.values():
        sentences = list(zip(*runs, strict=True))
        table = metric._extract_corpus_statistics(sentences, [references])
        score = metric._aggregate_and_compute(table)
        statistics.append(_SystemStatistics(table, score))
    return statistics


def _p_value(
    metric: MeanOverRuns,
    baseline: _SystemStatistics,
    system: _SystemStatistics,
    test: str,
    samples: int,
) -> float:
    """Probability of the difference of two scores if the systems are equally good."""
    observed = abs(baseline.score.score - system.score.score)
    if observed == 0:
        # sacreBLEU returns the smallest p here: no difference of the resamples exceeds 0.
        return 1.0
    differences = _resampled_differences(metric, baseline, system, test, samples)
    larger_count = int(numpy.sum(differences > observed))
    return (larger_count + 1) / (samples + 1)


def _resampled_differences(
    metric: MeanOverRuns,
    baseline: _SystemStatistics,
    system: _SystemStatistics,
    test: str,
    samples: int,
) -> NDArray[Any]:
    """Difference of the scores in each resample; for the bootstrap, minus their mean."""
    seed = _seed() or None  # like the paired tests of sacreBLEU, for which 0 means no seed
    if test == "bs":
        tables = [baseline.table, system.table]
        all_sums = bootstrap_sums(tables, samples=samples, seed=seed)
    else:
        all_sums = randomised_sums(baseline.table, system.table, trials=samples, seed=seed)

    first_scores = []
    second_scores = []
    for first_sums, second_sums in all_sums:
        first = metric._compute_score_from_stats(first_sums)
        second = metric._compute_score_from_stats(second_sums)
        first_scores.append(first.score)
        second_scores.append(second.score)
    differences = numpy.abs(numpy.array(second_scores) - numpy.array(first_scores))
    if test == "bs":
        return differences - differences.mean()
    return differences


def _public_paired_test(
    systems: Mapping[str, Sequence[Sequence[str]]],
    references: Sequence[str],
    *,
    metric: Metric,
    title: str,
    test: str,
    samples: int,
) -> tuple[list[float], str]:
    """Test single runs through the public interface, which holds all resamples in memory."""
    if any(len(runs) > 1 for runs in systems.values()):
        raise DataError(
            "This version of sacreBLEU cannot test the mean of several runs. "
            "Install sacrebleu==2.6.0."
        )
    hypotheses = [(name, list(runs[0])) for name, runs in systems.items()]
    tested = PairedTest(hypotheses, {title: metric}, [references], test, n_samples=samples)
    signatures, results = tested()
    ((score_name, signature),) = signatures.items()
    baseline, *compared = results[score_name]
    p_values = []
    for result in compared:
        is_equal = result.score == baseline.score
        p_value = 1.0 if is_equal else float(result.p_value)
        p_values.append(p_value)
    return p_values, f"{score_name}|{signature}"


def _has_internals(metric: Metric) -> bool:
    """True if this version of sacreBLEU has all METRIC_FUNCTIONS."""
    return all(hasattr(metric, name) for name in METRIC_FUNCTIONS)


def _seed() -> int | None:
    """Seed of the resamples: SACREBLEU_SEED or the default; None for a random seed.

    Raises DataError for a value that cannot be a seed.
    """
    text = os.environ.get("SACREBLEU_SEED", DEFAULT_SEED)
    if text.lower() == "none":
        return None
    if not text.isdecimal() or len(text) > MAX_SEED_DIGITS:
        raise DataError(
            f"SACREBLEU_SEED: found {text[:40]!r}; expected a whole number of at most "
            f"{MAX_SEED_DIGITS} digits, or none"
        )
    return int(text)
