"""Translation directions that a model has components for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from polyglot.core.errors import ConfigError, unknown_name
from polyglot.tasks.pairs import LanguagePair, resolve_pair


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

    def resolve(self, source: str, target: str) -> LanguagePair:
        """Return the direction as the configuration spells its languages.

        Raises the errors of `resolve_direction`.
        """
        return resolve_direction(source, target, sources=self.sources, targets=self.targets)


def resolve_direction(
    source: str,
    target: str,
    *,
    sources: Collection[str],
    targets: Collection[str],
) -> LanguagePair:
    """Return the direction as the model spells its languages, such as `deu_Latn` for `de`.

    Raises ConfigError if the source has no encoder or the target no decoder, and for a spelling
    that may mean several languages.
    """
    pair = resolve_pair(LanguagePair(source, target), sources=sources, targets=targets)
    if pair.source not in sources:
        raise ConfigError(f"source language: {unknown_name('encoder', source, sources)}")
    if pair.target not in targets:
        raise ConfigError(f"target language: {unknown_name('decoder', target, targets)}")
    return pair
