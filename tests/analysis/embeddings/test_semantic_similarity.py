"""Correlations compared with NumPy and SciPy, and the file formats of similarity tests."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy
import pytest

from polyglot.analysis.embeddings.config import SimilarityTest
from polyglot.analysis.embeddings.semantic_similarity import pearson, read_scored_pairs, spearman
from polyglot.core.errors import DataError

RANDOM = numpy.random.default_rng(0)


# Correlations


def test_pearson_agrees_with_numpy() -> None:
    x = RANDOM.normal(size=50)
    y = RANDOM.normal(size=50)
    assert pearson(x, y) == pytest.approx(numpy.corrcoef(x, y)[0, 1])


def test_equal_values_have_no_correlation() -> None:
    assert pearson([1, 1], [1, 2]) is None
    assert spearman([1, 2], [3, 3]) is None


def test_spearman_by_hand_with_ties() -> None:
    assert spearman([1, 2, 3], [10, 100, 1000]) == pytest.approx(1)
    expected = numpy.corrcoef([1, 2.5, 2.5, 4], [2, 1, 3, 4])[0, 1]
    assert spearman([5, 7, 7, 9], [0.2, 0.1, 0.3, 0.4]) == pytest.approx(expected)


def test_spearman_agrees_with_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is an optional dependency")
    x = RANDOM.integers(0, 6, 80)
    y = RANDOM.normal(size=80)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)


# Files


def test_tabs_with_a_header(tmp_path: Path) -> None:
    content = b"id\ta\tb\tscore\r\n1\tA dog\tA cat\t3.5\r\n2\tIt rains\tSun\t1\r\n"
    (tmp_path / "sick.gz").write_bytes(gzip.compress(content))
    test = SimilarityTest(
        name="SICK",
        languages=["en", "en"],
        path="sick.gz",
        header=True,
        columns=[2, 3, 4],
    )
    pairs = read_scored_pairs(test, tmp_path)
    assert pairs.first == ["A dog", "It rains"]
    assert pairs.second == ["A cat", "Sun"]
    assert pairs.scores == [3.5, 1.0]


def test_quotes_and_two_files(tmp_path: Path) -> None:
    (tmp_path / "en.csv").write_text('"A dog, asleep",A cat,2\nIt rains,Sun,0.5\n')
    (tmp_path / "de.csv").write_text('Ein Hund,"Eine ""Katze""",9\nEs regnet,Sonne,9\n')
    test = SimilarityTest(
        name="STS",
        languages=["en", "de"],
        path="en.csv",
        second_path="de.csv",
        separator="comma",
    )
    pairs = read_scored_pairs(test, tmp_path)
    assert pairs.first == ["A dog, asleep", "It rains"]
    assert pairs.second == ['Eine "Katze"', "Sonne"]
    assert pairs.scores == [2.0, 0.5]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\tb\t1\nc\td\n", "one, line 2: 2 columns, but 3 are needed"),
        ("a\tb\t1\nc\td\n", "columns are separated by a tab"),
        ("a\tb\t1\nc\td\tgood\n", "line 2: the score 'good' in column 3 is not a finite number"),
        ("a\tb\t1\nc\td\tnan\n", "line 2: the score 'nan' in column 3 is not a finite number"),
        ("a\tb\t0.1\n" * 3, "one: the score in column 3 is 0.1 for all 3 pairs"),
        ("", "one: the file is empty"),
    ],
)
def test_invalid_files_are_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "one").write_text(content)
    test = SimilarityTest(name="x", languages=["en", "en"], path="one")
    with pytest.raises(DataError) as error:
        read_scored_pairs(test, tmp_path)
    assert message in str(error.value)


def test_the_line_of_a_score_counts_the_header(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("a\tb\tscore\nc\td\tgood\n")
    test = SimilarityTest(name="x", languages=["en", "en"], path="one", header=True)
    with pytest.raises(DataError, match="one, line 2: the score 'good'"):
        read_scored_pairs(test, tmp_path)


def test_two_files_of_different_length_are_refused(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("a\tb\t1\n")
    (tmp_path / "two").write_text("a\tb\t1\nc\td\t2\n")
    test = SimilarityTest(name="x", languages=["en", "en"], path="one", second_path="two")
    with pytest.raises(DataError, match="one has 1 pair, .*two has 2; line n must be the same"):
        read_scored_pairs(test, tmp_path)
