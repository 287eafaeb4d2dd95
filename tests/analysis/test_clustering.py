"""Agreement of clusters with labels: numbers computed by hand."""

from __future__ import annotations

import math
from random import Random
from statistics import fmean

import pytest

from polyglot.analysis.clustering import entropy, purity, v_measure, v_measures_by_chance


def test_the_same_partition_with_other_names_has_1() -> None:
    assert v_measure([0, 0, 1, 2], "aabc") == pytest.approx(1)
    assert purity([0, 0, 1, 2], "aabc") == 1


def test_independent_clusters_have_0() -> None:
    assert v_measure([0, 1, 0, 1], "aabb") == pytest.approx(0)
    assert purity([0, 1, 0, 1], "aabb") == 0.5


def test_a_single_cluster_has_0_unless_there_is_a_single_label() -> None:
    assert v_measure([0] * 4, "aabb") == 0.0
    assert v_measure([0] * 4, "aaaa") == 1.0


def test_a_label_in_two_clusters() -> None:
    """Homogeneity is 1; completeness is ln 2 / 1.5 ln 2 = 2/3: V = 2 · 2/3 / (1 + 2/3)."""
    assert v_measure([0, 0, 1, 2], "aabb") == pytest.approx(0.8)


def test_two_labels_in_a_cluster() -> None:
    """Homogeneity is 1 − (3/4 · H(2/3, 1/3)) / ln 2, completeness the same over H(3/4, 1/4)."""
    conditional = 0.75 * -(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3))
    cluster_entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    information = math.log(2) - conditional
    homogeneity = information / math.log(2)
    completeness = information / cluster_entropy
    expected = 2 * homogeneity * completeness / (homogeneity + completeness)
    assert v_measure([0, 0, 0, 1], "aabb") == pytest.approx(expected)
    assert purity([0, 0, 0, 1], "aabb") == 0.75


def mean_by_chance(clusters: list[int], labels: str) -> float:
    return fmean(v_measures_by_chance(clusters, labels, draws=200, random=Random(1)))


def test_chance_is_far_from_0_with_few_items_per_cluster() -> None:
    """Two pairs can be permuted in three ways; one of them has 1, the others have 0."""
    assert mean_by_chance([0, 0, 1, 1], "aabb") == pytest.approx(1 / 3, abs=0.1)


def test_chance_is_near_0_with_many_items_per_cluster() -> None:
    assert mean_by_chance([0, 1] * 500, "ab" * 500) < 0.01
    assert mean_by_chance([0] * 4, "aabb") == 0


def test_entropy_of_counts() -> None:
    assert entropy([2, 2]) == pytest.approx(math.log(2))
    assert entropy([5, 0]) == pytest.approx(0)
    assert entropy([]) == 0
