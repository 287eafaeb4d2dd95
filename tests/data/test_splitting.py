"""Division of parallel text: no common sentences, nothing lost, the same choice for the same
text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglot.core.errors import DataError
from polyglot.data.new_text_files import NewTextFile
from polyglot.data.parallel_files import ParallelText, RowBlock, TextFiles
from polyglot.data.splitting import (
    TEST,
    TRAINING,
    VALIDATION,
    SplitSettings,
    earlier_split,
    mix,
    plan_split,
    write_split,
)
from polyglot.text.comparison_key import comparison_key

Row = tuple[str, str]

SENTENCES = st.sampled_from(
    ["a dog", "A dog!", "two cats", "it rains", "I see 3 birds", "I see 40 birds.", "yes", "Yes!"]
    + [f"sentence {letter}" for letter in "abcdefghijklmnop"]
)
TRANSLATIONS = st.sampled_from(
    ["ein Hund", "es regnet", "ja", ""] + [f"Satz {n}" for n in "abcdefghijklmnop"]
)
ROWS = st.lists(st.tuples(SENTENCES, TRANSLATIONS), min_size=8, max_size=60)


class MemoryText(ParallelText):
    """Rows in memory, in blocks of three."""

    languages = ("en", "de")
    paths = [Path("memory")]
    stem = "memory"

    def __init__(self, rows: list[Row], documents: list[str] | None = None) -> None:
        self.rows = rows
        self.documents = documents

    def blocks(self) -> Iterator[RowBlock]:
        for start in range(0, len(self.rows), 3):
            rows = self.rows[start : start + 3]
            texts = {"en": [row[0] for row in rows], "de": [row[1] for row in rows]}
            documents = self.documents[start : start + 3] if self.documents else None
            yield RowBlock(texts, documents)


def divide(rows: list[Row], documents: list[str] | None = None, **options) -> list[int] | None:
    """Part of each row; None if the rows cannot be divided."""
    try:
        return plan_split(MemoryText(rows, documents), SplitSettings(**options)).parts.tolist()
    except DataError:
        return None


def rows_of(rows: list[Row], parts: list[int], part: int) -> list[Row]:
    return [row for row, row_part in zip(rows, parts, strict=True) if row_part == part]


@settings(deadline=None)
@given(ROWS, st.integers(0, 5), st.integers(1, 5), st.integers(0, 3))
def test_no_sentence_is_in_two_parts_and_the_sizes_are_kept(rows, validation, test, seed):
    parts = divide(rows, validation=validation, test=test, seed=seed)
    if parts is None:
        return
    for side in (0, 1):
        part_of_key: dict[str, int] = {}
        for row, part in zip(rows, parts, strict=True):
            key = comparison_key(row[side])
            if key:
                assert part_of_key.setdefault(key, part) == part
    assert 0 < parts.count(TEST) <= test
    assert parts.count(VALIDATION) <= validation
    assert parts.count(TRAINING) > 0
    assert all(all(row) for row in rows_of(rows, parts, TEST) + rows_of(rows, parts, VALIDATION))


@settings(deadline=None)
@given(ROWS, st.randoms(use_true_random=False))
def test_the_choice_does_not_depend_on_the_order_of_the_rows(rows, chance):
    shuffled = list(rows)
    chance.shuffle(shuffled)
    parts = divide(rows, validation=2, test=3)
    shuffled_parts = divide(shuffled, validation=2, test=3)
    assert (parts is None) == (shuffled_parts is None)
    if parts is None:
        return
    for part in (TRAINING, VALIDATION, TEST):
        expected = Counter(rows_of(rows, parts, part))
        assert Counter(rows_of(shuffled, shuffled_parts, part)) == expected


def distinct_rows(count: int) -> list[Row]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    names = [first + second for first in letters for second in letters]
    return [(f"sentence {name}", f"Satz {name}") for name in names[:count]]


def test_exact_sizes_and_another_choice_for_another_seed():
    rows = distinct_rows(300)
    choices = []
    for seed in (1, 2):
        parts = divide(rows, validation=50, test=70, seed=seed)
        assert Counter(parts) == {TRAINING: 180, VALIDATION: 50, TEST: 70}
        choices.append(parts)
    agreement = sum(first == second == TEST for first, second in zip(*choices))
    assert agreement < 35  # 16 are expected


def test_groups_are_drawn_equally_often_whatever_their_sizes():
    """A quarter of the groups has two translations, and so has a quarter of the drawn groups."""
    rows = distinct_rows(40)
    rows += [(text, f"noch ein {translation}") for text, translation in rows[:10]]
    drawn = []
    for seed in range(100):
        parts = divide(rows, validation=0, test=20, seed=seed)
        drawn += [number < 10 for number in range(40) if parts[number] == TEST]
    assert 0.2 < sum(drawn) / len(drawn) < 0.3


def test_a_sentence_that_would_fill_more_than_a_tenth_is_training_text():
    rows = distinct_rows(40)
    rows += rows[:1] * 2
    for seed in range(40):
        parts = divide(rows, validation=0, test=20, seed=seed)
        assert parts[0] == TRAINING and parts.count(TEST) == 20


@settings(deadline=None)
@given(st.lists(st.integers(1, 8), min_size=4, max_size=12), st.integers(0, 3))
def test_documents_stay_together(sizes, seed):
    rows = distinct_rows(sum(sizes))
    documents = []
    for number, size in enumerate(sizes):
        documents += [f"talk {number}"] * size
    parts = divide(rows, documents, validation=0, test=max(1, sum(sizes) // 2), seed=seed)
    if parts is None:
        return
    by_document: dict[str, set[int]] = {}
    for name, part in zip(documents, parts, strict=True):
        by_document.setdefault(name, set()).add(part)
    assert all(len(document_parts) == 1 for document_parts in by_document.values())
    assert TEST in parts


def test_blank_lines_separate_documents_and_are_in_no_part():
    rows = distinct_rows(60)
    text = []
    for start in range(0, 60, 6):
        text += [*rows[start : start + 6], ("", " ")]
    split = plan_split(MemoryText(text), SplitSettings(validation=0, test=12, blank_lines=True))
    assert split.row_counts == (48, 0, 12) and split.group_counts == (8, 0, 2)
    assert split.is_separator.sum() == 10
    parts = split.parts[~split.is_separator].reshape(10, 6)
    assert (parts == parts[:, :1]).all()


def test_short_sentences_may_be_in_several_parts_only_if_allowed():
    rows = [
        (text, "Ja!" if number % 2 else "ja") for number, (text, _) in enumerate(distinct_rows(40))
    ]
    with pytest.raises(DataError, match="largest group has 40; --ignore-shorter 20 lets"):
        plan_split(MemoryText(rows), SplitSettings(validation=0, test=5))
    parts = divide(rows, validation=0, test=5, ignore_shorter=3)
    assert parts.count(TEST) == 5


def test_too_little_text():
    with pytest.raises(DataError, match="4 rows; --validation and --test take 4"):
        plan_split(MemoryText(distinct_rows(4)), SplitSettings(validation=2, test=2))


def test_mixed_hashes_are_a_permutation():
    numbers = numpy.arange(10_000, dtype=numpy.uint64)
    mixed = mix(numbers, 5)
    assert len(set(mixed.tolist())) == 10_000
    assert mixed.tolist() != mix(numbers, 6).tolist()
    halves = (mixed >> numpy.uint64(63)).sum()
    assert 4800 < halves < 5200


# Files


def write_rows(folder: Path, rows: list[Row]) -> TextFiles:
    files = {}
    for side, language in enumerate(("en", "de")):
        path = folder / f"c.{language}"
        path.write_text("".join(f"{row[side]}\n" for row in rows), encoding="utf-8")
        files[language] = path
    return TextFiles(files)


def test_all_rows_are_written_in_order(tmp_path):
    rows = distinct_rows(100)
    text = write_rows(tmp_path, rows)
    split = plan_split(text, SplitSettings(validation=10, test=20))
    names = write_split(text, split, tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(names)
    for part, name in enumerate(("train", "val", "test")):
        lines = []
        for language in ("en", "de"):
            content = (tmp_path / "out" / f"{name}.{language}").read_text(encoding="utf-8")
            lines.append(content.splitlines())
        assert list(zip(*lines)) == rows_of(rows, split.parts.tolist(), part)


@pytest.mark.parametrize("step", ["write", "finish"])
@pytest.mark.parametrize(
    ("error", "raised"),
    [(OSError(28, "No space left on device"), DataError), (KeyboardInterrupt(), KeyboardInterrupt)],
    ids=["full disk", "Ctrl-C"],
)
def test_a_failed_write_leaves_nothing(step, error, raised, tmp_path, monkeypatch):
    text = write_rows(tmp_path, distinct_rows(100))
    split = plan_split(text, SplitSettings(validation=10, test=20))

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(NewTextFile, step, fail)
    with pytest.raises(
        raised, match="cannot be written: No space left" if raised is DataError else None
    ):
        write_split(text, split, tmp_path / "new" / "out")
    assert not (tmp_path / "new").exists()


def test_earlier_files_stay_if_the_new_ones_cannot_be_written(tmp_path, monkeypatch):
    text = write_rows(tmp_path, distinct_rows(100))
    folder = tmp_path / "out"
    write_split(text, plan_split(text, SplitSettings(validation=10, test=20)), folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    other = plan_split(text, SplitSettings(validation=10, test=20, seed=2))
    obsolete = earlier_split(text, folder, replace=True)
    monkeypatch.setattr(NewTextFile, "finish", lambda file: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_split(text, other, folder, obsolete=obsolete)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_text_that_changes_between_the_two_readings(tmp_path):
    text = write_rows(tmp_path, distinct_rows(100))
    split = plan_split(text, SplitSettings(validation=10, test=20))
    write_rows(tmp_path, distinct_rows(99))
    with pytest.raises(DataError, match="has changed while it was being read"):
        write_split(text, split, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_real_text_is_divided_without_common_sentences(shared_data):
    folder = shared_data / "manythings" / "deu-eng"
    text = TextFiles({"en": folder / "test.eng.gz", "de": folder / "test.deu.gz"})
    split = plan_split(text, SplitSettings(validation=150, test=150))
    assert split.row_counts == (1345, 150, 150)
    assert split.repeated_rows > 100
    parts_of_key: dict[tuple[str, str], set[int]] = {}
    row = 0
    for block in text.blocks():
        for language, lines in block.texts.items():
            for number, line in enumerate(lines, start=row):
                key = (language, comparison_key(line))
                parts_of_key.setdefault(key, set()).add(int(split.parts[number]))
        row += len(block)
    assert all(len(parts) == 1 for parts in parts_of_key.values())
