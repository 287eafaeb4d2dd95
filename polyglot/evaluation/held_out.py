"""Held-out text: the first sentences that the corpora have for each language pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from polyglot.core.errors import ConfigError, DataError
from polyglot.core.registry import ComponentConfig
from polyglot.data.corpora import Corpora, ParallelText
from polyglot.runs.data_folder import find_data_folder, tried_folders
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair


class HeldOut:
    """Text for validation or testing.

    In place of `Corpora` it gives a dataset only its first sentences, each of them once.
    """

    def __init__(
        self,
        run: Run,
        corpora: Sequence[ComponentConfig],
        *,
        sentences: int | None,
        folder: Path | None = None,
    ) -> None:
        """sentences: maximum per pair; None for all.

        folder: base of relative paths, by default the run's `data.folder`.
        Raises ConfigError for a streamed corpus.
        """
        if any(getattr(corpus, "streaming", False) for corpus in corpora):
            raise ConfigError(
                "streaming: held-out text is not streamed; leave `streaming: true` out"
            )
        self._tried = ""
        if folder is None:
            folder = find_data_folder(run, corpora)
            self._tried = tried_folders(run)
        self._corpora = Corpora(corpora, folder=folder, languages=run.config.languages)
        self._sentences = sentences

    @cached_property
    def pairs(self) -> set[LanguagePair]:
        """Pairs that have text."""
        return self._corpora.pairs()

    def check(self, pairs: Sequence[LanguagePair]) -> None:
        """Raise DataError if none of the pairs has text."""
        try:
            self._corpora.check_any(pairs)
        except DataError as error:
            raise DataError(f"{error}{self._tried}") from None

    def missing(self, pair: LanguagePair) -> str | None:
        """Reason why a pair has no text; None if it has text."""
        if pair in self.pairs:
            return None
        missing = []
        for language in dict.fromkeys((pair.source, pair.target)):
            if LanguagePair(language, language) not in self.pairs:
                missing.append(language)
        if missing:
            return f"no text in {' and '.join(missing)}"
        return f"no text in {pair.source} and {pair.target} together"

    def parallel(self, pair: LanguagePair) -> list[ParallelText]:
        """Text of one corpus after the other, until there are enough sentences."""
        selected = []
        remaining = self._sentences
        for text in self._corpora.parallel(pair):
            count = len(text.source)
            if remaining is not None:
                count = min(remaining, count)
                remaining -= count
            if count:
                selected.append(_first_sentences(text, count))
        return selected

    def lines(self, pair: LanguagePair) -> tuple[list[str], list[str]]:
        """Sources and references of a pair."""
        sources: list[str] = []
        references: list[str] = []
        for text in self.parallel(pair):
            sources += text.source["text"]
            references += text.target["text"]
        return sources, references


def _first_sentences(text: ParallelText, count: int) -> ParallelText:
    """First sentences of a text, each of them once."""
    rows = range(count)
    return replace(
        text, source=text.source.select(rows), target=text.target.select(rows), weight=1.0
    )
