"""Projections of sentence embeddings on a plane."""

from __future__ import annotations

import numpy

from polyglot.analysis.embeddings.sentence_map import map_png, projections, sentence_map


def test_points_on_a_line_stay_on_a_line() -> None:
    """Steps of (3, 4, 0, 0) have length 5."""
    vectors = numpy.outer(numpy.arange(10), [3, 4, 0, 0]).astype("float32") + 5
    planes = projections(vectors)
    points = planes["PCA, 100% of the variance"]
    assert numpy.allclose(numpy.abs(numpy.diff(points[:, 0])), 5, atol=1e-4)
    assert numpy.allclose(points[:, 1], 0, atol=1e-4)


def test_the_share_of_the_variance() -> None:
    """Variances 9, 4 and 1 along the axes: the plane has 13 of 14."""
    vectors = numpy.concatenate([numpy.diag([3, 2, 1]), -numpy.diag([3, 2, 1])])
    assert "PCA, 93% of the variance" in projections(vectors)


def test_the_points_are_split_by_language() -> None:
    random = numpy.random.default_rng(0)
    vectors = {language: random.normal(size=(4, 3)) for language in ("en", "de", "fr")}
    sentences = {language: list("abcd") for language in vectors}
    result = sentence_map(vectors, sentences)
    together = projections(numpy.concatenate(list(vectors.values())))
    for name, points in together.items():
        if name.startswith("PCA"):
            numpy.testing.assert_array_equal(result.planes[name]["de"], points[4:8])
    assert map_png(result, title="map").startswith(b"\x89PNG")
