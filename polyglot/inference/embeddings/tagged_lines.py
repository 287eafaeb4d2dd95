"""Lines of text with their languages: one language for all lines, or a column with the language."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from polyglot.core.errors import DataError
from polyglot.core.language_codes import resolve_language
from polyglot.data.row_files import without_blank_end
from polyglot.inference.embeddings.encoder import SentenceChunk, split_chunks


def chunks_in_language(blocks: Iterable[list[str]], language: str) -> Iterator[SentenceChunk]:
    """Yield chunks of sentences that are all in the same language."""
    for lines in split_chunks(blocks):
        yield SentenceChunk(lines, [language] * len(lines))


def chunks_from_columns(
    blocks: Iterable[list[str]],
    *,
    language_column: int,
    text_column: int,
    place: str,
    languages: Collection[str],
) -> Iterator[SentenceChunk]:
    """Yield chunks of tab-separated lines; columns are numbered from 1.

    place: name of the file in messages. languages: the languages that can be encoded. Raises
    DataError, with the line number, for a missing column or another language.
    """
    done = 0
    for lines in split_chunks(without_blank_end(blocks)):
        sentences = []
        sentence_languages = []
        for number, line in enumerate(lines, start=done + 1):
            columns = line.split("\t")
            expected = max(language_column, text_column)
            if len(columns) < expected:
                raise DataError(
                    f"{place}, line {number}: found {len(columns)} columns between tabs; "
                    f"expected {expected}"
                )
            language = resolve_language(columns[language_column - 1], languages)
            if language not in languages:
                listed = ", ".join(sorted(languages))
                raise DataError(
                    f"{place}, line {number}: language {language!r} has no encoder. Known: {listed}"
                )
            sentences.append(columns[text_column - 1])
            sentence_languages.append(language)
        done += len(lines)
        yield SentenceChunk(sentences, sentence_languages)
