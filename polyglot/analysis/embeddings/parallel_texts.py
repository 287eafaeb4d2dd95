"""Parallel test text for retrieval and for the map."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from polyglot.core.errors import ConfigError
from polyglot.core.registry import ComponentConfig
from polyglot.evaluation.held_out import HeldOut
from polyglot.evaluation.provenance import describe_corpus
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair


class ParallelTexts:
    """Parallel text of every ordered pair of languages that have an encoder."""

    def __init__(
        self,
        run: Run,
        corpora: Sequence[ComponentConfig],
        *,
        folder: Path,
        sentences: int | None,
        languages: Sequence[str],
    ) -> None:
        """Read the text.

        sentences: maximum per pair; None for all. languages: those with an encoder. Raises
        ConfigError without corpora, DataError if no pair has text.
        """
        if not corpora:
            raise ConfigError(
                f"{run.path}: data.test names no corpus; name one there, or `test` in the settings"
            )
        self.descriptions = [describe_corpus(corpus) for corpus in corpora]
        self._held_out = HeldOut(run, corpora, sentences=sentences, folder=folder)
        self.pairs = _ordered_pairs([name for name in run.config.languages if name in languages])
        self._held_out.check(self.pairs)
        self._lines: dict[LanguagePair, tuple[list[str], list[str]]] = {}
        for pair in self.pairs:
            if self.missing(pair) is None:
                self._lines[pair] = self._held_out.lines(pair)

    def missing(self, pair: LanguagePair) -> str | None:
        """Reason why a pair has no text; None if it has text."""
        return self._held_out.missing(pair)

    def lines(self, pair: LanguagePair) -> tuple[list[str], list[str]]:
        """Sources and targets of a pair that has text."""
        return self._lines[pair]

    def shared(self, count: int) -> dict[str, list[str]]:
        """First sentences of as many languages as possible; line n is the same in each."""
        candidates = []
        for language in dict.fromkeys(pair.source for pair in self._lines):
            candidates.append(self._translations_of(language))
        largest = max(candidates, key=len)
        return {language: lines[:count] for language, lines in largest.items()}

    def _translations_of(self, language: str) -> dict[str, list[str]]:
        """Lines of a language in its first pair, and in each target with the same sources."""
        texts: dict[str, list[str]] = {}
        for pair, (sources, targets) in self._lines.items():
            if pair.source == language:
                texts.setdefault(language, sources)
                if sources == texts[language]:
                    texts[pair.target] = targets
        return texts


def _ordered_pairs(languages: Sequence[str]) -> list[LanguagePair]:
    pairs = []
    for source in languages:
        for target in languages:
            if source != target:
                pairs.append(LanguagePair(source, target))
    return pairs
