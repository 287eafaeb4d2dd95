"""The embedded corpus as a corpus like any other."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from polyglot.core.errors import abbreviate
from polyglot.data.cache import cached_dataset, fingerprint

from .base import CORPORA, VERSION, Corpus
from .tables import TableCorpus, text_table

if TYPE_CHECKING:
    import pyarrow
    from datasets import Dataset


LARGEST = 100_000  # sentences of a part: about a minute and a gigabyte to make them


@CORPORA.register("phrasebook")
class PhrasebookCorpus(TableCorpus):
    """The embedded corpus, made from a seed; the three splits of one seed and one set of sizes share no sentence."""

    class Config(Corpus.Config):
        split: Literal["train", "valid", "test"] = "train"
        """Which part of it."""
        seed: int = 1
        """What it is made from; give all three corpora of a run the same, and the same sizes."""
        train: int = Field(default=12000, ge=1, le=LARGEST)
        """Sentences to train on."""
        valid: int = Field(default=500, ge=1, le=LARGEST)
        """Sentences to validate with."""
        test: int = Field(default=500, ge=1, le=LARGEST)
        """Sentences to test with."""

    @property
    def name(self) -> str:
        return f"phrasebook {self.config.split}"

    def available(self) -> Sequence[str]:
        from polyglot import phrasebook

        return phrasebook.LANGUAGES

    def _wanted(self) -> dict[str, str]:
        return {language: language for language in self.languages}

    def ignored_languages(self) -> list[str]:
        return []

    def problems(self) -> list[str]:
        return (
            []
            if self.columns()
            else [
                f"{self.name}: has none of {abbreviate(self.languages)}; it knows {abbreviate(self.available())}"
            ]
        )

    def _read(self) -> Dataset:
        from polyglot import phrasebook

        sizes = self.config.model_dump(include={"seed", "train", "valid", "test"})
        languages = sorted(self.columns())

        def tables() -> Iterator[pyarrow.Table]:
            sentences = phrasebook.splits(**sizes)[self.config.split]
            yield text_table(
                {
                    language: [sentence.text(language) for sentence in sentences]
                    for language in languages
                }
            )

        sources = sorted(
            path
            for path in Path(phrasebook.__file__).parent.rglob("*")
            if path.is_file() and path.suffix != ".pyc"
        )
        program = hashlib.sha256(
            b"".join(path.read_bytes() for path in sources)
        ).hexdigest()  # another grammar, another corpus
        return cached_dataset(
            fingerprint("phrasebook", VERSION, program, sizes, self.config.split, languages), tables
        )
