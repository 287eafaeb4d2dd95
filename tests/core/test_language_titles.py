"""English names of languages."""

from __future__ import annotations

import pytest

from polyglot.core.language_titles import language_title


@pytest.mark.parametrize(
    ("code", "title"),
    [
        ("de", "German"),
        ("deu_Latn", "German"),
        ("en_XX", "English"),
        ("hsb", "Upper Sorbian"),
        ("sr_latin", "Serbian, Latin"),
        ("en_GB", "English, United Kingdom"),
        ("elvish", "elvish"),
    ],
)
def test_title(code, title):
    assert language_title(code) == title
