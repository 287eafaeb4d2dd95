"""Resamples one after another: the random numbers of all at once, in little memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable

import numpy
import pytest

from polyglot.core.errors import DataError
from polyglot.evaluation.measures import Measure
from polyglot.evaluation.metrics import Scorer
from polyglot.evaluation.resampling import bootstrap_sums, randomised_sums

TABLE = numpy.random.default_rng(1).integers(0, 40, size=(37, 10))
OTHER = numpy.random.default_rng(2).integers(0, 40, size=(37, 10))


def peak_memory(resamples: Iterable[object]) -> int:
    """Largest number of bytes that are allocated while the resamples are drawn."""
    tracemalloc.start()
    for _ in resamples:
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def test_the_bootstrap_draws_the_same_sentences_as_all_resamples_at_once() -> None:
    rows = numpy.random.default_rng(5).choice(37, size=(50, 37), replace=True)
    expected = TABLE.astype("float32")[rows].sum(axis=1)
    sums = [first for first, _ in bootstrap_sums([TABLE, OTHER], samples=50, seed=5)]
    assert numpy.array_equal(numpy.array(sums), expected)


@pytest.mark.parametrize("trials", [1, 31, 32, 33, 100])
def test_the_randomisation_swaps_the_same_sentences_as_all_trials_at_once(trials: int) -> None:
    is_first = numpy.random.default_rng(5).integers(2, size=(trials, 37), dtype=bool)
    expected = is_first @ TABLE + ~is_first @ OTHER
    sums = [first for first, _ in randomised_sums(TABLE, OTHER, trials=trials, seed=5)]
    assert numpy.array_equal(numpy.array(sums), expected)
    assert sums[0].dtype == TABLE.dtype


def test_memory_does_not_grow_with_the_number_of_resamples() -> None:
    table = numpy.ones((10_000, 10), dtype=numpy.int64)
    few = peak_memory(bootstrap_sums([table], samples=3, seed=1))
    many = peak_memory(bootstrap_sums([table], samples=30, seed=1))
    assert many < 1.1 * few < 5 * table.nbytes
    few = peak_memory(randomised_sums(table, table, trials=32, seed=1))
    many = peak_memory(randomised_sums(table, table, trials=96, seed=1))
    assert many < 1.1 * few < 10 * table.nbytes


@pytest.mark.parametrize("seed", ["", "one", "-1", "9" * 101])
def test_a_wrong_seed_in_the_environment_is_an_error(
    seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", seed)
    with pytest.raises(DataError, match="SACREBLEU_SEED: found .* expected a whole number"):
        Scorer(Measure("bleu"), target="en").score(["a b"], ["a b"], resamples=5)
