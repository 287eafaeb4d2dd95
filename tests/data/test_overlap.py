"""Overlap of held-out text with training text, for every form of a corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from polyglot.data import overlap
from polyglot.data.corpora import CORPORA, Corpora
from polyglot.data.overlap import Overlap, find_overlaps

TRAIN = ["A dog sleeps.", "Two cats", "", "It rains 3 days", "a bird"]
TEST = ["a DOG sleeps", "", "It rains 40 days!", "a tree", "A dog sleeps"]


def corpora_of(folder: Path, name: str, lines: list[str], kind: str, **settings) -> Corpora:
    if kind == "tsv":
        rows = "".join(f"{line}\tx {number}\n" for number, line in enumerate(lines))
        (folder / f"{name}.tsv").write_text(rows)
        settings = {"path": f"{name}.tsv", "columns": {"en": 1, "de": 2}, **settings}
    else:
        (folder / f"{name}.en").write_text("".join(f"{line}\n" for line in lines))
        settings = {"path": f"{name}.{{language}}", **settings}
    config = CORPORA.get(kind).Config(**settings)
    return Corpora([config], folder=folder, languages=("en", "de"))


@pytest.mark.parametrize("kind", ["text", "tsv"])
def test_equal_and_nearly_equal_sentences_are_counted(kind, tmp_path):
    train = corpora_of(tmp_path, "train", TRAIN, kind)
    test = corpora_of(tmp_path, "test", TEST, kind)
    valid = corpora_of(tmp_path, "valid", ["a whale"], kind)
    overlaps = find_overlaps(train, {"test": test, "valid": valid}, ["en"])
    assert overlaps == [Overlap("test", "en", 4, 3), Overlap("valid", "en", 1, 0)]
    assert overlaps[0].share == 0.75


def test_the_hashes_are_cached(tmp_path, monkeypatch):
    train = corpora_of(tmp_path, "train", TRAIN, "text")
    test = corpora_of(tmp_path, "test", TEST, "text")
    first = find_overlaps(train, {"test": test}, ["en"])
    monkeypatch.setattr(overlap, "sentence_hashes", None)
    assert find_overlaps(train, {"test": test}, ["en"]) == first


def test_streamed_training_text_is_not_read(tmp_path):
    train = corpora_of(tmp_path, "train", TRAIN, "text", streaming=True)
    test = corpora_of(tmp_path, "test", TEST, "text")
    assert find_overlaps(train, {"test": test}, ["en"]) == []


def test_several_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(overlap, "LINES", 2)
    train = corpora_of(tmp_path, "train", TRAIN, "text")
    test = corpora_of(tmp_path, "test", [*TEST, "a bird", "zzz"], "text")
    assert find_overlaps(train, {"test": test}, ["en", "de"]) == [Overlap("test", "en", 6, 4)]
