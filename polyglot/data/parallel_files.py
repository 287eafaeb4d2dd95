"""Parallel text of any number of languages in files, read block by block, as often as needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from polyglot.core.errors import DataError, abbreviate, pluralize
from polyglot.data.compression import SUFFIXES
from polyglot.data.row_files import tsv_rows
from polyglot.data.text_files import SMALL_BLOCK, file_problem, line_blocks
from polyglot.tasks.pairs import LANGUAGE_CODE

ROWS = 1 << 14
"""Rows of text files that are in memory together."""

TABLE_ENDINGS = ("tsv", "csv")
NO_LANGUAGES = ("txt", "text", *TABLE_ENDINGS)
"""Usual endings of file names that name no language."""


@dataclass(frozen=True)
class RowBlock:
    """Some rows of a parallel text, in order."""

    texts: dict[str, list[str]]
    """lines of each language; line n of each is the same sentence"""
    documents: list[str] | None
    """identifier of the document of each row; None if it is not known"""

    def __len__(self) -> int:
        return len(next(iter(self.texts.values())))


class ParallelText(ABC):
    """Rows with a sentence in each language."""

    languages: Sequence[str]

    @property
    @abstractmethod
    def paths(self) -> list[Path]:
        """Files of the text."""

    @property
    @abstractmethod
    def stem(self) -> str:
        """Name of the text: that of the first file, without language and compression."""

    @abstractmethod
    def blocks(self) -> Iterator[RowBlock]:
        """Yield all rows. Raises DataError for files that cannot be used or are not parallel."""

    def check(self) -> None:
        """Raise DataError with all problems of the files that show without reading them."""
        problems = []
        for path in self.paths:
            problem = file_problem(path)
            if problem:
                problems.append(problem)
        if problems:
            raise DataError("\n".join(problems))


class TextFiles(ParallelText):
    """A file for each language; line n of each is the same sentence."""

    def __init__(self, files: Mapping[str, Path], *, documents: Path | None = None) -> None:
        """files: file of each language. documents: file with the document of each line."""
        self.languages = list(files)
        self._files = dict(files)
        self._documents = documents
        self.check()

    @property
    def paths(self) -> list[Path]:
        paths = list(self._files.values())
        if self._documents:
            paths.append(self._documents)
        return paths

    @property
    def stem(self) -> str:
        return divide_name(self.paths[0])[0]

    def blocks(self) -> Iterator[RowBlock]:
        lines = []
        for path in self.paths:
            blocks = line_blocks(path, block=SMALL_BLOCK)
            lines.append(chain.from_iterable(blocks))

        row = 0
        while True:
            columns = [list(islice(column, ROWS)) for column in lines]
            sizes = [len(column) for column in columns]
            if min(sizes) < max(sizes):
                raise DataError(self._length_message(row, sizes, lines))
            if not sizes[0]:
                return
            row += sizes[0]
            documents = columns.pop() if self._documents else None
            texts = dict(zip(self.languages, columns, strict=True))
            yield RowBlock(texts, documents)

    def _length_message(
        self,
        row: int,
        sizes: Sequence[int],
        lines: Sequence[Iterator[str]],
    ) -> str:
        """Message for files of different lengths. row: rows before; sizes: lines read after it."""
        shortest = min(range(len(sizes)), key=sizes.__getitem__)
        longest = max(range(len(sizes)), key=sizes.__getitem__)
        rest = sum(1 for _ in lines[longest])
        return (
            f"{self.paths[shortest]} has {pluralize(row + sizes[shortest], 'line')}, "
            f"but {self.paths[longest]} has {row + sizes[longest] + rest}; "
            "line n of all files must be the same sentence"
        )


class TsvTable(ParallelText):
    """Table with a column for each language, separated by tabs, without quotes."""

    def __init__(
        self,
        path: Path,
        columns: Mapping[str, str],
        *,
        header: bool = False,
        documents: str | None = None,
    ) -> None:
        """columns: number of the column of each language, from 1, or its name in the header.

        documents: column with the document of each row. Raises DataError for a missing column.
        """
        self.languages = list(columns)
        self._path = path
        self._header = header
        self.check()
        first_line = next(line_blocks(path, block=SMALL_BLOCK))[0]
        self._names = first_line.split("\t")
        self._columns = {}
        for language, column in columns.items():
            self._columns[language] = self._column_number(column)
        self._documents = self._column_number(documents) if documents else None

    @property
    def paths(self) -> list[Path]:
        return [self._path]

    @property
    def stem(self) -> str:
        return divide_name(self._path)[0]

    def blocks(self) -> Iterator[RowBlock]:
        columns = dict(self._columns)
        if self._documents:
            columns[""] = self._documents
        for texts in tsv_rows(self._path, columns, header=self._header, block=SMALL_BLOCK):
            documents = texts.pop("", None)
            block = RowBlock(texts, documents)
            if len(block):
                yield block

    def _column_number(self, column: str) -> int:
        if self._header and column in self._names:
            return self._names.index(column) + 1
        if column.isdecimal() and 1 <= int(column) <= len(self._names):
            return int(column)
        numbers = f"columns 1 to {len(self._names)}"
        if self._header:
            numbers = f"{abbreviate(self._names)}, or their numbers"
        raise DataError(f"{self._path}, line 1: no column {column!r}; it has {numbers}")


def divide_name(path: Path) -> tuple[str, str]:
    """Return the name of a file before its last ending, and that ending, such as a language.

    `news.en.gz` -> (`news`, `en`). The ending of a compressed file is left out.
    """
    name = path.name
    if path.suffix in SUFFIXES:
        name = path.stem
    stem, dot, ending = name.rpartition(".")
    if not dot:
        return name, ""
    return stem, ending


def name_languages(paths: Sequence[Path], languages: Sequence[str] | None) -> dict[str, Path]:
    """Return the file of each language.

    languages: those of the files, in order; by default the endings of their names.
    Raises DataError if a name is missing, is used twice or is no language code.
    """
    if languages is None:
        languages = [_language_of(path) for path in paths]
    if len(languages) != len(paths):
        raise DataError(
            f"--languages: {pluralize(len(languages), 'name')} for {pluralize(len(paths), 'file')};"
            " name the language of each file, such as --languages en,fi"
        )
    check_languages(languages)
    return dict(zip(languages, paths, strict=True))


def check_languages(languages: Sequence[str]) -> None:
    """Raise DataError for names that cannot be languages of a configuration."""
    for language in languages:
        if not LANGUAGE_CODE.fullmatch(language):
            raise DataError(
                f"{language!r} is no language code; letters, digits and _ are, such as en or pt_BR"
            )
        if languages.count(language) > 1:
            raise DataError(
                f"two files or columns have the language {language}; name the language of each, "
                "such as --languages en,fi"
            )


def _language_of(path: Path) -> str:
    _, ending = divide_name(path)
    if ending in TABLE_ENDINGS:
        raise DataError(
            f"{path}: a table; name the column of each language, such as --columns en=1,fi=2"
        )
    if ending in NO_LANGUAGES or not LANGUAGE_CODE.fullmatch(ending):
        raise DataError(
            f"{path}: the ending of its name is no language; "
            "name the language of each file, such as --languages en,fi"
        )
    return ending
