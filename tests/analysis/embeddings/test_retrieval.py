"""Retrieval by hand."""

from __future__ import annotations

import numpy
import pytest

from polyglot.analysis.embeddings.retrieval import retrieval

TEXTS = ["one", "two", "three", "four"]
NEAR = numpy.array([[1, 0.2, 0, 0], [0, 1, 0.2, 0], [0, 0, 1, 0.2], [0.2, 0, 0, 1]])


def values(*given, **settings):
    return {name: score.value for name, score in retrieval(*given, **settings).items()}


def test_everything_found():
    assert values(NEAR, numpy.eye(4), TEXTS) == {"p@1": 100, "mrr": 100, "xsim": 0}


def test_ranks_by_hand():
    """Sources 0 and 1 find each other's translation first, 2 and 3 their own: ranks 2, 2, 1, 1."""
    swapped = numpy.array([[0.5, 1, 0, 0], [1, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    assert values(swapped, numpy.eye(4), TEXTS) == {"p@1": 50, "mrr": 75, "xsim": 50}


def test_the_same_words_elsewhere_are_right_too():
    swapped = numpy.array([[0.5, 1, 0, 0], [1, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    assert values(swapped, numpy.eye(4), ["one", "one", "three", "four"]) == {
        "p@1": 100,
        "mrr": 100,
        "xsim": 0,
    }


def test_vectors_that_are_all_the_same_find_nothing():
    """Where a wrong one is as near as the right one, it comes first: nobody scores by ties."""
    assert values(numpy.ones((4, 3)), numpy.ones((4, 3)), TEXTS)["p@1"] == 0
    assert values(numpy.zeros((4, 3)), numpy.zeros((4, 3)), TEXTS)["mrr"] == 25


def test_noise_is_chance():
    random = numpy.random.default_rng(1)
    found = values(
        random.normal(size=(500, 8)), random.normal(size=(500, 8)), list(map(str, range(500)))
    )
    assert found["p@1"] < 2 and found["xsim"] > 98 and found["mrr"] < 5


def test_a_hub_costs_cosine_more_than_the_margin():
    """xSIM is scored with the ratio margin: what is near everything does not win there."""
    sources, targets = (
        numpy.array([[1, 0.5, 0], [1, 0, 0.5], [1, 0.1, 0.1]]),
        numpy.array([[1, 1.3, 0], [1, 0, 1.3], [1, 0.1, 0.1]]),
    )
    found = values(sources, targets, TEXTS[:3], k=2)
    assert found["p@1"] == pytest.approx(100 / 3) and found["xsim"] == 0


def test_a_score_has_a_signature():
    assert (
        retrieval(NEAR, numpy.eye(4), TEXTS, k=3, signature="bridge.flat")["xsim"].signature
        == "bridge.flat|score:ratio|k:3|n:4"
    )
