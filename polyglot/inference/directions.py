"""Translation directions that a model has components for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from polyglot.core.errors import ConfigError
from polyglot.core.language_codes import unknown_language
from polyglot.tasks.pairs import LanguagePair


@dataclass(frozen=True, slots=True)
class Directions:
    """Source and target languages of a configuration, known before there are parameters."""

    sources: Sequence[str]
    targets: Sequence[str]

    @classmethod
    def of(cls, pairs: Iterable[LanguagePair]) -> Directions:
        """Return all directions, also untrained ones, whose components these pairs train."""
        pairs = list(pairs)
        sources = dict.fromkeys(pair.source for pair in pairs)
        targets = dict.fromkeys(pair.target for pair in pairs)
        return cls(list(sources), list(targets))

    def check(self, source: str, target: str) -> None:
        """Raise ConfigError if the direction has no encoder or no decoder."""
        check_direction(source, target, sources=self.sources, targets=self.targets)


def check_direction(
    source: str,
    target: str,
    *,
    sources: Collection[str],
    targets: Collection[str],
) -> None:
    """Raise ConfigError if the source language has no encoder or the target no decoder."""
    if source not in sources:
        raise ConfigError(f"source language: {unknown_language('encoder', source, sources)}")
    if target not in targets:
        raise ConfigError(f"target language: {unknown_language('decoder', target, targets)}")
