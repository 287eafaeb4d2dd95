"""Arrow tables with one column of text for each language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from polyglot.core.errors import DataError
from polyglot.data.columns import possible_columns
from polyglot.data.text_files import line_limit

if TYPE_CHECKING:
    import pyarrow

LARGE_BLOCK_ROWS = 1 << 16
"""Rows that are copied to the cache at a time."""


def text_table(columns: Mapping[str, list[str | None]]) -> pyarrow.Table:
    """Table of these columns of text; None is null."""
    import pyarrow

    arrays = {}
    for name, texts in columns.items():
        arrays[name] = pyarrow.array(texts, pyarrow.string())
    return pyarrow.table(arrays)


def empty_text_table(names: Iterable[str]) -> pyarrow.Table:
    """Table of columns of text without rows."""
    return text_table({name: [] for name in names})


def select_texts(table: pyarrow.Table, columns: Mapping[str, str], *, place: str) -> pyarrow.Table:
    """Select the column of each language as text; a text becomes a single line, null stays.

    columns: names of the columns; a dot may lead into a nested field. place: the file, for
    messages. Raises DataError for a column that is not text.
    """
    import pyarrow

    texts = {}
    for language, column in columns.items():
        values = _column_values(table, column)
        texts[language] = _single_lines(values, place=f"{place}: the column {column}")
    return pyarrow.table(texts)


def top_columns(schema: pyarrow.Schema, columns: Iterable[str]) -> list[str]:
    """Names of the columns of a table that contain these columns, each once."""
    names: dict[str, None] = {}  # in order
    for column in columns:
        position = find_column(list(schema), column)[0]
        names[schema.field(position).name] = None
    return list(names)


def find_column(fields: Sequence[pyarrow.Field], name: str) -> list[int] | None:
    """Positions that lead from the top fields to a column; None if there is no such column."""
    import pyarrow

    positions = {}
    for position, field in enumerate(fields):
        positions.setdefault(field.name, position)

    for column, rest in possible_columns(name):
        if column not in positions:
            continue
        position = positions[column]
        if rest is None:
            return [position]
        field_type = fields[position].type
        if pyarrow.types.is_struct(field_type):
            inner_positions = find_column(list(field_type), rest)
            if inner_positions is not None:
                return [position, *inner_positions]
    return None


def _column_values(table: pyarrow.Table, column: str) -> pyarrow.ChunkedArray:
    from pyarrow import compute

    position, *inner_positions = find_column(list(table.schema), column)
    values = table.column(position)
    if inner_positions:
        values = compute.struct_field(values, inner_positions)
    return values


def _single_lines(values: pyarrow.ChunkedArray, *, place: str) -> pyarrow.ChunkedArray:
    import pyarrow
    from pyarrow import compute

    if not _is_text(values.type):
        raise DataError(f"{place} holds {values.type}, not text")
    try:
        values.validate(full=True)
    except pyarrow.ArrowInvalid as error:
        raise DataError(f"{place} is damaged: {error}") from None

    longest = compute.max(compute.binary_length(values.cast(pyarrow.large_string()))).as_py()
    limit = line_limit()
    if longest is not None and longest > limit:
        raise DataError(
            f"{place} has a text of {longest / 2**20:.0f} MiB, longer than {limit / 2**20:g} MiB; "
            "a text is one sentence. POLYGLOT_LINE_MIB sets another limit"
        )
    return compute.replace_substring_regex(
        values.cast(pyarrow.string()),
        pattern=r"[\r\n]+",
        replacement=" ",
    )


def _is_text(value_type: pyarrow.DataType) -> bool:
    """True for strings of any layout, categories of strings, and a column of nulls only."""
    from pyarrow import types

    if types.is_dictionary(value_type):
        value_type = value_type.value_type
    return (
        types.is_string(value_type)
        or types.is_large_string(value_type)
        or types.is_string_view(value_type)
        or types.is_null(value_type)
    )


def column_names(schema: pyarrow.Schema) -> list[str]:
    """Names of all columns, those of nested fields with dots."""
    names: dict[str, None] = {}  # in order, each once
    for field in schema:
        names |= dict.fromkeys(_field_names(field))
    return list(names)


def _field_names(field: pyarrow.Field, prefix: str = "") -> Iterator[str]:
    import pyarrow

    name = f"{prefix}{field.name}"
    yield name
    if pyarrow.types.is_struct(field.type):
        for nested_field in field.type:
            yield from _field_names(nested_field, f"{name}.")
