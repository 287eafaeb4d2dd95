"""What every corpus offers, whatever it is kept in, and the registry of all kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from polyglot.registry import ComponentConfig, Registry
from polyglot.task import LanguagePair

if TYPE_CHECKING:
    from datasets import Dataset

VERSION = 1  # part of the fingerprint of every text: to be raised when the same file is read differently


class Corpus(ABC):
    """Text in some languages. A pair of a language with itself is served by the text of that language."""

    class Config(ComponentConfig):
        weight: float = Field(default=1.0, gt=0, le=1000)
        """How often its sentences come in one epoch: with 2 each comes twice, with 0.5 a half that the seed has drawn comes once."""

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
    def lacking(self) -> dict[str, str]:
        """Languages of the run without text here, and what is missing; a problem when no other corpus has them."""

    def left_aside(self) -> list[str]:
        """Languages that its settings name and the run does not have."""
        return []

    @abstractmethod
    def pairs(self) -> set[LanguagePair]:
        """What it can serve, copies included."""

    @abstractmethod
    def text(self, pair: LanguagePair) -> tuple[Dataset, Dataset]:
        """Two aligned datasets with the single column `text`; for a copy, both are all text of that language."""

    def place(self, pair: LanguagePair) -> str:
        """Where the text of that pair stands, for messages that name a line of it."""
        return self.name

    def sentences(self, language: str) -> Dataset | None:
        """All text of one language, each file once."""
        copy = LanguagePair(language, language)
        return self.text(copy)[0] if copy in self.pairs() else None


CORPORA: Registry[Corpus] = Registry("corpus")
