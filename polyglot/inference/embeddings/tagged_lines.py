"""Lines of text with their languages: one language for all lines, or a column with the language."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from polyglot.core.errors import DataError
from polyglot.inference.embeddings.encoder import SentenceChunk, split_chunks


def chunks_in_language(blocks: Iterable[list[str]], language: str) -> Iterator[SentenceChunk]:
    """Yield chunks of sentences that are all in the same language."""
    for lines in split_chunks(blocks):
        yield SentenceChunk(lines, [language] * len(lines))


def chunks_from_columns(
    blocks: Iterable[list[str]], *, language: int, text: int, place: str, known: Iterable[str]
) -> Iterator[SentenceChunk]:
    """Yield chunks of tab-separated lines.

    language, text: numbers of the columns, from 1. place: name of the file in messages. Raises
    DataError, with the line number, for a missing column or a language that is not in `known`.
    """
    languages = set(known)
    done = 0
    for lines in split_chunks(blocks):
        rows = [line.split("\t") for line in lines]
        for number, row in enumerate(rows, start=done + 1):
            _check_row(
                row,
                columns=max(language, text),
                language=language,
                languages=languages,
                place=f"{place}, line {number}",
            )
        done += len(lines)
        yield SentenceChunk([row[text - 1] for row in rows], [row[language - 1] for row in rows])


def _check_row(
    row: Sequence[str], *, columns: int, language: int, languages: Collection[str], place: str
) -> None:
    if len(row) < columns:
        raise DataError(f"{place}: found {len(row)} columns between tabs; expected {columns}")
    name = row[language - 1]
    if name not in languages:
        known = ", ".join(sorted(languages))
        raise DataError(f"{place}: language {name!r} has no encoder. Known: {known}")
