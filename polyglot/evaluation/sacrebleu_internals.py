"""The only file that calls private functions of sacreBLEU. Tested with sacreBLEU 2.6.0.

Without these functions, chrF is that of sacreBLEU, and significance can be tested only for systems
with a single run, through the public interface.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

import numpy
from numpy.typing import NDArray
from sacrebleu.metrics import CHRF, TER
from sacrebleu.metrics.base import Metric, Score
from sacrebleu.significance import PairedTest

from polyglot.core.errors import DataError

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
    has_internals = all(hasattr(metric, name) for name in METRIC_FUNCTIONS)
    has_single_runs = all(len(runs) == 1 for runs in systems.values())
    if has_internals:
        tested_metric = MeanOverRuns(metric)
        hypotheses = [(name, list(zip(*runs, strict=True))) for name, runs in systems.items()]
    elif has_single_runs:
        tested_metric = metric
        hypotheses = [(name, list(runs[0])) for name, runs in systems.items()]
    else:
        raise DataError(
            "This version of sacreBLEU cannot test the mean of several runs. "
            "Install sacrebleu==2.6.0."
        )

    signatures, results = PairedTest(
        hypotheses, {title: tested_metric}, [references], test, n_samples=samples
    )()
    ((score_name, signature),) = signatures.items()
    baseline, *compared = results[score_name]

    p_values = []
    for result in compared:
        # For a score equal to that of the baseline, sacreBLEU returns the smallest p of all, since
        # no difference of the resamples exceeds 0.
        is_equal = result.score == baseline.score
        p_values.append(1.0 if is_equal else float(result.p_value))
    return p_values, f"{score_name}|{signature}"
