"""Base classes of corpora in tables with a column for each language."""

from __future__ import annotations

import logging
import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import model_validator

from polyglot.core.errors import DataError, abbreviate
from polyglot.core.registry import HomePath
from polyglot.data.cache import cached_dataset, file_fingerprint, fingerprint
from polyglot.data.dataset_fingerprint import dataset_fingerprint
from polyglot.data.text_files import BLOCK, SMALL_BLOCK, estimate_line_count, file_problem
from polyglot.tasks.pairs import LanguagePair

from .arrow_tables import empty_text_table, text_table
from .base import VERSION, Corpus
from .nulls import NullCounts
from .shards import Pair, Shard, match_files

if TYPE_CHECKING:
    import pyarrow
    from datasets import Dataset

logger = logging.getLogger("polyglot")


class TableCorpus(Corpus):
    """Table with a column for each language; every row is the same sentence in all of them."""

    class Config(Corpus.Config):
        """Names of the columns."""

        columns: dict[str, str] | str = "translation.{language}"
        """Column of each language: `{de: german, en: english}`, or a pattern. `translation.de` is
        the column of that name or, if there is none, the field `de` of the column `translation`."""

        streaming: bool = False
        """Read the text during training instead of caching it."""

    def __init__(
        self,
        config: TableCorpus.Config,
        *,
        folder: Path,
        languages: Sequence[str],
    ) -> None:
        super().__init__(config, folder=folder, languages=languages)
        self.columns = cache(self._find_columns)
        """Returns the column of each language that has one."""
        self._table = cache(self._read)
        self._arrow_table = cache(self._read_arrow_table)
        self._text_of = cache(self._language_text)
        """Returns the text of a language: many pairs have the same one."""
        self._logged_places: set[str] = set()
        """Places whose number of nulls is in the log."""

    @abstractmethod
    def available_columns(self) -> Sequence[str]:
        """Names of all columns, nested ones with dots. Raises DataError for an unreadable table."""

    @abstractmethod
    def _read(self) -> Dataset:
        """Dataset with the column of each language under the name of the language."""

    @property
    def header_location(self) -> str:
        """Place of the names of the columns, for messages."""
        return self.name

    def ignored_languages(self) -> list[str]:
        columns = self.config.columns
        if isinstance(columns, str):
            return []
        return [language for language in columns if language not in self.languages]

    def _configured_columns(self) -> dict[str, str]:
        """Column of each language of the run, according to the settings."""
        setting = self.config.columns
        columns = {}
        for language in self.languages:
            if isinstance(setting, str):
                columns[language] = setting.replace("{language}", language)
            elif language in setting:
                columns[language] = str(setting[language])
        return columns

    def _find_columns(self) -> dict[str, str]:
        available = set(self.available_columns())
        columns = {}
        for language, column in self._configured_columns().items():
            if column in available:
                columns[language] = column
        return columns

    def _pair_columns(self, pair: LanguagePair) -> dict[str, str]:
        columns = self.columns()
        return {language: columns[language] for language in (pair.source, pair.target)}

    def problems(self) -> list[str]:
        try:
            return self._column_problems()
        except DataError as error:
            return [str(error)]

    def _column_problems(self) -> list[str]:
        columns = self.columns()
        missing = []
        for language, column in self._configured_columns().items():
            if language not in columns:
                missing.append(column)

        # A pattern may fit some of the languages only; a listed column has to exist.
        is_pattern = isinstance(self.config.columns, str)
        if not missing or (is_pattern and columns):
            return []
        available = abbreviate(self.available_columns())
        return [f"{self.header_location}: no column {abbreviate(missing)}; it has {available}"]

    def missing_languages(self) -> dict[str, str]:
        if self.problems():
            return {}
        messages = {}
        for language in self.languages:
            if language not in self.columns():
                messages[language] = (
                    f"{self.header_location}: no column for {language}; "
                    f"there are columns for {abbreviate(self.columns())}"
                )
        return messages

    def pairs(self) -> set[LanguagePair]:
        pairs = set()
        for source in self.columns():
            for target in self.columns():
                pairs.add(LanguagePair(source, target))
        return pairs

    def _cached_texts(self, name: str, tables: Callable[[], Iterable[pyarrow.Table]]) -> Dataset:
        """Dataset with empty sentences for nulls, from the cache; logs the number of nulls.

        name: fingerprint. tables: returns tables with a column of text for each language, at least
        one, which may have no rows.
        """
        nulls = NullCounts()

        def filled_tables() -> Iterator[pyarrow.Table]:
            for table in tables():
                yield nulls.fill_table(table)

        def count_tables() -> Iterator[pyarrow.Table]:
            import pyarrow

            if not nulls.counts:  # the dataset was in the cache already
                for _ in filled_tables():
                    pass
            counts = {language: [count] for language, count in nulls.counts.items()}
            yield pyarrow.table(counts)

        dataset = cached_dataset(name, filled_tables)
        [counts] = cached_dataset(fingerprint("nulls", name), count_tables).to_list()
        self._log_nulls(self.name, NullCounts(counts))
        return dataset

    def _filled_rows(
        self,
        place: str,
        rows: Iterable[Mapping[str, list[str | None]]],
        pair: LanguagePair,
    ) -> Iterator[Pair]:
        """Yield the sentence pairs of streamed rows, with empty sentences for nulls.

        The number of nulls is logged at the end; a first line comes with the first null.
        """
        nulls = NullCounts()
        for texts in rows:
            filled = nulls.fill_lists(texts)
            if nulls:
                self._log_nulls(f"{self.name} (first ones)", nulls)
            yield from zip(filled[pair.source], filled[pair.target], strict=True)
        self._log_nulls(f"{place} ({pair})", nulls)

    def _log_nulls(self, place: str, nulls: NullCounts) -> None:
        """Log the number of nulls of a place once."""
        if nulls and place not in self._logged_places:
            self._logged_places.add(place)
            logger.info(nulls.message(place))

    def text(self, pair: LanguagePair) -> tuple[Dataset, Dataset]:
        return self._text_of(pair.source), self._text_of(pair.target)

    def _language_text(self, language: str) -> Dataset:
        """Column of a language.

        `Dataset.select_columns` would copy the descriptions of the columns of all languages.
        """
        from datasets import Dataset
        from datasets.table import InMemoryTable

        table = self._table()
        if not len(table):
            raise DataError(f"{self.name}: no sentences")
        column = self._arrow_table().select([language]).rename_columns(["text"])
        name = fingerprint("column", dataset_fingerprint(table), language)
        return Dataset(InMemoryTable(column), fingerprint=name)

    def _read_arrow_table(self) -> pyarrow.Table:
        """Table as Arrow's own type; the rows stay on the disk."""
        rows = self._table().with_format("arrow")[:]
        return rows.replace_schema_metadata(None)


