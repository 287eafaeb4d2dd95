"""Similarity by hand, neighbours beside brute force, and the margin as its papers write it."""

from __future__ import annotations

import math

import numpy
import pytest
import torch

from polyglot.core.errors import ConfigError, DataError
from polyglot.inference.embeddings import similarity as module
from polyglot.inference.embeddings.similarity import (
    SEARCHES,
    Neighbours,
    Pair,
    exact_neighbours,
    mine_bitext,
    scored_neighbours,
    similarity,
    similarity_pairwise,
)

RANDOM = numpy.random.default_rng(0)
ONE = RANDOM.normal(size=(30, 8)).astype("float32")
OTHER = RANDOM.normal(size=(20, 8)).astype("float32")


def test_similarities_by_hand():
    found = similarity([[1.0, 0.0], [1.0, 1.0]], numpy.array([[2.0, 0.0], [0.0, 0.0], [0.0, -3.0]]))
    root = math.sqrt(0.5)
    torch.testing.assert_close(found, torch.tensor([[1.0, 0.0, 0.0], [root, 0.0, -root]]))
    torch.testing.assert_close(
        similarity_pairwise(torch.eye(2), torch.ones(2, 2)), torch.tensor([root, root])
    )


def test_shapes_as_in_sentence_transformers():
    assert similarity(ONE, OTHER).shape == (30, 20)
    assert similarity(ONE[0], OTHER).shape == (1, 20) and similarity(
        list(ONE), torch.from_numpy(OTHER)
    ).shape == (30, 20)
    assert similarity_pairwise(ONE[:20], OTHER).shape == (20,)


@pytest.mark.parametrize(
    ("compared", "one", "other", "sentence"),
    [
        (
            similarity,
            ONE,
            OTHER[:, :5],
            "similarity: the shapes are (30, 8) and (20, 5); expected (N, D) and (M, D)",
        ),
        (similarity, ONE[None], OTHER, "similarity: the shapes are (1, 30, 8) and (20, 8)"),
        (
            similarity_pairwise,
            ONE,
            OTHER,
            "similarity_pairwise: the shapes are (30, 8) and (20, 8); expected (N, D)",
        ),
        (
            similarity_pairwise,
            ONE[:20],
            OTHER[:, :1],
            "similarity_pairwise: the shapes are (20, 8) and (20, 1)",
        ),
        (similarity, [ONE[0], OTHER[0, :5]], ONE, "the same shape (D,), found (8,) and (5,)"),
        (similarity_pairwise, [], [], "found an empty list"),
    ],
)
def test_what_cannot_be_compared_is_named_with_its_shapes(compared, one, other, sentence):
    with pytest.raises(DataError) as error:
        compared(one, other)
    assert sentence in str(error.value)


def test_one_vector_stands_beside_each_of_many():
    torch.testing.assert_close(similarity_pairwise(ONE[0], OTHER), similarity(ONE[0], OTHER)[0])


@pytest.mark.parametrize("block", [3, 7, 1000])
def test_neighbours_are_those_of_brute_force_whatever_the_block(monkeypatch, block):
    monkeypatch.setattr(module, "BLOCK_SIZE", block)
    cosines = (ONE / numpy.linalg.norm(ONE, axis=1, keepdims=True)) @ (
        OTHER / numpy.linalg.norm(OTHER, axis=1, keepdims=True)
    ).T
    near = exact_neighbours(ONE, OTHER, 4)
    assert numpy.array_equal(near.rows.numpy(), numpy.argsort(-cosines, axis=1)[:, :4])
    numpy.testing.assert_allclose(
        near.similarities.numpy(), -numpy.sort(-cosines, axis=1)[:, :4], rtol=1e-5, atol=1e-6
    )
    assert exact_neighbours(ONE, OTHER[:2], 4).rows.shape == (30, 2)


def test_the_ratio_margin_is_the_formula():
    """Artetxe and Schwenk 2019, equation 2, for every candidate."""
    forwards, _ = scored_neighbours(ONE, OTHER, k=4)
    near, back = exact_neighbours(ONE, OTHER, 4), exact_neighbours(OTHER, ONE, 4)
    for row in range(30):
        by_hand = {}
        for cosine, other in zip(near.similarities[row].tolist(), near.rows[row].tolist()):
            of_row = sum(value / (2 * 4) for value in near.similarities[row].tolist())
            of_other = sum(value / (2 * 4) for value in back.similarities[other].tolist())
            by_hand[other] = cosine / (of_row + of_other)
        assert forwards.rows[row].tolist() == sorted(by_hand, key=by_hand.get, reverse=True)
        numpy.testing.assert_allclose(
            forwards.similarities[row], sorted(by_hand.values(), reverse=True), rtol=1e-5
        )


def test_a_sentence_near_everything_is_no_match_for_anything():
    """A hub: by cosine it is nearest to both, by the margin it is not."""
    sources = torch.tensor([[1.0, 0.5, 0.0], [1.0, 0.0, 0.5]])
    targets = torch.tensor([[1.0, 1.3, 0.0], [1.0, 0.0, 1.3], [1.0, 0.1, 0.1]])
    assert scored_neighbours(sources, targets, k=2, margin="cosine")[0].rows[:, 0].tolist() == [
        2,
        2,
    ]
    assert scored_neighbours(sources, targets, k=2, margin="ratio")[0].rows[:, 0].tolist() == [0, 1]


def test_mining_takes_each_sentence_once_and_the_best_first():
    forwards = Neighbours(torch.tensor([[0.9], [1.2], [0.5]]), torch.tensor([[0], [0], [2]]))
    backwards = Neighbours(torch.tensor([[1.2], [0.8], [0.5]]), torch.tensor([[1], [0], [2]]))
    found = mine_bitext(forwards, backwards)
    assert [(pair.source, pair.target) for pair in found] == [(1, 0), (0, 1), (2, 2)]
    assert [pair.score for pair in found] == sorted((pair.score for pair in found), reverse=True)
    assert mine_bitext(forwards, backwards, threshold=1.0) == [Pair(pytest.approx(1.2), 1, 0)]


def test_faiss_finds_what_exact_search_finds():
    pytest.importorskip("faiss", reason="the extra `faiss` is not installed")
    near, exact = SEARCHES["faiss"](ONE, OTHER, 4), exact_neighbours(ONE, OTHER, 4)
    assert torch.equal(near.rows, exact.rows)
    torch.testing.assert_close(near.similarities, exact.similarities)
    vectors = RANDOM.normal(size=(3000, 16)).astype("float32")
    shared = (
        (SEARCHES["faiss"](vectors[:200], vectors, 1).rows[:, 0] == torch.arange(200))
        .double()
        .mean()
    )
    assert shared > 0.95


def test_without_faiss_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    with pytest.raises(ConfigError, match=r"pip install 'polyglot-nmt\[faiss\]'"):
        SEARCHES["faiss"](ONE, OTHER, 4)
