"""Checks of the sentences that a caller passes, and the form of the text that is returned."""

from __future__ import annotations

import re
from collections.abc import Iterable

from polyglot.core.errors import DataError
from polyglot.data.text_files import LONE_SURROGATE


def check_sentences(sentences: Iterable[str], language: str) -> list[str]:
    """Return the sentences as a list. Raises DataError if they are not an iterable of text."""
    if isinstance(sentences, str):
        raise DataError(
            f"{language}: a list of sentences is expected, "
            f"found the single string {sentences[:40]!r}; put it in a list"
        )
    if not isinstance(sentences, Iterable):
        raise DataError(f"{language}: a list of sentences is expected, found {sentences!r}")

    checked = list(sentences)
    for number, sentence in enumerate(checked, start=1):
        if not isinstance(sentence, str):
            raise DataError(f"{language}: sentence {number} should be a string, found {sentence!r}")
        if LONE_SURROGATE.search(sentence):
            raise DataError(
                f"{language}: sentence {number} contains half a character (a lone surrogate), "
                f"which is not valid text: {sentence[:40]!r}"
            )
    return checked


def to_one_line(text: str) -> str:
    """Replace line breaks, which a model with byte pieces can write, by spaces."""
    return re.sub(r"[\r\n]+", " ", text).strip()
