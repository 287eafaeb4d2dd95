"""Examples of a pair: all sentences of a short text, else the worst, the best and the first."""

from __future__ import annotations

from typing import Any

import pytest

from polyglot.report.sections.examples import _pair_examples

SENTENCES = ["one dog", "two dogs", "three dogs", "four dogs", "five dogs"]


class FakeEvaluation:
    """Evaluation with one text; the translations of the last sentences are wrong."""

    def __init__(self, wrong: int) -> None:
        right = len(SENTENCES) - wrong
        self.translations = SENTENCES[:right] + ["xyz"] * wrong

    def text(self, name: str) -> list[str]:
        return SENTENCES

    def hypotheses(self, cell: dict[str, Any]) -> list[str]:
        return self.translations


def example_rows(*, count: int, scored: int, sentences: int = 5) -> list[int] | None:
    cell = {"source_text": "", "reference_text": "", "via": None, "sentences": sentences}
    examples = _pair_examples(FakeEvaluation(wrong=2), [cell], count, scored=scored)
    if examples is None:
        return None
    for example in examples:
        [(via, _, score)] = example["outputs"]
        assert via == ""
        assert score == (0 if example["row"] > 3 else 100)
    return [example["row"] for example in examples]


@pytest.mark.parametrize("count", [5, 6])
@pytest.mark.parametrize("scored", [2, 5, 9])
def test_a_short_text_has_all_its_sentences(count, scored):
    assert example_rows(count=count, scored=scored) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("count", [3, 4])
def test_a_long_text_has_as_many_sentences_as_wanted(count):
    rows = example_rows(count=count, scored=5)
    assert len(rows) == count
    assert rows == sorted(rows)
    assert {4, 5} & set(rows), "one of the worst"


def test_a_file_with_another_number_of_lines_has_no_examples():
    assert example_rows(count=5, scored=5, sentences=4) is None
