"""Formats of numbers in all tables."""

from __future__ import annotations

import pytest

from polyglot.core.score_tables import (
    format_difference,
    format_mean,
    format_number,
    format_percent,
)


def test_a_missing_number_is_a_dash() -> None:
    assert format_number(None) == format_difference(None) == format_percent(None) == "–"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (format_number(12345.67), "12,345.7"),
        (format_number(2, digits=0), "2"),
        (format_difference(0.25), "+0.25"),
        (format_difference(-1, digits=1), "-1.0"),
        (format_percent(0.125), "12.5 %"),
        (format_percent(0), "0.0 %"),
        (format_percent(0.125, digits=0), "12 %"),
        (format_percent(0.125, expected=0.004), "12.5 (0.4) %"),
        (format_percent(0.125, expected=0), "12.5 (0.0) %"),
        (format_mean(31.4, None), "31.40"),
        (format_mean(31.4, 0.2, digits=1), "31.4 ± 0.2"),
    ],
)
def test_formats_of_numbers(text: str, expected: str) -> None:
    assert text == expected
