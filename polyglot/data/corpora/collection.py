"""All corpora of a run, and the text that they have together for each language pair."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
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
    """Text of one corpus for one language pair: row n of both datasets is a sentence pair."""

    source: Dataset
    target: Dataset
    weight: float
    name: str
    first_line: int
    """line of row 0"""


class Corpora:
    """All corpora of a run, or of one part of it such as validation."""

    def __init__(
        self,
        configs: Sequence[ComponentConfig],
        *,
        folder: Path,
        languages: Sequence[str],
    ) -> None:
        self.languages = tuple(languages)
        self._corpora: list[Corpus] = []
        for config in configs:
            corpus = CORPORA.build(config, folder=Path(folder), languages=self.languages)
            self._corpora.append(corpus)

    def check(self, languages: Collection[str] | None = None) -> list[str]:
        """All problems that show without reading the whole text, each once.

        languages: those that need text; by default all. A corpus whose pattern matches no file may
        be the one that has a missing language.
        """
        problems = self.problems()
        if not any(corpus.has_no_file for corpus in self._corpora):
            problems += self.missing_languages(languages)
        return list(dict.fromkeys(problems))

    def problems(self) -> list[str]:
        """Problems of the corpora."""
        problems = []
        for corpus in self._corpora:
            problems += corpus.problems()
        return problems

    def missing_languages(self, languages: Collection[str] | None = None) -> list[str]:
        """Messages for languages without text in any corpus.

        languages: those that need text; by default all. Without text, they are a problem for
        training, but not for validation or test text.
        """
        if languages is None:
            languages = self.languages
        with_text = set()
        for corpus in self._corpora:
            if not corpus.problems():
                with_text |= {pair.source for pair in corpus.served_pairs()}

        messages = []
        for language in self.languages:
            if language in with_text or language not in languages:
                continue
            for corpus in self._corpora:
                missing = corpus.missing_languages()
                if language in missing:
                    messages.append(missing[language])
        return messages

    def ignored_languages(self) -> list[str]:
        """Message for each corpus with text in languages that the run does not have."""
        messages = []
        for corpus in self._corpora:
            languages = corpus.ignored_languages()
            if languages:
                pronoun = "it" if len(languages) == 1 else "them"
                messages.append(
                    f"{corpus.name}: {abbreviate(languages)} ignored; "
                    f"`languages` does not name {pronoun}"
                )
        return messages

    def missing_files(self) -> list[str]:
        """Message for each corpus that has files for some languages of the run and not for others.

        The other languages may have text in another corpus, or a file name may be misspelt.
        """
        messages = []
        for corpus in self._corpora:
            missing = corpus.missing_files()
            if missing:
                first = next(iter(missing.values()))
                messages.append(
                    f"{corpus.name}: no file for {abbreviate(missing)} (such as {first}); "
                    "text of these languages comes from other corpora only"
                )
        return messages

    def other_languages(self) -> list[str]:
        """Languages that the settings of the corpora name but the run does not have."""
        languages: dict[str, None] = {}  # in order, each once
        for corpus in self._corpora:
            languages |= dict.fromkeys(corpus.ignored_languages())
        return list(languages)

    def check_any(self, pairs: Collection[LanguagePair]) -> None:
        """Raise DataError if none of the pairs has text; validation and test text may lack some."""
        if self.pairs() & set(pairs):
            return
        names = ", ".join(map(str, pairs))
        problems = self.check() or [f"no text for any of {names}"]
        raise DataError("\n".join(problems))

    def pairs(self) -> AbstractSet[LanguagePair]:
        """Language pairs with text in at least one corpus."""
        return self._pairs

    @cached_property
    def _pairs(self) -> frozenset[LanguagePair]:
        return frozenset().union(*self._served_pairs)

    @cached_property
    def _served_pairs(self) -> list[set[LanguagePair]]:
        """Language pairs that each corpus is used for; 10,000 with 100 languages."""
        return [corpus.served_pairs() for corpus in self._corpora]

    def parallel(self, pair: LanguagePair) -> list[ParallelText]:
        """Cached text of a pair, by corpus. Raises DataError if no corpus has text for it."""
        texts = []
        for corpus in self._corpora_with(pair):
            source, target = corpus.text(pair)
            text = ParallelText(
                source,
                target,
                weight=corpus.config.weight,
                name=corpus.location(pair),
                first_line=corpus.first_line,
            )
            texts.append(text)
        return texts

    def is_streamed(self, pair: LanguagePair) -> bool:
        """True if at least one corpus with text for the pair is streamed."""
        for corpus, pairs in zip(self._corpora, self._served_pairs, strict=True):
            if corpus.is_streamed and pair in pairs:
                return True
        return False

    def streamed(self, pair: LanguagePair) -> list[StreamedText]:
        """Text of a pair to be streamed, by corpus. Raises DataError if no corpus has any."""
        texts = []
        for corpus in self._corpora_with(pair):
            text = StreamedText(
                corpus.location(pair),
                corpus.shards(pair),
                weight=corpus.config.weight,
            )
            texts.append(text)
        return texts

    def lines(self, pair: LanguagePair) -> Iterator[Pair]:
        """All sentence pairs of a language pair; of streamed corpora the first ones.

        Raises DataError if no corpus has text for the pair.
        """
        corpora = self._corpora_with(pair)
        return chain.from_iterable(self._corpus_lines(corpus, pair) for corpus in corpora)

    def sentences(self, language: str) -> Iterator[str]:
        """Yield all text of a language, each file once; of streamed corpora the first sentences."""
        copy = LanguagePair(language, language)
        for corpus, pairs in zip(self._corpora, self._served_pairs, strict=True):
            if copy in pairs:
                for sentence, _ in self._corpus_lines(corpus, copy):
                    yield sentence

    def _corpora_with(self, pair: LanguagePair) -> list[Corpus]:
        corpora = []
        for corpus, served_pairs in zip(self._corpora, self._served_pairs, strict=True):
            if pair in served_pairs:
                corpora.append(corpus)
        if not corpora:
            pairs = sorted(str(other) for other in self.pairs() if not other.is_copy)
            raise DataError(
                f"no corpus has text for {pair}; there is text for {abbreviate(pairs) or 'no pair'}"
            )
        return corpora

    @staticmethod
    def _corpus_lines(corpus: Corpus, pair: LanguagePair) -> Iterator[Pair]:
        if corpus.is_streamed:
            text = StreamedText(corpus.name, corpus.shards(pair), corpus.config.weight)
            yield from text.first_pairs(SAMPLE)
        else:
            source, target = corpus.text(pair)
            yield from zip(_dataset_lines(source), _dataset_lines(target), strict=True)


def _dataset_lines(text: Dataset) -> Iterator[str]:
    for chunk in text.data.column("text").chunks:
        yield from chunk.to_pylist()
