"""Corpora in TSV, JSON lines and Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import model_validator

from polyglot.core.errors import DataError
from polyglot.data.compression import open_error_message
from polyglot.data.open_files import PooledFile
from polyglot.data.row_files import json_columns, json_rows, tsv_rows
from polyglot.data.text_files import BLOCK, SMALL_BLOCK, line_blocks

from .arrow_tables import LARGE_BLOCK_ROWS, column_names, select_texts, top_columns
from .base import CORPORA
from .shards import ROWS
from .tables import TableFile

if TYPE_CHECKING:
    import pyarrow
    from pyarrow.parquet import ParquetFile


@CORPORA.register("tsv")
class TsvCorpus(TableFile):
    """Columns separated by tabs, without quotes."""

    class Config(TableFile.Config):
        """Names or numbers of the columns."""

        columns: dict[str, str | int] | str
        """Column of each language, by its number from 1 (`{de: 1, en: 2}`), or by its header
        (`{de: german}`, `"{language}"`)."""

        header: bool = False
        """The first line names the columns."""

        escaped: bool = False
        """Tabs, line breaks and backslashes in the texts are written as `\\t`, `\\n`, `\\r` and
        `\\\\`, as in the tables that `polyglot` prints."""

        def text_settings(self, *, exclude: AbstractSet[str] = frozenset()) -> str:
            # Absent from the keys of text that was cached before the setting existed.
            unused = set() if self.escaped else {"escaped"}
            return super().text_settings(exclude={*exclude, *unused})

        @model_validator(mode="after")
        def _check_header(self) -> TsvCorpus.Config:
            if isinstance(self.columns, str):
                names = [self.columns]
            else:
                names = self.columns.values()
            if not self.header and any(isinstance(name, str) for name in names):
                raise ValueError(
                    "columns have names only in a file with a header; "
                    "write header: true, or numbers from 1"
                )
            return self

    @property
    def first_line(self) -> int:
        return 2 if self.config.header else 1

    def _column_names(self, path: Path) -> Sequence[str]:
        """Numbers of the columns, then their names if there is a header."""
        first_block = next(line_blocks(path, block=SMALL_BLOCK))
        fields = first_block[0].split("\t")
        numbers = [str(number) for number in range(1, len(fields) + 1)]
        return numbers + fields if self.config.header else numbers

    def _rows(
        self,
        path: Path,
        columns: Mapping[str, str],
        *,
        start: int = 0,
        block: int = BLOCK,
    ) -> Iterator[Mapping[str, list[str | None]]]:
        names = self._column_names(path)
        width = len(names) // 2 if self.config.header else len(names)
        numbers = {}
        for language, column in columns.items():
            numbers[language] = names.index(column) % width + 1
        return tsv_rows(
            path,
            numbers,
            header=self.config.header,
            escaped=self.config.escaped,
            start=start,
            block=block,
        )


@CORPORA.register("jsonl")
class JsonlCorpus(TableFile):
    """One JSON object per line."""

    def _column_names(self, path: Path) -> Sequence[str]:
        return json_columns(path)

    def _rows(
        self,
        path: Path,
        columns: Mapping[str, str],
        *,
        start: int = 0,
        block: int = BLOCK,
    ) -> Iterator[Mapping[str, list[str | None]]]:
        return json_rows(path, columns, start=start, block=block)


@CORPORA.register("parquet")
class ParquetCorpus(TableFile):
    """A Parquet file."""

    @property
    def header_location(self) -> str:
        return self.name

    def _column_names(self, path: Path) -> Sequence[str]:
        with _open_parquet(path) as file:
            return column_names(file.schema_arrow)

    def _estimate_rows(self, path: Path) -> int:
        with _open_parquet(path) as file:
            return file.metadata.num_rows

    def _tables(self) -> Iterator[pyarrow.Table]:
        # A file without rows has its columns, too.
        with _open_parquet(self.path) as file:
            empty = file.schema_arrow.empty_table()
        yield select_texts(empty, self.columns(), place=str(self.path))
        yield from self._row_tables(self.path, self.columns(), rows=LARGE_BLOCK_ROWS)

    def _rows(
        self,
        path: Path,
        columns: Mapping[str, str],
        *,
        start: int = 0,
        block: int = BLOCK,
    ) -> Iterator[Mapping[str, list[str | None]]]:
        for table in self._row_tables(path, columns, rows=ROWS, start=start):
            yield table.to_pydict()

    def _row_tables(
        self,
        path: Path,
        columns: Mapping[str, str],
        *,
        rows: int,
        start: int = 0,
    ) -> Iterator[pyarrow.Table]:
        """Yield tables of some rows, from row `start` on; row groups before it are not read."""
        import pyarrow

        with _open_parquet(path) as file:
            groups, skipped_rows = _row_groups_from(file, start)
            names = top_columns(file.schema_arrow, columns.values())
            for batch in file.iter_batches(batch_size=rows, columns=names, row_groups=groups):
                if len(batch) > skipped_rows:
                    table = pyarrow.Table.from_batches([batch]).slice(skipped_rows)
                    yield select_texts(table, columns, place=str(path))
                skipped_rows = max(0, skipped_rows - len(batch))


@contextmanager
def _open_parquet(path: Path) -> Iterator[ParquetFile]:
    """Open a Parquet file; raises DataError for a failure while it is read."""
    import pyarrow
    from pyarrow.parquet import ParquetFile

    problem = "no Parquet file"
    try:
        with PooledFile(path) as source:
            file = ParquetFile(source)
            problem = "the Parquet file is damaged"
            yield file
    except (OSError, pyarrow.ArrowInvalid) as error:
        if isinstance(error, OSError) and error.errno:
            raise DataError(open_error_message(path, error)) from None
        raise DataError(f"{path}: {problem}: {error}") from None


def _row_groups_from(file: ParquetFile, start: int) -> tuple[list[int], int]:
    """Row groups that contain row `start` or later rows, and rows to skip in the first of them."""
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        if rows > start:
            return list(range(group, file.num_row_groups)), start
        start -= rows
    return [], start
