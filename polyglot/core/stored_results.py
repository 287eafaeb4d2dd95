"""Result files of evaluations and analyses in a run: their formats and schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polyglot.core.stored_analyses import STORED_ANALYSIS, STORED_PAGE
from polyglot.core.stored_json import validate_stored, verify_checksum
from polyglot.core.stored_matrix import STORED_MATRIX

FORMATS = {
    "matrix.json": 2,
    "analysis.json": 2,
    "page.json": 1,
}
"""Formats that this version reads, by file name."""

SCHEMAS = {
    "matrix.json": STORED_MATRIX,
    "analysis.json": STORED_ANALYSIS,
    "page.json": STORED_PAGE,
}


def has_present_format(name: str, values: Mapping[str, Any]) -> bool:
    """Tell if this version reads the content of a result file with this name."""
    return name in FORMATS and values.get("format") == FORMATS[name]


def validate_result(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the validated values of a result file with this name, one of FORMATS.

    They are completed with the defaults of the schema; values that it does not name are left out.
    Raises ValueError with a reason if types, limits or checksum are not right.
    """
    schema = SCHEMAS[name]
    stored = validate_stored(values, schema)
    verify_checksum(values)
    return schema.dump_python(stored)
