"""Alignment of pieces with annotated words."""

from __future__ import annotations

import pytest
import torch

from polyglot.analysis.annotated_text import (
    AnnotatedSentence,
    align_pieces,
    batches,
    display,
    load_sentences,
)
from polyglot.core.errors import ConfigError
from polyglot.inference.translator import Translator
from polyglot.runs.run import Run

WORDS = ["Der", "alte", "Bauer", "schläft", "."]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ("▁Der ▁alte ▁Bau er ▁schläft .", [0, 1, 2, 2, 3, 4]),
        ("▁der ▁alte ▁bauer ▁schläft ▁.", [0, 1, 2, 3, 4]),
        ("▁ Der ▁alte ▁Bauer ▁schlä ft.", [0, 0, 1, 2, 3, 3]),
        ("▁Der ▁alte ▁Bauer ▁schläft . ▁", [0, 1, 2, 3, 4, 4]),
        ("▁Der <unk> ▁Bauer ▁schläft .", None),
    ],
)
def test_a_piece_belongs_to_the_word_of_its_first_letter(
    pieces: str, expected: list[int] | None
) -> None:
    assert align_pieces(pieces.split(), WORDS) == expected


def test_sentences_of_the_phrasebook_are_annotated(run: Run, translator: Translator) -> None:
    sentences = load_sentences(run, translator, "de", count=4)
    assert len(sentences) == 4
    for sentence in sentences:
        assert sentence.truth
        if sentence.word_of_piece is not None:
            assert max(sentence.word_of_piece) == len(sentence.truth) - 1


def test_an_unknown_language_is_refused(run: Run, translator: Translator) -> None:
    with pytest.raises(ConfigError, match="no language 'xx'; its languages are en, de, fr"):
        load_sentences(run, translator, "xx", count=1)


def test_batches_are_sorted_by_length_without_empty_sentences() -> None:
    sentences = [AnnotatedSentence("", ids, []) for ids in ([4], [], [5, 6, 7], [8, 9])]
    ((batch, tokens, mask),) = batches(sentences, torch.device("cpu"))
    assert [list(sentence.ids) for sentence in batch] == [[5, 6, 7], [8, 9], [4]]
    assert tokens.shape == (3, 3)
    assert mask.sum(dim=1).tolist() == [3, 2, 1]


def test_pieces_are_displayed_without_the_mark_of_a_space() -> None:
    assert display("▁Haus") == "Haus"
    assert display("▁") == "▁"
