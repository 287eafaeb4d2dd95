"""All corpora of a run together: who serves which language pair."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from polyglot.core.errors import DataError, abbreviate
from polyglot.core.registry import ComponentConfig
from polyglot.tasks.pairs import LanguagePair

from .base import CORPORA, Corpus
from .shards import SAMPLE, Pair, StreamedText

if TYPE_CHECKING:
    from datasets import Dataset


@dataclass(frozen=True, slots=True)
class ParallelText:
    """What one corpus has for one pair: row n of both datasets is one sentence pair."""

    source: Dataset
    target: Dataset
    weight: float
    name: str
    first_line: int
    """the line of row 0"""


class Corpora:
    """All corpora of a run, or of one part of it such as validation."""

    def __init__(
        self, configs: Sequence[ComponentConfig], *, folder: Path, languages: Sequence[str]
    ) -> None:
        self.languages = tuple(languages)
        self._corpora = [
            CORPORA.build(config, folder=Path(folder), languages=self.languages)
            for config in configs
        ]

    def check(self) -> list[str]:
        """Every problem that can be seen without reading it all; what is left is found when the text is read."""
        return list(dict.fromkeys(self.problems() + self.missing_languages()))

    def problems(self) -> list[str]:
        """What is wrong with what there is."""
        return [problem for corpus in self._corpora for problem in corpus.problems()]

    def missing_languages(self) -> list[str]:
        """What is missing for languages that have no text: a problem in training, though not in held-out text."""
        have = {
            pair.source
            for corpus in self._corpora
            if not corpus.problems()
            for pair in corpus.pairs()
        }
        without = [language for language in self.languages if language not in have]
        return [
            lacking[language]
            for language in without
            for corpus in self._corpora
            if language in (lacking := corpus.missing_languages())
        ]

    def ignored_languages(self) -> list[str]:
        """A sentence for each corpus with text in languages that the run does not have."""
        asides = [(corpus.name, corpus.ignored_languages()) for corpus in self._corpora]
        return [
            f"{name}: {abbreviate(own)} left aside; `languages` does not name {'it' if len(own) == 1 else 'them'}"
            for name, own in asides
            if own
        ]

    def check_any(self, wanted: Collection[LanguagePair]) -> None:
        """Raises DataError when there is text for none of the pairs: held-out text may lack some."""
        if not self.pairs() & set(wanted):
            problems = self.check() or [f"no text for any of {', '.join(map(str, wanted))}"]
            raise DataError("\n".join(problems))

    def pairs(self) -> set[LanguagePair]:
        """What all of them together serve."""
        return {pair for corpus in self._corpora for pair in corpus.pairs()}

    def parallel(self, pair: LanguagePair) -> list[ParallelText]:
        """One text of each corpus that serves the pair. Raises DataError when none does."""
        return [
            ParallelText(
                *corpus.text(pair), corpus.config.weight, corpus.place(pair), corpus.first_line
            )
            for corpus in self._serving(pair)
        ]

    def is_streamed(self, pair: LanguagePair) -> bool:
        """Whether the text of a pair is to be streamed: as soon as that of one corpus is."""
        return any(corpus.is_streamed for corpus in self._corpora if pair in corpus.pairs())

    def streamed(self, pair: LanguagePair) -> list[StreamedText]:
        """The same text to be read in parts. Raises DataError when no corpus has any."""
        return [
            StreamedText(corpus.place(pair), corpus.shards(pair), corpus.config.weight)
            for corpus in self._serving(pair)
        ]

    def lines(self, pair: LanguagePair) -> Iterator[Pair]:
        """Every sentence pair there is; of streamed corpora the first ones."""
        return chain.from_iterable(self._lines(corpus, pair) for corpus in self._serving(pair))

    def sentences(self, language: str) -> Iterator[str]:
        """All text of one language, each file once; of streamed corpora the first sentences."""
        copy = LanguagePair(language, language)
        for corpus in self._corpora:
            if copy in corpus.pairs():
                yield from (line for line, _ in self._lines(corpus, copy))

    def _serving(self, pair: LanguagePair) -> list[Corpus]:
        serving = [corpus for corpus in self._corpora if pair in corpus.pairs()]
        if not serving:
            there = sorted(str(other) for other in self.pairs() if not other.is_copy)
            raise DataError(
                f"no corpus has text for {pair}; there is text for {abbreviate(there) or 'no pair'}"
            )
        return serving

    @staticmethod
    def _lines(corpus: Corpus, pair: LanguagePair) -> Iterator[Pair]:
        if corpus.is_streamed:
            yield from StreamedText(corpus.name, corpus.shards(pair), corpus.config.weight).first_pairs(
                SAMPLE
            )
        else:
            sides = (
                chain.from_iterable(chunk.to_pylist() for chunk in text.data.column("text").chunks)
                for text in corpus.text(pair)
            )
            yield from zip(*sides, strict=True)
