"""Base class of all corpora, and their registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from polyglot.core.registry import ComponentConfig, Registry
from polyglot.tasks.pairs import LanguagePair

from .shards import Shard, table_shard

if TYPE_CHECKING:
    from datasets import Dataset

NOT_TEXT = ("weight", "monolingual", "licence")
"""Settings of a corpus that do not change its sentences."""

VERSION = 1
"""Part of the fingerprint of every text; increase it if the same file gives other sentences."""


class Corpus(ABC):
    """Text in some languages; a monolingual copy is served by the text of its language."""

    class Config(ComponentConfig):
        """Settings of every corpus."""

        weight: float = Field(default=1.0, gt=0, le=1000)
        """Uses of each sentence in an epoch: with 2, each is used twice; with 0.5, a random half of
        them is used once. In a task with streamed text: the ratio of its sentences to those of the
        other corpora, whatever their sizes."""

        monolingual: bool = False
        """The text of each language stands alone: it is used for copies (`de-de`) and vocabularies,
        and its files need not be parallel."""

        licence: str | None = None
        """Licence of the text, such as `CC BY 2.0`. It changes nothing here; the model card of
        `polyglot push` names it."""

        def text_settings(self, *, exclude: AbstractSet[str] = frozenset()) -> str:
            """The settings that determine the sentences, as JSON: a key of cached text."""
            return self.model_dump_json(exclude={*NOT_TEXT, *exclude})

    first_line = 1
    """Line of the first sentence in the file, for messages."""

    def __init__(self, config: Corpus.Config, *, folder: Path, languages: Sequence[str]) -> None:
        """folder: start of relative paths. languages: languages of the run."""
        self.config = config
        self.folder = folder
        self.languages = languages

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the corpus in messages."""

    @abstractmethod
    def problems(self) -> list[str]:
        """Problems that show without reading the whole text."""

    @abstractmethod
    def missing_languages(self) -> dict[str, str]:
        """Message for each language of the run without text in this corpus.

        It is a problem only if no other corpus has text in that language.
        """

    @property
    def has_no_file(self) -> bool:
        """True if its pattern matches no file, so that its languages are unknown."""
        return False

    def ignored_languages(self) -> list[str]:
        """Languages that the settings of the corpus name but the run does not have."""
        return []

    def missing_files(self) -> dict[str, Path]:
        """File of each language of the run whose file does not exist, beside files that do."""
        return {}

    @abstractmethod
    def pairs(self) -> set[LanguagePair]:
        """Language pairs with text, copies included."""

    @abstractmethod
    def text(self, pair: LanguagePair) -> tuple[Dataset, Dataset]:
        """Source and target as aligned datasets with the single column `text`.

        For a copy, both are all text of the language. Raises DataError if it cannot be used.
        """

    def served_pairs(self) -> set[LanguagePair]:
        """Language pairs that the corpus is used for: of monolingual text, copies only."""
        pairs = self.pairs()
        if self.config.monolingual:
            pairs = {pair for pair in pairs if pair.is_copy}
        return pairs

    @property
    def is_streamed(self) -> bool:
        """True if the text is read during training and not cached."""
        return getattr(self.config, "streaming", False)

    def shards(self, pair: LanguagePair) -> list[Shard]:
        """Text of a pair in parts that can be streamed; cached text is a single part."""
        label = self.config.text_settings()
        shard = table_shard(
            self.location(pair),
            self.text(pair),
            label=label,
            first_line=self.first_line,
        )
        return [shard]

    def location(self, pair: LanguagePair) -> str:
        """Files of the text of a pair, for messages that name a line."""
        return self.name


CORPORA: Registry[Corpus] = Registry("corpus")
