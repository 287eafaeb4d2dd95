"""Schema of `matrix.json` and of the files in `cells/`: names, types and limits.

The names of cells and texts become names of files, so they contain no separators.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, model_validator

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


class StoredOutputs(BaseModel):
    """Output errors of one direction."""

    off_target: float | None = None
    off_target_references: float | None = None
    copies: float | None = None
    copies_references: float | None = None
    empty: float | None = None
    loops: float | None = None
    loops_references: float | None = None
    length_ratio: float | None = None
    found: dict[Text, Count] = {}


class StoredCell(BaseModel):
    """Scores of one direction."""

    pair: FileStem
    kind: Literal["supervised", "zero-shot", "pivot", "copy"]
    scores: dict[str, StoredScore]
    sentences: Count
    seconds: float
    reason: Text | None = None
    via: FileStem | None = None
    outputs: StoredOutputs | None = None
    source_text: OptionalStem = ""
    reference_text: OptionalStem = ""


class StoredOrigin(BaseModel):
    """Run and checkpoint of the scores, as far as they are known; an ensemble has more values."""

    run: Text = ""
    checkpoint: Text | Count = ""
    steps: list[Count] = []
    precision: Text | None = None
    """Precision of matrix products; None for float32."""


def _check_origin(values: dict[str, Any]) -> dict[str, Any]:
    StoredOrigin.model_validate(values, strict=True)
    return values


class StoredProtocol(BaseModel):
    """Settings of the evaluation; all of them are validated by their class."""

    model_config = ConfigDict(extra="allow")

    pivot: Text | None = None


class StoredReference(BaseModel):
    """Table of a paper; all of it is validated by its class."""

    model_config = ConfigDict(extra="allow")

    title: Text
    condition: Text
    scores: dict[Text, float]


class StoredMatrix(BaseModel):
    """Content of `matrix.json`."""

    format: int
    languages: list[Text]
    checkpoint: Annotated[dict[str, Any], AfterValidator(_check_origin)]
    trained: list[Text] = []
    test: list[Text]
    test_set: Text = ""
    search: dict[str, Any]
    protocol: StoredProtocol
    measures: Annotated[dict[str, Text], Field(min_length=1)]
    signatures: dict[str, dict[str, list[Text]]]
    cells: list[StoredCell]
    pivots: list[StoredCell]
    versions: dict[str, Text]
    machine: Text
    reference: StoredReference | None = None
    files: dict[str, Text] | None = None
    """SHA-256 of the translations and texts, by their path in the folder"""

    @model_validator(mode="after")
    def _parts_belong_together(self) -> StoredMatrix:
        for measure in self.measures:
            if measure not in self.signatures:
                raise ValueError(f"signatures: {measure[:40]!r} is missing")
        languages = set(self.languages)
        for cell in [*self.cells, *self.pivots]:
            for language in _cell_languages(cell):
                if language not in languages:
                    raise ValueError(f"cells: {language[:40]!r} is none of the languages")
        return self


def _cell_languages(cell: StoredCell) -> Iterator[str]:
    source, _, target = cell.pair.partition("-")
    yield source
    yield target
    if cell.via is not None:
        yield cell.via


STORED_CELL = TypeAdapter(StoredCell)
STORED_MATRIX = TypeAdapter(StoredMatrix)
