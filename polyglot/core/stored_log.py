"""Lines of `log.jsonl`: JSON objects, validated before use."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field, TypeAdapter

from polyglot.core.stored_json import parse_json, validate_stored

Number = float | None
"""The log has null for a value that was not finite."""


class StoredLine(BaseModel):
    """Line of any kind."""

    kind: str
    step: Annotated[int, Field(ge=0, le=10**15)]
    time: float = 0.0


class StoredTrainingLine(StoredLine):
    """Line about the updates since the line before it."""

    seconds: float
    loss: Number = None
    learning_rate: Number = None
    gradient_norm: Number = None
    tokens_per_second: Number = None
    steps_per_second: Number = None
    remaining_seconds: Number = None
    tasks: dict[str, dict[str, Number]]


class StoredValidationLine(StoredLine):
    """Line about one validation."""

    losses: dict[str, Number]
    bleu: dict[str, Number]


STORED_LINE = TypeAdapter(StoredLine)
STORED_LINES = {
    "training": TypeAdapter(StoredTrainingLine),
    "validation": TypeAdapter(StoredValidationLine),
}
"""Schemas by kind; other kinds have only the fields of every line."""


def read_log_line(line: str | bytes) -> dict[str, Any] | None:
    """Values of a line; None if it is incomplete, damaged or has wrong types."""
    try:
        values = parse_json(line)
        validate_stored(values, STORED_LINE)
        validate_stored(values, STORED_LINES.get(values["kind"], STORED_LINE))
    except ValueError:
        return None
    return values
