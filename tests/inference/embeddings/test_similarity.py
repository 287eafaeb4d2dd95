"""Similarity and margins against their formulas, neighbours against a search by NumPy."""

from __future__ import annotations

import math
import sys

import numpy
import pytest
import torch

from polyglot.core.errors import ConfigError, DataError
from polyglot.inference.embeddings import similarity as similarity_module
from polyglot.inference.embeddings.similarity import (
    SEARCHES,
    Neighbours,
    Pair,
    exact_neighbours,
    mine_bitext,
    pair_margins,
    scored_neighbours,
    similarity,
    similarity_pairwise,
)

GENERATOR = numpy.random.default_rng(0)
SOURCES = GENERATOR.normal(size=(30, 8)).astype("float32")
TARGETS = GENERATOR.normal(size=(20, 8)).astype("float32")


def unit(vectors):
    return vectors / numpy.linalg.norm(vectors, axis=1, keepdims=True)


COSINES = unit(SOURCES) @ unit(TARGETS).T


# Cosine similarity


def test_similarity_of_simple_vectors():
    vectors = [[1.0, 0.0], [1.0, 1.0]]
    others = numpy.array([[2.0, 0.0], [0.0, 0.0], [0.0, -3.0]])
    root = math.sqrt(0.5)
    expected = torch.tensor([[1.0, 0.0, 0.0], [root, 0.0, -root]])
    torch.testing.assert_close(similarity(vectors, others), expected)


def test_pairwise_similarity_of_simple_vectors():
    root = math.sqrt(0.5)
    cosines = similarity_pairwise(torch.eye(2), torch.ones(2, 2))
    torch.testing.assert_close(cosines, torch.tensor([root, root]))


@pytest.mark.parametrize("convert", [torch.from_numpy, list, numpy.asarray, numpy.float64])
def test_vectors_may_be_arrays_tensors_or_lists(convert):
    cosines = similarity(convert(SOURCES), TARGETS)
    assert cosines.dtype == torch.float32
    numpy.testing.assert_allclose(cosines, COSINES, rtol=1e-5, atol=1e-6)


def test_a_single_vector_is_compared_with_all_vectors():
    assert similarity(SOURCES[0], TARGETS).shape == (1, 20)
    expected = torch.from_numpy(COSINES[0])
    torch.testing.assert_close(similarity_pairwise(SOURCES[0], TARGETS), expected)
    torch.testing.assert_close(similarity_pairwise(TARGETS, SOURCES[0]), expected)


def test_pairwise_similarity_is_the_diagonal_of_the_similarity():
    cosines = similarity_pairwise(SOURCES[:20], TARGETS)
    numpy.testing.assert_allclose(cosines, numpy.diagonal(COSINES), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("function", "first", "second", "message"),
    [
        (
            similarity,
            SOURCES,
            TARGETS[:, :5],
            "similarity: the shapes are (30, 8) and (20, 5); expected (N, D) and (M, D)",
        ),
        (similarity, SOURCES[None], TARGETS, "similarity: the shapes are (1, 30, 8) and (20, 8)"),
        (similarity, SOURCES, TARGETS[None], "similarity: the shapes are (30, 8) and (1, 20, 8)"),
        (
            similarity_pairwise,
            SOURCES,
            TARGETS,
            "similarity_pairwise: the shapes are (30, 8) and (20, 8); expected (N, D) for both",
        ),
        (
            similarity_pairwise,
            SOURCES[:20],
            TARGETS[:, :1],
            "similarity_pairwise: the shapes are (20, 8) and (20, 1)",
        ),
        (
            similarity,
            [SOURCES[0], TARGETS[0, :5]],
            SOURCES,
            "similarity: all vectors of a list must have the same shape (D,), found (8,) and (5,)",
        ),
        (similarity_pairwise, [], [], "found an empty list"),
    ],
)
def test_different_shapes_are_an_error(function, first, second, message):
    with pytest.raises(DataError) as error:
        function(first, second)
    assert message in str(error.value)


# Neighbours


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("block_size", [3, 7, 1000])
def test_exact_neighbours_have_the_largest_cosines(monkeypatch, block_size, k):
    monkeypatch.setattr(similarity_module, "BLOCK_SIZE", block_size)
    neighbours = exact_neighbours(SOURCES, TARGETS, k)
    numpy.testing.assert_array_equal(neighbours.rows, numpy.argsort(-COSINES, axis=1)[:, :k])
    expected = -numpy.sort(-COSINES, axis=1)[:, :k]
    numpy.testing.assert_allclose(neighbours.similarities, expected, rtol=1e-5, atol=1e-6)


def test_fewer_vectors_than_k_are_all_neighbours():
    assert exact_neighbours(SOURCES, TARGETS[:2], 4).rows.shape == (30, 2)


def test_faiss_finds_the_exact_neighbours_of_few_vectors():
    pytest.importorskip("faiss", reason="the extra `faiss` is not installed")
    neighbours = SEARCHES["faiss"](SOURCES, TARGETS, 4)
    expected = exact_neighbours(SOURCES, TARGETS, 4)
    assert torch.equal(neighbours.rows, expected.rows)
    torch.testing.assert_close(neighbours.similarities, expected.similarities)


