"""Clusters beside labels: numbers worked out by hand."""

from __future__ import annotations

import math
from random import Random
from statistics import fmean

import pytest

from polyglot.analysis.clustering import entropy, purity, v_measure, v_measures_by_chance


def test_the_same_under_other_names_is_1():
    assert v_measure([0, 0, 1, 2], "aabc") == pytest.approx(1) and purity([0, 0, 1, 2], "aabc") == 1


def test_what_knows_nothing_is_0():
    assert (
        v_measure([0, 1, 0, 1], "aabb") == pytest.approx(0) and purity([0, 1, 0, 1], "aabb") == 0.5
    )


def test_one_cluster_is_complete_and_says_nothing():
    assert v_measure([0] * 4, "aabb") == 0.0 and v_measure([0] * 4, "aaaa") == 1.0


def test_a_label_in_two_clusters():
    """Homogeneous; completeness is ln 2 of the clusters' 1.5 ln 2: V = 2 · 2/3 / (1 + 2/3)."""
    assert v_measure([0, 0, 1, 2], "aabb") == pytest.approx(0.8)


def test_chance_is_far_from_0_where_there_are_few_of_each_and_near_it_where_there_are_many():
    """Two pairs can be dealt out in three ways; one of them is right, the others know nothing."""

    def mean(clusters: list[int], labels: str) -> float:
        return fmean(v_measures_by_chance(clusters, labels, draws=200, random=Random(1)))

    assert mean([0, 0, 1, 1], "aabb") == pytest.approx(1 / 3, abs=0.1)
    assert mean([0, 1] * 500, "ab" * 500) < 0.01 and mean([0] * 4, "aabb") == 0


def test_entropy_of_counts():
    assert (
        entropy([2, 2]) == pytest.approx(math.log(2))
        and entropy([5, 0]) == pytest.approx(0)
        and entropy([]) == 0
    )
