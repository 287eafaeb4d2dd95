"""What is looked at: one YAML file."""

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
"""Layer and pooling. The states are what the bridge reads, and the mean of word embeddings is the floor."""

Column = Annotated[int, Field(ge=1)]


class SimilarityTest(ComponentConfig):
    """Pairs of sentences with a score that people gave, one pair a line."""

    name: str
    """How tables call it."""
    languages: list[str] = Field(min_length=2, max_length=2)
    """Of the first and of the second sentences."""
    path: HomePath
    """The file, plain or gzipped."""
    second_path: HomePath | None = None
    """Where the second sentences are when they are in another language: line n is the same pair."""
    separator: Literal["tab", "comma"] = "tab"
    """`comma` is CSV with quotes."""
    header: bool = False
    """Whether the first line names the columns."""
    columns: list[Column] = Field([1, 2, 3], min_length=3, max_length=3)
    """Of the first sentence, the second and the score, from 1."""


class LabelledText(ComponentConfig):
    """Sentences with labels, in SentEval's form: `label<tab>sentence`, or `tr|va|te<tab>label<tab>sentence`."""

    name: str
    """How tables call it."""
    language: str
    """Of the sentences."""
    path: HomePath
    """The file, plain or gzipped."""


class AnalysisSettings(ComponentConfig):
    """How the embeddings of a run are analysed."""

    test: CorpusList = []
    """Corpora for retrieval and pictures; by default the run's `data.test`."""
    sentences: int | None = Field(None, ge=1)
    """How many of each pair, from the first on; null for all."""
    neighbours: int = Field(4, ge=1)
    """k of the ratio margin."""
    representations: list[str] = Field(list(REPRESENTATIONS), min_length=1)
    """Layer and pooling, such as `bridge.flat`; the first is the one of the pictures."""
    similarity: list[SimilarityTest] = []
    """Sentence pairs with scores that people gave."""
    labelled: list[LabelledText] = []
    """Labelled sentences for linear probes."""
    probe_text: CorpusList = []
    """Where the probes for length and word content take their sentences from; by default the run's `data.train`."""
    probe_sentences: int = Field(4000, ge=0)
    """How many of each language; 0 leaves these probes out."""
    probe_languages: list[str] | None = None
    """Languages of these probes; by default the first that the run reads."""
    map_sentences: int = Field(60, ge=2)
    """Sentences of each language on the map."""

    @field_validator("representations")
    @classmethod
    def _are_known(cls, representations: list[str]) -> list[str]:
        for name in representations:
            layer, _, pooling = name.partition(".")
            if (
                layer not in LAYERS
                or pooling not in POOLINGS
                or (pooling == "flat" and layer != "bridge")
            ):
                raise ValueError(unknown_name("representation", name, REPRESENTATIONS))
        return list(dict.fromkeys(representations))

    @field_validator("similarity", "labelled")
    @classmethod
    def _have_names_of_their_own(cls, tests: list[Any]) -> list[Any]:
        names = [test.name for test in tests]
        if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            raise ValueError(
                f"{', '.join(map(repr, twice))} named twice; tables tell them apart by their names"
            )
        return tests

    @classmethod
    def load(cls, path: Path) -> AnalysisSettings:
        """Raises ConfigError with every problem."""
        return check_settings(cls, read_yaml(path), where=str(path))
