"""Lines of text with their languages."""

from __future__ import annotations

import pytest

from polyglot.core.errors import DataError
from polyglot.inference.embeddings.encoder import FIRST_CHUNK_SIZE, SentenceChunk
from polyglot.inference.embeddings.tagged_lines import chunks_from_columns, chunks_in_language

LINES = ["de\tx\tein Hund", "en\ty\tone dog", "de\tz\t"]


def read_columns(blocks, language_column=1, text_column=3):
    chunks = chunks_from_columns(
        blocks,
        language_column=language_column,
        text_column=text_column,
        place="text.tsv",
        languages=["en", "de"],
    )
    return list(chunks)


def test_all_lines_are_in_the_same_language():
    chunks = list(chunks_in_language([["a", ""], ["b"]], "de"))
    assert chunks == [SentenceChunk(["a", ""], ["de", "de"]), SentenceChunk(["b"], ["de"])]


def test_columns_contain_language_and_text():
    assert read_columns([LINES]) == [SentenceChunk(["ein Hund", "one dog", ""], ["de", "en", "de"])]


def test_the_language_may_be_in_a_later_column():
    chunks = read_columns([["one dog\ten\tx"]], language_column=2, text_column=1)
    assert chunks == [SentenceChunk(["one dog"], ["en"])]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("de\tein Hund", "found 2 columns between tabs; expected 3"),
        ("fr\tx\tun chien", "language 'fr' has no encoder. Known: de, en"),
    ],
)
@pytest.mark.parametrize("before", [0, 1, FIRST_CHUNK_SIZE + 5])
def test_an_error_names_the_line(line, message, before):
    lines = ["de\tx\tein Hund"] * before
    with pytest.raises(DataError) as error:
        read_columns([[*lines, line]])
    assert str(error.value) == f"text.tsv, line {before + 1}: {message}"
