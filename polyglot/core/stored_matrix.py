"""Schema of `matrix.json` and of the files in `cells/`: names, types and limits.

The names of cells and texts become names of files, so they contain no separators.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field, TypeAdapter

Text = Annotated[str, Field(max_length=10_000)]
FileStem = Annotated[str, Field(pattern=r"^[^./\\\x00][^/\\\x00]{0,199}$")]
"""Part of the name of a file."""

OptionalStem = Annotated[str, Field(pattern=r"^([^./\\\x00][^/\\\x00]{0,199})?$")]
Count = Annotated[int, Field(ge=0, le=10**15)]


class StoredScore(BaseModel):
    """One score with its signature."""

    value: float
    signature: Text = ""
    mean: float | None = None
    interval: float | None = None


class StoredCell(BaseModel):
    """Scores of one direction."""

    pair: FileStem
    kind: Text
    scores: dict[str, StoredScore]
    sentences: Count
    seconds: float
    reason: Text | None = None
    via: FileStem | None = None
    outputs: dict[str, float | dict[str, Count] | None] | None = None
    source_text: OptionalStem = ""
    reference_text: OptionalStem = ""


class StoredMatrix(BaseModel):
    """Content of `matrix.json`; `protocol` and `reference` are validated by their classes."""

    format: int
    languages: list[Text]
    checkpoint: dict[str, Any]
    trained: list[Text] = []
    test: list[Text]
    test_set: Text = ""
    search: dict[str, Any]
    protocol: dict[str, Any]
    measures: dict[str, Text]
    signatures: dict[str, dict[str, list[Text]]]
    cells: list[StoredCell]
    pivots: list[StoredCell]
    versions: dict[str, Text]
    machine: Text
    reference: dict[str, Any] | None = None
    files: dict[str, Text] | None = None
    """SHA-256 of the translations and texts, by their path in the folder"""


STORED_CELL = TypeAdapter(StoredCell)
STORED_MATRIX = TypeAdapter(StoredMatrix)
