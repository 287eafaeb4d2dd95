"""Neighbours and translations between two files of sentences."""

from __future__ import annotations

import numpy
import pytest

from polyglot.core.errors import ConfigError, DataError
from polyglot.inference.embeddings.bitext import find_neighbours
from polyglot.inference.embeddings.similarity import exact_neighbours, scored_neighbours
from tests.inference.embeddings.number_encoder import number_encoder, number_sentences

SETTINGS = {"layer": "words", "pooling": "mean"}


@pytest.fixture(scope="module")
def encoder():
    return number_encoder()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two files in one language: the second one is the first one backwards, without every third."""
    folder = tmp_path_factory.mktemp("bitext")
    sources = number_sentences(25, longest=5)
    targets = sources[::-1][1::3]
    for name, lines in (("source", sources), ("target", targets)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder / "source", folder / "target", sources, targets


def find(encoder, files, **settings):
    source, target, *_ = files
    return find_neighbours(encoder, (source, "de"), (target, "de"), **SETTINGS | settings)


def test_neighbours_are_those_of_the_embeddings(encoder, files):
    _, _, sources, targets = files
    source_lines = [number for number, line in enumerate(sources) if line]
    target_lines = [number for number, line in enumerate(targets) if line]
    source_vectors = encoder.encode([line for line in sources if line], language="de", **SETTINGS)
    target_vectors = encoder.encode([line for line in targets if line], language="de", **SETTINGS)
    result = find(encoder, files, neighbours=3)
    forwards, backwards = scored_neighbours(source_vectors, target_vectors, k=3)
    numpy.testing.assert_array_equal(result.forwards.rows, forwards.rows)
    numpy.testing.assert_array_equal(result.backwards.rows, backwards.rows)
    assert result.source_lines.tolist() == source_lines
    assert result.target_lines.tolist() == target_lines
    assert result.sources == sources
    assert result.targets == targets


def test_mined_pairs_are_the_equal_sentences(encoder, files):
    _, _, sources, targets = files
    result = find(encoder, files, margin="cosine")
    pairs = list(result.mined(threshold=0.999))
    assert len(pairs) == len([line for line in targets if line])
    for pair in pairs:
        assert sources[pair.source] == targets[pair.target]
    assert [pair.score for pair in pairs] == pytest.approx([1.0] * len(pairs))


@pytest.mark.parametrize("top", [1, 2])
def test_nearest_pairs_are_sorted_within_each_source_line(encoder, files, top):
    result = find(encoder, files, margin="cosine", neighbours=4)
    pairs = list(result.nearest(top=top))
    assert [pair.source for pair in pairs] == numpy.repeat(result.source_lines, top).tolist()
    scores = numpy.array([pair.score for pair in pairs]).reshape(-1, top)
    assert (numpy.diff(scores, axis=1) <= 0).all()
    assert not {pair.target for pair in pairs} - set(result.target_lines.tolist())


def test_nearest_pairs_are_at_or_above_the_threshold(encoder, files):
    result = find(encoder, files, margin="cosine")
    scores = [pair.score for pair in result.nearest()]
    threshold = sorted(scores)[5]
    kept = [pair.score for pair in result.nearest(threshold=threshold)]
    assert kept == [score for score in scores if score >= threshold]
    assert len(kept) == len(scores) - 5


def test_progress_counts_the_lines_of_both_files(encoder, files):
    calls = []
    _, _, sources, targets = files
    find(encoder, files, progress=lambda done, total: calls.append((done, total)))
    source_count = len([line for line in sources if line])
    total = source_count + len([line for line in targets if line])
    assert calls == [(source_count, total), (total, total)]


def test_the_setting_search_selects_the_function(encoder, files, monkeypatch):
    from polyglot.inference.embeddings import bitext

    counts = []

    def search(queries, vectors, k):
        counts.append(k)
        return exact_neighbours(queries, vectors, k)

    monkeypatch.setitem(bitext.SEARCHES, "faiss", search)
    find(encoder, files, search="faiss", neighbours=2)
    assert counts == [2, 2]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"margin": "ration"}, "margin: no margin named 'ration'. Did you mean 'ratio'?"),
        ({"search": "exakt"}, "search: no search named 'exakt'. Did you mean 'exact'?"),
    ],
)
def test_an_unknown_name_is_an_error(encoder, files, settings, message):
    with pytest.raises(ConfigError) as error:
        find(encoder, files, **settings)
    assert str(error.value).startswith(message)


def test_a_language_without_an_encoder_is_an_error(encoder, files):
    source, target, *_ = files
    with pytest.raises(ConfigError, match="language: no encoder named 'xx'"):
        find_neighbours(encoder, (source, "de"), (target, "xx"), **SETTINGS)


def test_a_file_of_blank_lines_is_an_error(encoder, files, tmp_path):
    source, *_ = files
    blank = tmp_path / "blank"
    blank.write_text("\n  \n")
    with pytest.raises(DataError, match="blank: every line is empty"):
        find_neighbours(encoder, (source, "de"), (blank, "de"), **SETTINGS)
