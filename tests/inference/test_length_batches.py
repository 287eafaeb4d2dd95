"""Batches of sentences of similar length."""

from __future__ import annotations

import pytest

from polyglot.inference import generation
from polyglot.inference.length_batches import length_batches

LENGTHS = [3, 0, 9, 50, 8, 3, 1]


def test_batches_are_sorted_by_length_and_limited_in_sentences_and_positions():
    batches = length_batches(LENGTHS, max_sentences=2, max_positions=20)
    assert list(batches) == [[3], [2, 4], [0, 5], [6]]


def test_rows_of_length_zero_are_kept_only_on_request():
    batches = length_batches(LENGTHS, max_sentences=3, max_positions=1000, keep_empty=True)
    assert list(batches) == [[3, 2, 4], [0, 5, 6], [1]]
    batches = length_batches(LENGTHS, max_sentences=3, max_positions=1000)
    assert list(batches) == [[3, 2, 4], [0, 5, 6]]


@pytest.mark.parametrize("max_sentences", [1, 3, 100])
@pytest.mark.parametrize("max_positions", [1, 16, 60])
def test_every_sentence_is_in_one_batch_within_the_limits(max_sentences, max_positions):
    rows = []
    for batch in length_batches(
        LENGTHS, max_sentences=max_sentences, max_positions=max_positions, keep_empty=True
    ):
        positions = len(batch) * max(LENGTHS[row] for row in batch)
        assert len(batch) == 1 or positions <= max_positions
        assert len(batch) <= max_sentences
        rows += batch
    assert sorted(rows) == list(range(len(LENGTHS)))


@pytest.mark.parametrize("keep_empty", [False, True])
def test_no_sentences_give_no_batches(keep_empty):
    assert list(length_batches([], max_sentences=2, max_positions=9, keep_empty=keep_empty)) == []


def test_search_batches_have_at_most_the_positions_of_sentences_of_usual_length():
    lengths = [30_000, 300, *[20] * 20, 0]
    sentences = [[5] * length for length in lengths]
    batches = list(generation.search_batches(sentences, size=10))
    # 10 sentences of 128 pieces: 1280 positions, so 4 of 300.
    assert batches[:2] == [[0], [1, 2, 3, 4]]
    assert all(len(rows) <= 10 for rows in batches)
    assert sorted(row for rows in batches for row in rows) == list(range(22))