def test_faiss_finds_most_neighbours_of_many_vectors():
    pytest.importorskip("faiss", reason="the extra `faiss` is not installed")
    vectors = GENERATOR.normal(size=(3000, 16)).astype("float32")
    nearest = SEARCHES["faiss"](vectors[:200], vectors, 1).rows[:, 0]
    share = (nearest == torch.arange(200)).double().mean()
    assert share > 0.95


def test_without_faiss_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ConfigError, match=r"pip install 'polyglot-nmt\[faiss\]'"):
        SEARCHES["faiss"](SOURCES, TARGETS, 4)


# Margin


@pytest.mark.parametrize("k", [2, 4])
def test_the_ratio_margin_is_the_formula_of_the_paper(k):
    """Artetxe and Schwenk 2019, equation 2: cos(x, y) / (Σ cos(x, z) / 2k + Σ cos(y, z) / 2k)."""
    forwards, backwards = scored_neighbours(SOURCES, TARGETS, k=k)
    for neighbours, cosines in ((forwards, COSINES), (backwards, COSINES.T)):
        query_sums = -numpy.sort(-cosines, axis=1)[:, :k].sum(axis=1)
        vector_sums = -numpy.sort(-cosines.T, axis=1)[:, :k].sum(axis=1)
        for row in range(len(cosines)):
            margins = {}
            for column in numpy.argsort(-cosines[row])[:k].tolist():
                mean = query_sums[row] / (2 * k) + vector_sums[column] / (2 * k)
                margins[column] = cosines[row, column] / mean
            expected_rows = sorted(margins, key=margins.get, reverse=True)
            assert neighbours.rows[row].tolist() == expected_rows
            expected = sorted(margins.values(), reverse=True)
            numpy.testing.assert_allclose(neighbours.similarities[row], expected, rtol=1e-4)


@pytest.mark.parametrize("block_size", [2, 100])
def test_the_margin_of_rows_is_that_of_the_neighbours(monkeypatch, block_size):
    monkeypatch.setattr(similarity_module, "BLOCK_SIZE", block_size)
    count = min(len(SOURCES), len(TARGETS))
    sources = SOURCES[:count]
    targets = TARGETS[:count]
    forwards, _ = scored_neighbours(sources, targets, k=count)
    margins = pair_margins(sources, targets, k=count)
    for row, margin in enumerate(margins.tolist()):
        place = forwards.rows[row].tolist().index(row)
        assert margin == pytest.approx(float(forwards.similarities[row, place]))
    assert not pair_margins(torch.eye(4)[:2], torch.eye(4)[2:]).any()


def test_the_cosine_margin_is_the_cosine():
    forwards, backwards = scored_neighbours(SOURCES, TARGETS, k=3, margin="cosine")
    expected = exact_neighbours(SOURCES, TARGETS, 3)
    assert torch.equal(forwards.similarities, expected.similarities)
    assert torch.equal(backwards.rows, exact_neighbours(TARGETS, SOURCES, 3).rows)


def test_a_hub_is_nearest_by_cosine_but_not_by_the_ratio_margin():
    sources = torch.tensor([[1.0, 0.5, 0.0], [1.0, 0.0, 0.5]])
    targets = torch.tensor([[1.0, 1.3, 0.0], [1.0, 0.0, 1.3], [1.0, 0.1, 0.1]])
    by_cosine, _ = scored_neighbours(sources, targets, k=2, margin="cosine")
    by_ratio, _ = scored_neighbours(sources, targets, k=2, margin="ratio")
    assert by_cosine.rows[:, 0].tolist() == [2, 2]
    assert by_ratio.rows[:, 0].tolist() == [0, 1]


def test_the_margin_of_orthogonal_vectors_is_zero():
    forwards, _ = scored_neighbours(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]), k=1)
    assert forwards.similarities.tolist() == [[0.0]]


# Bitext mining


def test_mining_selects_the_best_pairs_and_each_sentence_once():
    forwards = Neighbours(torch.tensor([[0.9], [1.2], [0.5]]), torch.tensor([[0], [0], [2]]))
    backwards = Neighbours(torch.tensor([[1.2], [0.8], [0.5]]), torch.tensor([[1], [0], [2]]))
    pairs = mine_bitext(forwards, backwards)
    assert [(pair.source, pair.target) for pair in pairs] == [(1, 0), (0, 1), (2, 2)]
    assert [pair.score for pair in pairs] == pytest.approx([1.2, 0.8, 0.5])


def test_mining_keeps_pairs_at_or_above_the_threshold():
    forwards = Neighbours(torch.tensor([[0.5], [1.25]]), torch.tensor([[0], [1]]))
    backwards = Neighbours(torch.tensor([[0.5], [1.25]]), torch.tensor([[0], [1]]))
    assert mine_bitext(forwards, backwards, threshold=1.0) == [Pair(1.25, 1, 1)]
    assert len(mine_bitext(forwards, backwards, threshold=0.5)) == 2
