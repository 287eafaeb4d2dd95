"""Tables with a column for each language: TSV, JSON lines and Parquet files, and what other tables share with them."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import model_validator

from polyglot.core.errors import DataError, abbreviate
from polyglot.core.registry import HomePath
from polyglot.data.cache import cached_dataset, file_fingerprint, fingerprint
from polyglot.data.text_files import (
    BLOCK,
    SMALL_BLOCK,
    estimate_line_count,
    file_problem,
    parse_json_line,
    json_rows,
    line_blocks,
    tsv_rows,
)
from polyglot.tasks.pairs import LanguagePair

from .base import CORPORA, VERSION, Corpus
from .shards import ROWS, Pair, Shard, match_files

if TYPE_CHECKING:
    import pyarrow
    from datasets import Dataset
    from pyarrow.parquet import ParquetFile


class TableCorpus(Corpus):
    """One table with a column for each language; every row is the same sentence in all of them."""

    class Config(Corpus.Config):
        columns: dict[str, str] | str = "translation.{language}"
        """Column of each language: `{de: german, en: english}`, or a pattern; a dot leads into a nested field."""

        streaming: bool = False
        """It is read while training, for text that shall not be cached."""

    def __init__(
        self, config: TableCorpus.Config, *, folder: Path, languages: Sequence[str]
    ) -> None:
        super().__init__(config, folder=folder, languages=languages)
        self._present = cache(self._find_present)
        self._whole = cache(self._read)

    @abstractmethod
    def available(self) -> Sequence[str]:
        """Names of the columns, the nested ones with dots. Raises DataError when nothing can be read."""

    @abstractmethod
    def _read(self) -> Dataset:
        """All wanted columns, each under the name of its language."""

    @property
    def heading(self) -> str:
        """Where the columns have their names from, for messages."""
        return self.name

    def ignored_languages(self) -> list[str]:
        columns = self.config.columns
        return (
            []
            if isinstance(columns, str)
            else [language for language in columns if language not in self.languages]
        )

    def columns(self) -> dict[str, str]:
        """The column of each language that has one."""
        return self._present()

    def _wanted(self) -> dict[str, str]:
        columns = self.config.columns
        if isinstance(columns, str):
            return {
                language: columns.replace("{language}", language) for language in self.languages
            }
        return {
            language: str(column)
            for language, column in columns.items()
            if language in self.languages
        }

    def _find_present(self) -> dict[str, str]:
        available = set(self.available())
        return {
            language: column for language, column in self._wanted().items() if column in available
        }

    def problems(self) -> list[str]:
        try:
            absent = [
                column
                for language, column in self._wanted().items()
                if language not in self.columns()
            ]
            if absent and (not isinstance(self.config.columns, str) or not self.columns()):
                return [f"{self.heading}: no column {abbreviate(absent)}; it has {abbreviate(self.available())}"]
        except DataError as error:
            return [str(error)]
        return []

    def missing_languages(self) -> dict[str, str]:
        if self.problems():
            return {}
        return {
            language: f"{self.heading}: no column for {language}; there are columns for {abbreviate(self.columns())}"
            for language in self.languages
            if language not in self.columns()
        }

    def pairs(self) -> set[LanguagePair]:
        return {LanguagePair(one, other) for one in self.columns() for other in self.columns()}

    def text(self, pair: LanguagePair) -> tuple[Dataset, Dataset]:
        return self._column(pair.source), self._column(pair.target)

    def _of_pair(
        self, blocks: Iterable[Mapping[str, Sequence[str]]], pair: LanguagePair
    ) -> Iterator[Pair]:
        for block in blocks:
            yield from zip(block[pair.source], block[pair.target], strict=True)

    def _column(self, language: str) -> Dataset:
        whole = self._whole()
        if not len(whole):
            raise DataError(f"{self.name}: no sentences")
        return whole.select_columns([language]).rename_column(language, "text")


class TableFile(TableCorpus):
    """A table that is one file."""

    class Config(TableCorpus.Config):
        path: HomePath
        """The file, plain or gzipped; several of one make, by a `*`, where they are streamed."""

        @model_validator(mode="after")
        def _one_file(self) -> TableFile.Config:
            if "*" in self.path and not self.streaming:
                raise ValueError(
                    f"{self.path!r} names several files, which are streamed; write streaming: true, or name each file"
                )
            return self

    @cached_property
    def paths(self) -> list[Path]:
        """More than one only where it is streamed, and none where nothing has such a name."""
        return list(match_files(self.folder, self.config.path).values())

    @property
    def path(self) -> Path:
        """The file, or the first that the columns are looked up in."""
        return next(iter(self.paths), self.folder / self.config.path)

    @property
    def name(self) -> str:
        return str(self.folder / self.config.path)

    @property
    def heading(self) -> str:
        return f"{self.path}, line 1"

    def problems(self) -> list[str]:
        return [
            problem for path in self.paths[1:] if (problem := file_problem(path))
        ] or super().problems()

    def available(self) -> Sequence[str]:
        if problem := file_problem(self.path):
            raise DataError(problem)
        return self._names(self.path)

    @abstractmethod
    def _names(self, path: Path) -> Sequence[str]:
        """The columns of a file that can be opened."""

    @abstractmethod
    def _rows(
        self, path: Path, columns: Mapping[str, str], *, start: int = 0, block: int = BLOCK
    ) -> Iterator[Mapping[str, list[str]]]:
        """Blocks of the columns by language, from a row on. block: about how many bytes of a file of lines are read at once."""

    def _about(self, path: Path) -> int:
        """How many rows a file has, about."""
        return estimate_line_count(path)

    def _tables(self) -> Iterator[pyarrow.Table]:
        return map(text_table, self._rows(self.path, self.columns()))

    def _read(self) -> Dataset:
        columns = self.columns()
        settings = self.config.model_dump_json(exclude={"weight", "streaming"})
        name = fingerprint(
            "table",
            VERSION,
            self.config.type,
            settings,
            sorted(columns.items()),
            file_fingerprint(self.path),
        )
        return cached_dataset(name, self._tables)

    def shards(self, pair: LanguagePair) -> list[Shard]:
        if not self.is_streamed:
            return super().shards(pair)
        columns = {language: self.columns()[language] for language in (pair.source, pair.target)}

        def rows(path: Path, start: int) -> Iterator[Pair]:
            if absent := set(columns.values()) - set(self._names(path)):
                raise DataError(
                    f"{path}: no column {abbreviate(sorted(absent))}; it has {abbreviate(self._names(path))}"
                )
            yield from self._of_pair(
                self._rows(path, columns, start=start, block=SMALL_BLOCK), pair
            )

        labels = [os.path.relpath(path, self.folder) for path in self.paths]
        return [
            Shard(
                str(path),
                partial(rows, path),
                label,
                path.stat().st_size,
                partial(self._about, path),
                self.first_line,
            )
            for path, label in zip(self.paths, labels)
        ]


@CORPORA.register("tsv")
class TsvCorpus(TableFile):
    """Columns separated by tabs, without quotes."""

    class Config(TableFile.Config):
        columns: dict[str, str | int] | str
        """Column of each language, by its number from 1 (`{de: 1, en: 2}`), or by its header (`{de: german}`, `"{language}"`)."""

        header: bool = False
        """The first line names the columns."""

        @model_validator(mode="after")
        def _named(self) -> TsvCorpus.Config:
            names = [self.columns] if isinstance(self.columns, str) else self.columns.values()
            if not self.header and any(not isinstance(name, int) for name in names):
                raise ValueError(
                    "columns have names only in a file with a header; write header: true, or numbers from 1"
                )
            return self

    @property
    def first_line(self) -> int:
        return 2 if self.config.header else 1

    def _names(self, path: Path) -> Sequence[str]:
        first = next(line_blocks(path, block=SMALL_BLOCK))[0].split("\t")
        return [str(number) for number in range(1, len(first) + 1)] + (
            first if self.config.header else []
        )

    def _rows(
        self, path: Path, columns: Mapping[str, str], *, start: int = 0, block: int = BLOCK
    ) -> Iterator[Mapping[str, list[str]]]:
        names = self._names(path)
        width = len(names) // 2 if self.config.header else len(names)
        numbers = {
            language: names.index(column) % width + 1 for language, column in columns.items()
        }
        return tsv_rows(path, numbers, header=self.config.header, start=start, block=block)


@CORPORA.register("jsonl")
class JsonlCorpus(TableFile):
    """One JSON object a line."""

    def _names(self, path: Path) -> Sequence[str]:
        return list(_nested(parse_json_line(path, 1, next(line_blocks(path, block=SMALL_BLOCK))[0])))

    def _rows(
        self, path: Path, columns: Mapping[str, str], *, start: int = 0, block: int = BLOCK
    ) -> Iterator[Mapping[str, list[str]]]:
        return json_rows(path, columns, start=start, block=block)


@CORPORA.register("parquet")
class ParquetCorpus(TableFile):
    """A Parquet file; a row without text in some language is an empty sentence there."""

    @property
    def heading(self) -> str:
        return self.name

    def _names(self, path: Path) -> Sequence[str]:
        return column_names(self._open(path).schema_arrow)

    def _tables(self) -> Iterator[pyarrow.Table]:
        # a file without rows has columns, too
        yield select_texts(
            self._open(self.path).schema_arrow.empty_table(), self.columns(), place=str(self.path)
        )
        yield from self._parts(self.path, self.columns(), rows=1 << 16)

    def _rows(
        self, path: Path, columns: Mapping[str, str], *, start: int = 0, block: int = BLOCK
    ) -> Iterator[Mapping[str, list[str]]]:
        return (table.to_pydict() for table in self._parts(path, columns, rows=ROWS, start=start))

    def _parts(
        self, path: Path, columns: Mapping[str, str], *, rows: int, start: int = 0
    ) -> Iterator[pyarrow.Table]:
        """From a row on; groups of rows before it are not read."""
        import pyarrow

        tops = sorted({column.split(".")[0] for column in columns.values()})
        file, groups = self._open(path), []
        for group in range(file.metadata.num_row_groups):
            own = file.metadata.row_group(group).num_rows
            if groups or own > start:
                groups.append(group)
            else:
                start -= own
        try:
            for batch in file.iter_batches(batch_size=rows, columns=tops, row_groups=groups):
                if len(batch) > start:
                    yield select_texts(
                        pyarrow.Table.from_batches([batch]).slice(start), columns, place=str(path)
                    )
                start = max(0, start - len(batch))
        except (OSError, pyarrow.ArrowInvalid) as error:
            raise DataError(f"{path}: the Parquet file is damaged: {error}") from None

    def _about(self, path: Path) -> int:
        return self._open(path).metadata.num_rows

    def _open(self, path: Path) -> ParquetFile:
        import pyarrow
        from pyarrow.parquet import ParquetFile

        try:
            return ParquetFile(path)
        except (OSError, pyarrow.ArrowInvalid) as error:
            raise DataError(f"{path}: no Parquet file: {error}") from None


def text_table(columns: Mapping[str, list[str]]) -> pyarrow.Table:
    import pyarrow

    return pyarrow.table(
        {name: pyarrow.array(texts, pyarrow.string()) for name, texts in columns.items()}
    )


def select_texts(table: pyarrow.Table, columns: Mapping[str, str], *, place: str) -> pyarrow.Table:
    """The wanted, perhaps nested columns under the names of their languages, one line each."""
    import pyarrow
    from pyarrow import compute

    wanted = {}
    for language, column in columns.items():
        top, *inner = column.split(".")
        values = table.column(top)
        for field in inner:
            values = compute.struct_field(values, field)
        if not (pyarrow.types.is_string(values.type) or pyarrow.types.is_large_string(values.type)):
            raise DataError(f"{place}: the column {column} holds {values.type}, not text")
        try:
            values.validate(full=True)
        except pyarrow.ArrowInvalid as error:
            raise DataError(f"{place}: the column {column} is damaged: {error}") from None
        lines = compute.replace_substring_regex(
            values.cast(pyarrow.string()), pattern=r"[\r\n]+", replacement=" "
        )
        wanted[language] = compute.fill_null(lines, "")
    return pyarrow.table(wanted)


def column_names(schema: pyarrow.Schema) -> list[str]:
    return [name for field in schema for name in _field_names(field)]


def _field_names(field: pyarrow.Field, prefix: str = "") -> Iterator[str]:
    import pyarrow

    yield prefix + field.name
    if pyarrow.types.is_struct(field.type):
        for inner in field.type:
            yield from _field_names(inner, f"{prefix}{field.name}.")


def _nested(value: object, prefix: str = "") -> Iterator[str]:
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield prefix + key
        yield from _nested(inner, f"{prefix}{key}.")
