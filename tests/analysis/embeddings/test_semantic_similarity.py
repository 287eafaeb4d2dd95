"""Correlations beside other people's, and the forms that similarity tests come in."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy
import pytest

from polyglot.analysis.embeddings.config import SimilarityTest
from polyglot.analysis.embeddings.semantic_similarity import pearson, read_scored_pairs, spearman
from polyglot.core.errors import DataError

RANDOM = numpy.random.default_rng(0)


def test_pearson_is_numpys():
    one, other = RANDOM.normal(size=50), RANDOM.normal(size=50)
    assert pearson(one, other) == pytest.approx(numpy.corrcoef(one, other)[0, 1])
    assert pearson([1, 1], [1, 2]) is None and spearman([1, 2], [3, 3]) is None


def test_spearman_by_hand_with_ties():
    assert spearman([1, 2, 3], [10, 100, 1000]) == pytest.approx(1)
    # ranks 1, 2.5, 2.5, 4 and 2, 1, 3, 4
    assert spearman([5, 7, 7, 9], [0.2, 0.1, 0.3, 0.4]) == pytest.approx(
        numpy.corrcoef([1, 2.5, 2.5, 4], [2, 1, 3, 4])[0, 1]
    )


def test_spearman_is_scipys():
    stats = pytest.importorskip("scipy.stats", reason="scipy is no dependency")
    one, other = RANDOM.integers(0, 6, 80), RANDOM.normal(size=80)
    assert spearman(one, other) == pytest.approx(stats.spearmanr(one, other).statistic)


def test_tabs_with_a_header(tmp_path):
    (tmp_path / "sick.gz").write_bytes(
        gzip.compress(b"id\ta\tb\tscore\r\n1\tA dog\tA cat\t3.5\r\n2\tIt rains\tSun\t1\r\n")
    )
    test = SimilarityTest(
        name="SICK", languages=["en", "en"], path="sick.gz", header=True, columns=[2, 3, 4]
    )
    found = read_scored_pairs(test, tmp_path)
    assert (found.first, found.second, found.scores) == (
        ["A dog", "It rains"],
        ["A cat", "Sun"],
        [3.5, 1.0],
    )


def test_quotes_and_two_languages(tmp_path):
    (tmp_path / "en.csv").write_text('"A dog, asleep",A cat,2\nIt rains,Sun,0.5\n')
    (tmp_path / "de.csv").write_text('Ein Hund,"Eine ""Katze""",9\nEs regnet,Sonne,9\n')
    test = SimilarityTest(
        name="STS", languages=["en", "de"], path="en.csv", second_path="de.csv", separator="comma"
    )
    found = read_scored_pairs(test, tmp_path)
    assert (found.first, found.second, found.scores) == (
        ["A dog, asleep", "It rains"],
        ['Eine "Katze"', "Sonne"],
        [2.0, 0.5],
    )


@pytest.mark.parametrize(
    ("text", "second", "sentence"),
    [
        (
            "a\tb\t1\nc\td\n",
            None,
            "one, line 2: 2 of the 3 columns that are needed; a tab separates them",
        ),
        ("a\tb\t1\nc\td\tgood\n", None, "one, line 2: the score 'good' in column 3 is no number"),
        ("a\tb\t1\nc\td\tnan\n", None, "one, line 2: the score 'nan' in column 3 is no number"),
        (
            "a\tb\t0.1\n" * 3,
            None,
            "one: all scores are the same, 0.1 in column 3 of 3 pairs; nothing correlates with them",
        ),
        ("a\tb\t1\n", "a\tb\t1\nc\td\t2\n", "one has 1 pair, "),
        ("", None, "one: the file is empty"),
    ],
)
def test_what_is_no_similarity_test(tmp_path, text, second, sentence):
    Path(tmp_path / "one").write_text(text)
    Path(tmp_path / "two").write_text(second or "")
    with pytest.raises(DataError) as error:
        read_scored_pairs(
            SimilarityTest(
                name="x", languages=["en", "en"], path="one", second_path="two" if second else None
            ),
            tmp_path,
        )
    assert sentence in str(error.value)
