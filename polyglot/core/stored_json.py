"""JSON files of a run directory, read as untrusted input: size, syntax, names and types."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from polyglot.core.errors import abbreviate

Value = TypeVar("Value")

LARGEST_FILE = 256 * 2**20
"""Bytes; the largest matrix of 100 languages has less than a tenth."""


def read_json(path: Path, *, largest: int = LARGEST_FILE) -> Any:
    """Read a JSON file.

    largest: limit in bytes. Raises OSError if the file cannot be read, and ValueError with a reason
    if it is too large or not JSON.
    """
    with path.open("rb") as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise ValueError(f"it has more than {largest:,} bytes")
    return parse_json(content)


def parse_json(content: str | bytes) -> Any:
    """Parse JSON. Raises ValueError with a reason, also for deep nesting and huge numbers."""
    try:
        return json.loads(content)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def validate_stored(value: Any, schema: TypeAdapter[Value]) -> Value:
    """Check names, types and limits of a stored value, without any conversion.

    Raises ValueError that names the first wrong places: `step: Input should be a valid integer`.
    """
    try:
        return schema.validate_python(value, strict=True)
    except ValidationError as error:
        reasons = []
        for problem in error.errors(include_input=False, include_url=False):
            place = ".".join(str(part)[:40] for part in problem["loc"])
            reasons.append(f"{place}: {problem['msg']}" if place else problem["msg"])
        raise ValueError(abbreviate(reasons, shown=3)) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
