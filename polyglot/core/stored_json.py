"""JSON files of a run directory: written with a checksum, read as untrusted input.

The checksum finds disk errors and edits by accident. It does not protect against a person who
computes it again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from polyglot.core.errors import abbreviate
from polyglot.core.file_checks import is_regular_file

Value = TypeVar("Value")

CHECKSUM_KEY = "checksum"

LARGEST_FILE = 256 * 2**20
"""Bytes; the largest matrix of 100 languages has less than a tenth."""


def read_json(path: Path, *, largest: int = LARGEST_FILE) -> Any:
    """Read a JSON file.

    largest: limit in bytes. Raises OSError if the file cannot be read, and ValueError with a reason
    if it is too large or not JSON.
    """
    if not is_regular_file(path):
        raise ValueError("it is not a regular file")
    with path.open("rb") as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise ValueError(f"it has more than {largest:,} bytes")
    return parse_json(content)


def read_stored(
    path: Path,
    schema: TypeAdapter[Value],
    *,
    largest: int = LARGEST_FILE,
) -> Value:
    """Read a JSON file, and check its schema and its checksum.

    Raises OSError if the file cannot be read, and ValueError with a reason if it is not right.
    """
    values = read_json(path, largest=largest)
    stored = validate_stored(values, schema)
    verify_checksum(values)
    return stored


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
            reason = problem["msg"]
            place = ".".join(str(part)[:40] for part in problem["loc"])
            if place:
                reason = f"{place}: {reason}"
            reasons.append(reason)
        raise ValueError(abbreviate(reasons, shown=3)) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def json_checksum(values: Mapping[str, Any]) -> str:
    """SHA-256 of values that JSON can represent, without their own checksum."""
    content = dict(values)
    content.pop(CHECKSUM_KEY, None)
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def with_checksum(values: Mapping[str, Any]) -> dict[str, Any]:
    """Add the checksum of the values, as `verify_checksum` reads it."""
    # Tuples and numbers as keys become what a reader of the file gets.
    as_read = json.loads(json.dumps(values))
    return {**as_read, CHECKSUM_KEY: json_checksum(as_read)}


def verify_checksum(values: Mapping[str, Any]) -> None:
    """Raise ValueError if the checksum differs; older files have none, and are accepted."""
    stored = values.get(CHECKSUM_KEY)
    if stored is not None and stored != json_checksum(values):
        raise ValueError("its own checksum differs: the file was changed or is damaged")
