"""Pieces find the words they are in."""

from __future__ import annotations

import pytest

from polyglot.analysis.annotated_text import sentences, words_of


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ("▁Der ▁alte ▁Bau er ▁schläft .", [0, 1, 2, 2, 3, 4]),
        ("▁der ▁alte ▁bauer ▁schläft ▁.", [0, 1, 2, 3, 4]),
        ("▁ Der ▁alte ▁Bauer ▁schlä ft.", [0, 0, 1, 2, 3, 3]),
        ("▁Der <unk> ▁Bauer ▁schläft .", None),
    ],
)
def test_a_piece_is_in_the_word_of_its_first_letter(pieces, expected):
    assert words_of(pieces.split(), ["Der", "alte", "Bauer", "schläft", "."]) == expected


def test_the_phrasebook_says_what_it_knows(run, translator):
    found = sentences(run, translator, "de", count=4)
    assert len(found) == 4
    for one in found:
        assert one.truth and (one.words is None or max(one.words) == len(one.truth) - 1)
