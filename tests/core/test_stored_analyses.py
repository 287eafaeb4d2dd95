"""Schemas of stored analyses: a map has a point for each sentence."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from polyglot.core.stored_analyses import StoredMap


def stored_map(sentences: dict[str, int], points: dict[str, int]) -> StoredMap:
    """Map with these numbers of sentences and of points, by language."""
    lines = {}
    for language, count in sentences.items():
        lines[language] = ["a sentence"] * count
    plane = {}
    for language, count in points.items():
        plane[language] = [[0.0, 1.0]] * count
    return StoredMap(representation="bridge.flat", sentences=lines, planes={"PCA": plane})


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("languages", [("de",), ("de", "en", "fr")])
def test_a_point_for_each_sentence_is_a_map(count, languages):
    """Of one sentence, too."""
    counts = dict.fromkeys(languages, count)
    assert stored_map(counts, counts).sentences.keys() == counts.keys()


@pytest.mark.parametrize(
    "sentences",
    [{}, {"de": 0}, {"de": 0, "en": 0}, {"de": 1, "en": 2}, {"de": 2, "en": 1}, {"de": 1, "en": 0}],
)
def test_numbers_of_sentences_that_differ_or_are_zero_are_refused(sentences):
    with pytest.raises(ValidationError, match="the same number of sentences, at least 1"):
        stored_map(sentences, sentences)


@pytest.mark.parametrize(
    "points",
    [{}, {"de": 2}, {"de": 2, "en": 1}, {"de": 1, "en": 1}, {"de": 2, "fr": 2}, {"de": 3, "en": 3}],
)
def test_a_plane_without_a_point_for_each_sentence_is_refused(points):
    with pytest.raises(ValidationError, match="the plane 'PCA' needs a point for each sentence"):
        stored_map({"de": 2, "en": 2}, points)
