"""Held-out text: the first sentences of what some corpora have for a pair, as they stand there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from polyglot.core.errors import ConfigError
from polyglot.core.registry import ComponentConfig
from polyglot.data.corpora import Corpora, ParallelText
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair


class HeldOut:
    """Text for validation or testing; in the place of `Corpora` it gives a dataset its first sentences only, each once."""

    def __init__(
        self,
        run: Run,
        corpora: Sequence[ComponentConfig],
        *,
        sentences: int | None,
        folder: Path | None = None,
    ) -> None:
        """sentences: of a pair, at most; None takes all. folder: where relative paths start, by default the run's `data.folder`.

        Raises ConfigError for a corpus that would be streamed.
        """
        if any(getattr(corpus, "streaming", False) for corpus in corpora):
            raise ConfigError(
                "streaming: held-out text is not streamed; leave `streaming: true` out"
            )
        self._corpora = Corpora(
            corpora, folder=folder or Path(run.config.data.folder), languages=run.config.languages
        )
        self._sentences = sentences

    @cached_property
    def pairs(self) -> set[LanguagePair]:
        """What there is text for."""
        return self._corpora.pairs()

    def check(self, wanted: Sequence[LanguagePair]) -> None:
        """Raises DataError when there is text for none of the pairs."""
        self._corpora.check_any(wanted)

    def missing(self, pair: LanguagePair) -> str | None:
        """Why there is no text for a pair, or None when there is."""
        if pair in self.pairs:
            return None
        lacking = [
            language
            for language in dict.fromkeys((pair.source, pair.target))
            if LanguagePair(language, language) not in self.pairs
        ]
        return (
            f"no text in {' and '.join(lacking)}"
            if lacking
            else f"no text in {pair.source} and {pair.target} together"
        )

    def parallel(self, pair: LanguagePair) -> list[ParallelText]:
        """The text of each corpus that has some, until there are enough sentences."""
        texts, left = [], self._sentences
        for text in self._corpora.parallel(pair):
            count = len(text.source) if left is None else min(left, len(text.source))
            if left is not None:
                left -= count
            if count:
                rows = range(count)
                texts.append(
                    replace(
                        text,
                        source=text.source.select(rows),
                        target=text.target.select(rows),
                        weight=1.0,
                    )
                )
        return texts

    def lines(self, pair: LanguagePair) -> tuple[list[str], list[str]]:
        """Sources and references."""
        texts = self.parallel(pair)
        return [line for text in texts for line in text.source["text"]], [
            line for text in texts for line in text.target["text"]
        ]
