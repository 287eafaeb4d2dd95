"""Corpus of the phrasebook, which is generated and needs no files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from polyglot.core.errors import abbreviate
from polyglot.data.cache import cached_dataset, fingerprint

from .arrow_tables import text_table
from .base import CORPORA, VERSION, Corpus
from .tables import TableCorpus

if TYPE_CHECKING:
    import pyarrow
    from datasets import Dataset

LARGEST_SPLIT = 100_000
"""Largest number of sentences of a split; generating them takes about a minute and a gigabyte."""


@CORPORA.register("phrasebook")
class PhrasebookCorpus(TableCorpus):
    """The phrasebook, generated from a seed.

    The three splits of one seed and one set of sizes share no sentence.
    """

    class Config(Corpus.Config):
        """Split, seed and sizes."""

        split: Literal["train", "valid", "test"] = "train"
        """The split of this corpus."""
        seed: int = Field(1, ge=0, lt=2**64)
        """Seed of the generator; give all three corpora of a run the same seed and sizes."""
        train: int = Field(default=12000, ge=1, le=LARGEST_SPLIT)
        """Number of training sentences."""
        valid: int = Field(default=500, ge=1, le=LARGEST_SPLIT)
        """Number of validation sentences."""
        test: int = Field(default=500, ge=1, le=LARGEST_SPLIT)
        """Number of test sentences."""

    @property
    def name(self) -> str:
        return f"phrasebook {self.config.split}"

    def available_columns(self) -> Sequence[str]:
        from polyglot import phrasebook

        return phrasebook.LANGUAGES

    def _configured_columns(self) -> dict[str, str]:
        return {language: language for language in self.languages}

    def ignored_languages(self) -> list[str]:
        return []

    def problems(self) -> list[str]:
        if self.columns():
            return []
        languages = abbreviate(self.languages)
        available = abbreviate(self.available_columns())
        return [f"{self.name}: has none of {languages}; it has {available}"]

    def _read(self) -> Dataset:
        from polyglot import phrasebook

        sizes = self.config.model_dump(include={"seed", "train", "valid", "test"})
        languages = sorted(self.columns())

        def tables() -> Iterator[pyarrow.Table]:
            sentences = phrasebook.splits(**sizes)[self.config.split]
            columns = {}
            for language in languages:
                columns[language] = [sentence.text(language) for sentence in sentences]
            yield text_table(columns)

        source_folder = Path(phrasebook.__file__).parent
        name = fingerprint(
            "phrasebook",
            VERSION,
            _hash_source_files(source_folder),
            sizes,
            self.config.split,
            languages,
        )
        return cached_dataset(name, tables)


def _hash_source_files(folder: Path) -> str:
    """Hash of the generator's source files; a change of the grammar changes the corpus."""
    contents = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            contents.append(path.read_bytes())
    return hashlib.sha256(b"".join(contents)).hexdigest()
