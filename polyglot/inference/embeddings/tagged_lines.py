"""Lines with their languages: one language for all of them, or a column that names it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from polyglot.core.errors import DataError
from polyglot.inference.embeddings.encoder import SentenceChunk, split_chunks


def chunks_in_language(blocks: Iterable[list[str]], language: str) -> Iterator[SentenceChunk]:
    """Every line is a sentence of that language."""
    for lines in split_chunks(blocks):
        yield SentenceChunk(lines, [language] * len(lines))


def chunks_from_columns(
    blocks: Iterable[list[str]], *, language: int, text: int, place: str, known: Iterable[str]
) -> Iterator[SentenceChunk]:
    """Tab-separated lines; columns count from 1. Raises DataError with the line for a column that lacks or a language that is not known."""
    known, done = set(known), 0
    for lines in split_chunks(blocks):
        rows = [line.split("\t") for line in lines]
        for number, row in enumerate(rows, start=done + 1):
            if len(row) < max(language, text):
                raise DataError(
                    f"{place}, line {number}: {len(row)} of the {max(language, text)} columns that are needed; tabs separate them"
                )
            if row[language - 1] not in known:
                raise DataError(
                    f"{place}, line {number}: language {row[language - 1]!r} has no encoder; known: {', '.join(sorted(known))}"
                )
        done += len(lines)
        yield SentenceChunk([row[text - 1] for row in rows], [row[language - 1] for row in rows])