class TableFile(TableCorpus):
    """Table that is a single file, or several files if it is streamed."""

    class Config(TableCorpus.Config):
        """Name of the file."""

        path: HomePath
        """The file, plain or compressed. If it is streamed, `*` may stand for several files with
        the same columns."""

        @model_validator(mode="after")
        def _check_single_file(self) -> TableFile.Config:
            if "*" in self.path and not self.streaming:
                raise ValueError(
                    f"{self.path!r} names several files, which are streamed; "
                    "write streaming: true, or name each file"
                )
            return self

    @cached_property
    def paths(self) -> list[Path]:
        """All files; several only if they are streamed, none if no file matches the pattern."""
        return list(match_files(self.folder, self.config.path).values())

    @property
    def path(self) -> Path:
        """The file; of several files the first, which determines the columns."""
        if self.paths:
            return self.paths[0]
        return self.folder / self.config.path

    @cached_property
    def name(self) -> str:
        return str(self.folder / self.config.path)

    @property
    def header_location(self) -> str:
        return f"{self.path}, line 1"

    def problems(self) -> list[str]:
        problems = []
        for path in self.paths[1:]:
            problem = file_problem(path)
            if problem:
                problems.append(problem)
        return problems or super().problems()

    def available_columns(self) -> Sequence[str]:
        problem = file_problem(self.path)
        if problem:
            raise DataError(problem)
        return self._column_names(self.path)

    @abstractmethod
    def _column_names(self, path: Path) -> Sequence[str]:
        """Names of the columns of a file that can be opened."""

    @abstractmethod
    def _rows(
        self,
        path: Path,
        columns: Mapping[str, str],
        *,
        start: int = 0,
        block: int = BLOCK,
    ) -> Iterator[Mapping[str, list[str | None]]]:
        """Yield blocks of rows, with the texts of each language; None is null.

        columns: column of each language. start: first row, from 0. block: about how many bytes of
        a text file are read at a time.
        """

    def _estimate_rows(self, path: Path) -> int:
        """Estimated number of rows of a file."""
        return estimate_line_count(path)

    def _tables(self) -> Iterator[pyarrow.Table]:
        """Yield the columns of all languages, block by block; the first block has no rows."""
        yield empty_text_table(self.columns())
        for texts in self._rows(self.path, self.columns()):
            yield text_table(texts)

    def _read(self) -> Dataset:
        columns = self.columns()
        settings = self.config.text_settings(exclude={"streaming"})
        name = fingerprint(
            "table",
            VERSION,
            self.config.type,
            settings,
            sorted(columns.items()),
            file_fingerprint(self.path),
        )
        return self._cached_texts(name, self._tables)

    def shards(self, pair: LanguagePair) -> list[Shard]:
        if not self.is_streamed:
            return super().shards(pair)
        return [self._file_shard(path, pair) for path in self.paths]

    def _file_shard(self, path: Path, pair: LanguagePair) -> Shard:
        return Shard(
            name=str(path),
            rows=partial(self._file_rows, path, pair),
            label=os.path.relpath(path, self.folder),
            size=path.stat().st_size,
            estimate_rows=partial(self._estimate_rows, path),
            first_line=self.first_line,
        )

    def _file_rows(self, path: Path, pair: LanguagePair, start: int) -> Iterator[Pair]:
        """Yield the sentence pairs of a file from a row on."""
        columns = self._pair_columns(pair)
        available = self._column_names(path)
        missing = set(columns.values()) - set(available)
        if missing:
            raise DataError(
                f"{path}: no column {abbreviate(sorted(missing))}; it has {abbreviate(available)}"
            )
        rows = self._rows(path, columns, start=start, block=SMALL_BLOCK)
        yield from self._filled_rows(str(path), rows, pair)
