"""What every corpus offers, whatever it is kept in, and the registry of all kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from polyglot.core.registry import ComponentConfig, Registry
from polyglot.tasks.pairs import LanguagePair

from .shards import Shard, table_shard

if TYPE_CHECKING:
    from datasets import Dataset

VERSION = (
    1  # part of the fingerprint of every text: to be raised when the same file is read differently
)


class Corpus(ABC):
    """Text in some languages. A pair of a language with itself is served by the text of that language."""

    class Config(ComponentConfig):
        weight: float = Field(default=1.0, gt=0, le=1000)
        """How often its sentences come in one epoch: with 2 each comes twice, with 0.5 a half that the seed has drawn comes once. In a
        task with streamed text: how many of its sentences come beside those of the others, however many there are."""

    first_line = 1
    """The line of a file that the first sentence stands in, for messages."""

    def __init__(self, config: Corpus.Config, *, folder: Path, languages: Sequence[str]) -> None:
        self.config = config
        self.folder = folder
        self.languages = languages

    @property
    @abstractmethod
    def name(self) -> str:
        """How messages call it."""

    @abstractmethod
    def problems(self) -> list[str]:
        """What is wrong with it, as far as can be said without reading it all."""

    @abstractmethod
    def missing_languages(self) -> dict[str, str]:
        """Languages of the run without text here, and what is missing; a problem when no other corpus has them."""

    def ignored_languages(self) -> list[str]:
        """Languages that its settings name and the run does not have."""
        return []

    @abstractmethod
    def pairs(self) -> set[LanguagePair]:
        """What it can serve, copies included."""

    @abstractmethod
    def text(self, pair: LanguagePair) -> tuple[Dataset, Dataset]:
        """Two aligned datasets with the single column `text`; for a copy, both are all text of that language."""

    @property
    def is_streamed(self) -> bool:
        """Whether it is read while training, and never kept."""
        return getattr(self.config, "streaming", False)

    def shards(self, pair: LanguagePair) -> list[Shard]:
        """The text of a pair to be read in parts; what is not streamed itself is one."""
        label = self.config.model_dump_json(exclude={"weight"})
        return [
            table_shard(self.place(pair), self.text(pair), label=label, first_line=self.first_line)
        ]

    def place(self, pair: LanguagePair) -> str:
        """Where the text of that pair stands, for messages that name a line of it."""
        return self.name


CORPORA: Registry[Corpus] = Registry("corpus")
