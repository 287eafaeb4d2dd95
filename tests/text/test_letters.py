"""Share of letters in a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglot.text.letters import letter_share, letter_shares


@pytest.mark.parametrize(
    ("line", "share"),
    [
        ("abc", 1.0),
        ("a b\tc", 1.0),
        ("ab12", 0.5),
        ("a...", 0.25),
        ("== 12 ==", 0.0),
        ("की", 1.0),
        ("e\u0301!", 2 / 3),
        ("犬。", 0.5),
        ("", 1.0),
        (" \u200b", 1.0),
    ],
)
def test_examples(line, share):
    assert letter_share(line) == pytest.approx(share)


@given(st.lists(st.text()))
def test_shares_are_between_0_and_1_and_spaces_do_not_count(lines):
    for line, share in zip(lines, letter_shares(lines), strict=True):
        assert 0 <= share <= 1
        assert letter_share(f" {line}\u2003") == share
