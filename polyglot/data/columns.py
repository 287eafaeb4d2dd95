"""Names of columns in tables and JSON objects, with one rule for every format.

`translation.de` is the column of that name. If there is none, it is the field `de` of the column
`translation`. Names of fields may contain dots, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

MISSING = object()
"""Result of a search for a value that an object does not have."""


def possible_columns(name: str) -> Iterator[tuple[str, str | None]]:
    """Yield the columns that a name may refer to, each with the rest of the name, best first.

    `a.b.c` -> (`a.b.c`, None), (`a.b`, `c`), (`a`, `b.c`).
    """
    yield name, None
    end = name.rfind(".")
    while end > 0:
        yield name[:end], name[end + 1 :]
        end = name.rfind(".", 0, end)


def find_value(values: object, name: str) -> object:
    """Value of a column in nested objects, such as those of a JSON line.

    The fields of a null are null. Returns MISSING if there is no such column.
    """
    if not isinstance(values, Mapping):
        return MISSING

    found = MISSING
    for column, rest in possible_columns(name):
        if column not in values:
            continue
        value = values[column]
        if rest is None:
            return value
        if value is None:
            found = None
            continue
        nested_value = find_value(value, rest)
        if nested_value is not MISSING:
            return nested_value
    return found


def nested_names(values: object, prefix: str = "") -> Iterator[str]:
    """Yield the names of all columns of nested objects, those of inner objects with dots."""
    if not isinstance(values, Mapping):
        return
    for key, value in values.items():
        name = f"{prefix}{key}"
        yield name
        yield from nested_names(value, f"{name}.")
