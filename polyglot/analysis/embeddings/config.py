"""Settings of the analysis of sentence embeddings: one YAML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from polyglot.config.loading import check_settings
from polyglot.config.schema import CorpusList
from polyglot.core.errors import unknown_name
from polyglot.core.registry import ComponentConfig, HomePath
from polyglot.core.yaml import read_yaml
from polyglot.inference.embeddings.pooling import LAYERS, POOLINGS

REPRESENTATIONS = (
    "bridge.flat",
    "bridge.mean",
    "bridge.max",
    "states.mean",
    "states.max",
    "words.mean",
)
"""Layer and pooling.

`states` is the input of the bridge. `words.mean`, the mean of the word embeddings, is a baseline.
"""

Column = Annotated[int, Field(ge=1)]


class SimilarityTest(ComponentConfig):
    """Pairs of sentences with a human similarity score, one pair per line."""

    name: str
    """Name in tables."""
    languages: list[str] = Field(min_length=2, max_length=2)
    """Languages of the first and of the second sentences."""
    path: HomePath
    """The file, plain or compressed."""
    second_path: HomePath | None = None
    """File of the second sentences, if it is another file. Line n of both is the same pair."""
    separator: Literal["tab", "comma"] = "tab"
    """`comma` is CSV with quotes."""
    header: bool = False
    """True if the first line contains the names of the columns."""
    columns: list[Column] = Field([1, 2, 3], min_length=3, max_length=3)
    """Columns of the first sentence, the second sentence and the score, counted from 1."""


class LabelledText(ComponentConfig):
    """Sentences with labels as in SentEval.

    A line is `label<tab>sentence`, or `tr|va|te<tab>label<tab>sentence`.
    """

    name: str
    """Name in tables."""
    language: str
    """Language of the sentences."""
    path: HomePath
    """The file, plain or compressed."""


class AnalysisSettings(ComponentConfig):
    """Settings of the analysis of sentence embeddings."""

    test: CorpusList = []
    """Corpora for retrieval and figures; by default the run's `data.test`."""
    sentences: int | None = Field(None, ge=1)
    """Maximum number of sentences of each pair; null for all."""
    neighbours: int = Field(4, ge=1)
    """k of the ratio margin."""
    representations: list[str] = Field(list(REPRESENTATIONS), min_length=1)
    """Layer and pooling, such as `bridge.flat`. The first is shown on the map."""
    similarity: list[SimilarityTest] = []
    """Sentence pairs with human similarity scores."""
    labelled: list[LabelledText] = []
    """Labelled sentences for linear probes."""
    probe_text: CorpusList = []
    """Corpora for the probes of length and word content; by default the run's `data.train`."""
    probe_sentences: int = Field(4000, ge=0)
    """Number of sentences of each language for these probes; 0 for no such probes."""
    probe_languages: list[str] | None = None
    """Languages of these probes; by default the first source language of the run."""
    map_sentences: int = Field(60, ge=2)
    """Number of sentences of each language on the map."""

    @field_validator("representations")
    @classmethod
    def _check_representations(cls, representations: list[str]) -> list[str]:
        for name in representations:
            layer, _, pooling = name.partition(".")
            is_known = layer in LAYERS and pooling in POOLINGS
            is_flat = pooling == "flat"
            if not is_known or (is_flat and layer != "bridge"):
                raise ValueError(unknown_name("representation", name, REPRESENTATIONS))
        return list(dict.fromkeys(representations))

    @field_validator("similarity", "labelled")
    @classmethod
    def _check_names(cls, tests: list[Any]) -> list[Any]:
        names = [test.name for test in tests]
        repeated = []
        for name in dict.fromkeys(names):
            if names.count(name) > 1:
                repeated.append(repr(name))
        if repeated:
            raise ValueError(f"{', '.join(repeated)} is used more than once; names must be unique")
        return tests

    @classmethod
    def load(cls, path: Path) -> AnalysisSettings:
        """Read a settings file. Raises ConfigError with every problem."""
        return check_settings(cls, read_yaml(path), where=str(path))
