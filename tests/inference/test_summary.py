"""Summary of many translations: counts, and notes about lines that need attention."""

from __future__ import annotations

import pytest

from polyglot.decoding.base import SearchConfig
from polyglot.inference.summary import TranslationSummary
from polyglot.inference.types import EMPTY_TRANSLATION, Translation

GOOD = Translation("zwei Wörter", -1.0, -2.0, source_tokens=5, target_tokens=2)
CUT = Translation("ohne Ende", -1.0, -2.0, source_tokens=5, target_tokens=4, is_cut=True)
NOTHING = Translation("", -1.0, -2.0, source_tokens=5)
LONG = Translation("lang", -1.0, -2.0, source_tokens=6, target_tokens=1)


def summary_of(lines, *, longest=None, splitter=None):
    """Summary of lines with one hypothesis and a worse one. longest: tokens in training."""
    summary = TranslationSummary(SearchConfig(beam=3), splitter)
    for line in lines:
        summary.add([[line, LONG]], longest=longest)
    return list(summary.describe())


class Splitter:
    """Splitter of sentences that has something to say, or nothing."""

    def __init__(self, message):
        self.message = message

    def warning(self):
        return self.message


def test_lines_and_tokens_are_counted():
    first_line = summary_of([GOOD, GOOD, CUT, EMPTY_TRANSLATION])[0]
    assert first_line.startswith("4 lines in ")
    assert first_line.endswith("15 source and 8 target tokens")
    assert summary_of([GOOD])[0].startswith("1 line in ")


def test_the_settings_of_the_search_are_last():
    assert summary_of([GOOD])[-1].startswith("search: beam 3, ")


@pytest.mark.parametrize(
    ("lines", "longest", "note"),
    [
        ([GOOD, EMPTY_TRANSLATION], 5, "1 empty line in the input, empty in the output"),
        ([NOTHING, NOTHING, GOOD], 5, "2 lines with an empty translation"),
        ([CUT], 5, "1 translation cut at the largest length"),
        ([LONG, GOOD, LONG], 5, "2 lines with more than 5 tokens, the longest sentence"),
    ],
)
def test_unusual_lines_have_a_note(lines, longest, note):
    _, notes, _ = summary_of(lines, longest=longest)
    assert notes.startswith(note)


@pytest.mark.parametrize("longest", [None, 6])
def test_usual_lines_have_no_note(longest):
    assert len(summary_of([GOOD, LONG], longest=longest)) == 2


@pytest.mark.parametrize("message", ["", "de: 1 sentence was divided"])
def test_divided_sentences_have_a_note_instead_of_long_lines(message):
    notes = summary_of([LONG], longest=5, splitter=Splitter(message))[1:-1]
    assert notes == ([message] if message else [])
