"""Schemas of `page.json` and `analysis.json`, the results of `polyglot analyse` in a run.

They have the names, types and limits of everything that the report shows.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field, TypeAdapter, model_validator

from polyglot.core.score_tables import RETRIEVAL_TITLES
from polyglot.core.stored_matrix import Count, FileStem, Text

CellText = Annotated[str, Field(max_length=100_000)]
"""Cell of a table, or a sentence."""

Finite = Annotated[float, Field(ge=-1e30, le=1e30, allow_inf_nan=False)]
"""Number that a chart can scale without an overflow."""

Share = Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)]
"""Share of the attention of a head; a sum of shares may be rounded to more than 1."""

Row = Annotated[list[Finite], Field(min_length=1, max_length=10_000)]
Shares = Annotated[list[Share], Field(min_length=1, max_length=10_000)]
Point = Annotated[list[Finite], Field(min_length=2, max_length=2)]
Languages = Field(max_length=10_000)


class StoredTable(BaseModel):
    """Table of a page."""

    title: Text
    head: Annotated[list[CellText], Field(max_length=10_000)]
    rows: Annotated[list[list[CellText]], Field(max_length=1_000_000)]
    note: CellText


class StoredPage(BaseModel):
    """Content of `page.json`."""

    format: int
    title: Text
    tables: Annotated[list[StoredTable], Field(max_length=10_000)]
    pictures: Annotated[dict[Text, FileStem], Field(max_length=1000)]
    """file names by title"""
    values: dict[str, Any]


class StoredRetrieval(BaseModel):
    """Retrieval scores of one representation."""

    means: dict[Text, dict[Text, Finite]]
    """by metric, then by the kind of the pairs"""

    @model_validator(mode="after")
    def _has_all_metrics(self) -> StoredRetrieval:
        for metric in RETRIEVAL_TITLES:
            if metric not in self.means:
                raise ValueError(f"the means of {metric} are missing")
        return self


class StoredSimilarity(BaseModel):
    """Result of one similarity test."""

    name: Text
    spearman: Finite | None


class StoredMap(BaseModel):
    """Sentences on planes."""

    representation: Text
    sentences: Annotated[dict[Text, list[CellText]], Languages]
    planes: Annotated[dict[Text, dict[Text, list[Point]]], Field(max_length=100)]
    """points by title of the plane, then by language"""

    @model_validator(mode="after")
    def _has_one_point_for_each_sentence(self) -> StoredMap:
        counts = {language: len(lines) for language, lines in self.sentences.items()}
        if not counts or min(counts.values()) < 1 or len(set(counts.values())) > 1:
            raise ValueError("the languages need the same number of sentences, at least 1")
        for title, points_by_language in self.planes.items():
            points = {language: len(rows) for language, rows in points_by_language.items()}
            if points != counts:
                raise ValueError(f"the plane {title[:40]!r} needs a point for each sentence")
        return self


class StoredHeads(BaseModel):
    """Attention of the bridge heads."""

    positions: Annotated[dict[Text, list[Shares]], Field(min_length=1, max_length=10_000)]
    """by language, then by head: attention in each part of a sentence"""
    similarity: Annotated[list[Row], Field(min_length=1, max_length=10_000)]

    @model_validator(mode="after")
    def _has_one_row_for_each_head(self) -> StoredHeads:
        count = len(self.similarity)
        for rows in self.positions.values():
            if len(rows) != count:
                raise ValueError("positions and similarity have different numbers of heads")
        for row in self.similarity:
            if len(row) != count:
                raise ValueError("similarity is not square")
        highest = 0.0
        for rows in self.positions.values():
            highest = max(highest, *map(max, rows))
        if highest == 0:
            raise ValueError("positions: the heads attend to nothing")
        return self


class StoredAnalysis(BaseModel):
    """Content of `analysis.json`."""

    format: int
    test: list[Text]
    sizes: dict[Text, Count]
    retrieval: dict[Text, StoredRetrieval]
    similarity: dict[Text, list[StoredSimilarity]]
    map: StoredMap
    heads: StoredHeads | None

    @model_validator(mode="after")
    def _has_all_sizes(self) -> StoredAnalysis:
        for name in self.retrieval:
            if name not in self.sizes:
                raise ValueError(f"sizes: {name[:40]!r} is missing")
        return self


STORED_PAGE = TypeAdapter(StoredPage)
STORED_ANALYSIS = TypeAdapter(StoredAnalysis)
