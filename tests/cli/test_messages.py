"""Messages of errors: their length and their characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglot.cli.app import shorten

PRINTABLE = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20)


@pytest.mark.parametrize(
    ("size", "shown"), [(6, "Ähre"), (5, "Ähre"), (4, "Ähr …"), (2, "Ä …"), (1, " …"), (0, " …")]
)
def test_the_size_of_a_message_is_that_in_utf_8(size, shown):
    """`Ähre` has five bytes; half a letter is left out."""
    assert shorten("Ähre", size) == shown


def test_control_characters_are_visible_in_messages():
    assert shorten("\x1b[31mred", 100) == "\\x1b[31mred"


@given(text=PRINTABLE, size=st.integers(0, 80))
def test_a_long_message_is_cut_and_a_short_one_is_not(text, size):
    length = len(text.encode())
    result = shorten(text, size)
    if length <= size:
        assert result == text
        return
    start = result.removesuffix(" …")
    assert text.startswith(start)
    assert size - 3 <= len(start.encode()) <= size  # a letter has at most four bytes
