"""Arrow tables with one column of text for each language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from polyglot.core.errors import DataError

if TYPE_CHECKING:
    import pyarrow

LARGE_BLOCK_ROWS = 1 << 16
"""Rows that are copied to the cache at a time."""


def text_table(columns: Mapping[str, list[str]]) -> pyarrow.Table:
    """Table of these columns of text."""
    import pyarrow

    arrays = {}
    for name, texts in columns.items():
        arrays[name] = pyarrow.array(texts, pyarrow.string())
    return pyarrow.table(arrays)


def select_texts(table: pyarrow.Table, columns: Mapping[str, str], *, place: str) -> pyarrow.Table:
    """Select the column of each language; a text becomes a single line, and null an empty one.

    columns: names of the columns; a dot leads into a nested field. place: the file, for messages.
    Raises DataError for a column that is not text.
    """
    import pyarrow

    texts = {}
    for language, column in columns.items():
        values = _column_values(table, column)
        texts[language] = _single_lines(values, place=f"{place}: the column {column}")
    return pyarrow.table(texts)


def _column_values(table: pyarrow.Table, column: str) -> pyarrow.ChunkedArray:
    from pyarrow import compute

    top_field, *nested_fields = column.split(".")
    values = table.column(top_field)
    for field in nested_fields:
        values = compute.struct_field(values, field)
    return values


def _single_lines(values: pyarrow.ChunkedArray, *, place: str) -> pyarrow.ChunkedArray:
    import pyarrow
    from pyarrow import compute

    is_text = pyarrow.types.is_string(values.type) or pyarrow.types.is_large_string(values.type)
    if not is_text:
        raise DataError(f"{place} holds {values.type}, not text")
    try:
        values.validate(full=True)
    except pyarrow.ArrowInvalid as error:
        raise DataError(f"{place} is damaged: {error}") from None

    lines = compute.replace_substring_regex(
        values.cast(pyarrow.string()),
        pattern=r"[\r\n]+",
        replacement=" ",
    )
    return compute.fill_null(lines, "")


def column_names(schema: pyarrow.Schema) -> list[str]:
    """Names of all columns, those of nested fields with dots."""
    names = []
    for field in schema:
        names += _field_names(field)
    return names


def _field_names(field: pyarrow.Field, prefix: str = "") -> Iterator[str]:
    import pyarrow

    name = f"{prefix}{field.name}"
    yield name
    if pyarrow.types.is_struct(field.type):
        for nested_field in field.type:
            yield from _field_names(nested_field, f"{name}.")
