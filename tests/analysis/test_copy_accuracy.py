"""Copied numbers, names and acronyms."""

from __future__ import annotations

import pytest

from polyglot.analysis.copy_accuracy import count_copies


def count(source: str, reference: str, hypothesis: str) -> dict[str, tuple[int, int]]:
    """Return correct and expected items by type, without types that do not occur."""
    counts = count_copies([source], [reference], [hypothesis], source="en", target="de")
    result = {}
    for kind, value in counts.items():
        if value.expected:
            result[kind] = (value.correct, value.expected)
    return result


def test_numbers_are_compared_by_value_and_names_by_letters() -> None:
    result = count(
        "12,158 cats of Tom Miller and the EU",
        "12.158 Katzen von Tom Miller und die EU",
        "12158 Katzen von Tom Müller und die EU",
    )
    assert result == {"number": (1, 1), "name": (0, 1), "acronym": (1, 1)}


def test_an_item_of_the_translation_counts_once() -> None:
    assert count("3 and 3 and 4", "3 und 3 und 4", "3 und 4") == {"number": (2, 3)}


def test_the_lists_have_the_same_length() -> None:
    with pytest.raises(ValueError):
        count_copies(["a"], ["b", "c"], ["d"], source="en", target="de")
