"""Retrieval scores computed by hand."""

from __future__ import annotations

import numpy
import pytest

from polyglot.analysis.embeddings.retrieval import retrieval

TEXTS = ["one", "two", "three", "four"]
NEAR = numpy.array([[1, 0.2, 0, 0], [0, 1, 0.2, 0], [0, 0, 1, 0.2], [0.2, 0, 0, 1]])
SWAPPED = numpy.array([[0.5, 1, 0, 0], [1, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


def scores(
    sources: numpy.ndarray, targets: numpy.ndarray, texts: list[str], *, k: int = 4
) -> dict[str, float]:
    result = retrieval(sources, targets, texts, k=k)
    return {name: score.value for name, score in result.items()}


def test_every_translation_is_the_nearest() -> None:
    assert scores(NEAR, numpy.eye(4), TEXTS) == {"p@1": 100, "mrr": 100, "xsim": 0}


def test_ranks_by_hand() -> None:
    """Sources 0 and 1 are nearest to each other's translation: ranks 2, 2, 1, 1."""
    assert scores(SWAPPED, numpy.eye(4), TEXTS) == {"p@1": 50, "mrr": 75, "xsim": 50}


def test_a_target_with_the_same_text_is_correct() -> None:
    texts = ["one", "one", "three", "four"]
    assert scores(SWAPPED, numpy.eye(4), texts) == {"p@1": 100, "mrr": 100, "xsim": 0}


def test_of_equally_near_targets_the_wrong_ones_come_first() -> None:
    assert scores(numpy.ones((4, 3)), numpy.ones((4, 3)), TEXTS)["p@1"] == 0
    assert scores(numpy.zeros((4, 3)), numpy.zeros((4, 3)), TEXTS)["mrr"] == 25


def test_random_vectors_have_scores_near_chance() -> None:
    random = numpy.random.default_rng(1)
    sources = random.normal(size=(500, 8))
    targets = random.normal(size=(500, 8))
    result = scores(sources, targets, list(map(str, range(500))))
    assert result["p@1"] < 2
    assert result["xsim"] > 98
    assert result["mrr"] < 5


def test_ranks_agree_with_the_formula_over_several_blocks() -> None:
    """Rank of target n: 1 + number of targets whose cosine with source n is larger."""
    random = numpy.random.default_rng(2)
    targets = random.normal(size=(3000, 4))
    sources = targets + random.normal(size=(3000, 4))
    unit_sources = sources / numpy.linalg.norm(sources, axis=1, keepdims=True)
    unit_targets = targets / numpy.linalg.norm(targets, axis=1, keepdims=True)
    cosines = unit_sources @ unit_targets.T
    ranks = 1 + (cosines > cosines.diagonal()[:, None]).sum(axis=1)

    result = scores(sources, targets, list(map(str, range(3000))))
    assert result["p@1"] == pytest.approx(100 * (ranks == 1).mean())
    assert result["mrr"] == pytest.approx(100 * (1 / ranks).mean())


@pytest.mark.parametrize("k", [1, 2, 3])
def test_xsim_follows_the_formula_of_the_ratio_margin(k: int) -> None:
    """margin(x, y) = cos(x, y) / mean of (mean cosine of x and of y with their k nearest)."""
    random = numpy.random.default_rng(3)
    targets = random.normal(size=(40, 3))
    sources = targets + random.normal(size=(40, 3))
    unit_sources = sources / numpy.linalg.norm(sources, axis=1, keepdims=True)
    unit_targets = targets / numpy.linalg.norm(targets, axis=1, keepdims=True)
    cosines = unit_sources @ unit_targets.T
    source_means = numpy.sort(cosines, axis=1)[:, -k:].mean(axis=1)
    target_means = numpy.sort(cosines, axis=0)[-k:].mean(axis=0)
    margins = cosines / ((source_means[:, None] + target_means[None]) / 2)

    wrong = 0
    for row in range(40):
        candidates = numpy.argsort(-cosines[row])[:k]
        best = candidates[numpy.argmax(margins[row, candidates])]
        wrong += best != row
    result = scores(sources, targets, list(map(str, range(40))), k=k)
    assert result["xsim"] == pytest.approx(100 * wrong / 40)


def test_a_hub_has_less_effect_on_the_margin_than_on_the_cosine() -> None:
    """The last target is near all sources."""
    sources = numpy.array([[1, 0.5, 0], [1, 0, 0.5], [1, 0.1, 0.1]])
    targets = numpy.array([[1, 1.3, 0], [1, 0, 1.3], [1, 0.1, 0.1]])
    result = scores(sources, targets, TEXTS[:3], k=2)
    assert result["p@1"] == pytest.approx(100 / 3)
    assert result["xsim"] == 0


def test_every_score_has_a_signature() -> None:
    result = retrieval(NEAR, numpy.eye(4), TEXTS, k=3, signature="bridge.flat")
    assert result["xsim"].signature == "bridge.flat|score:ratio|k:3|n:4"
    assert result["mrr"].signature == "bridge.flat|score:cosine|n:4"
