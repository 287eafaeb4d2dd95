"""Language pairs and tasks: who is translated into whom, and what was never trained."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from polyglot.core.errors import ConfigError

LANGUAGE_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True, order=True)
class LanguagePair:
    """An ordered pair, written `de-en`; a pair of a language with itself is a copy."""

    source: str
    target: str

    @classmethod
    def parse(cls, text: str) -> LanguagePair:
        """`de-en` to a pair. Raises ConfigError when the text is no pair."""
        source, dash, target = text.partition("-")
        if not dash or not LANGUAGE_CODE.fullmatch(source) or not LANGUAGE_CODE.fullmatch(target):
            raise ConfigError(
                f"{text!r} is no language pair; write source and target with a hyphen, such as 'de-en'"
            )
        return cls(source, target)

    @property
    def is_copy(self) -> bool:
        return self.source == self.target

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"


@dataclass(frozen=True, slots=True)
class Task:
    """One pair that is trained, with its share of the batches; a monolingual copy is a task too."""

    pair: LanguagePair
    weight: float = 1.0

    @property
    def source(self) -> str:
        return self.pair.source

    @property
    def target(self) -> str:
        return self.pair.target

    @property
    def name(self) -> str:
        return str(self.pair)


def match_pairs(patterns: Iterable[str], languages: Sequence[str]) -> list[LanguagePair]:
    """Pairs of different languages that any pattern names: `de-en`, `*-en`, `en-*`, `*-*`; in the order of the languages.

    A pattern without a star may also name a copy. Raises ConfigError with every pattern that matches nothing.
    """
    found: dict[LanguagePair, None] = {}
    problems: list[str] = []
    for pattern in patterns:
        source, dash, target = pattern.partition("-")
        if not dash:
            problems.append(
                f"{pattern!r} is no pattern for language pairs; write 'de-en', '*-en' or '*-*'"
            )
            continue
        matches = [
            LanguagePair(one, other)
            for one in languages
            for other in languages
            if fnmatchcase(one, source)
            and fnmatchcase(other, target)
            and (one != other or pattern == f"{one}-{other}")
        ]
        if not matches:
            problems.append(f"{pattern!r} matches no pair of the languages {', '.join(languages)}")
        found.update(dict.fromkeys(matches))
    if problems:
        raise ConfigError(problems)
    return list(found)


def pair_kind(pair: LanguagePair, trained: Iterable[LanguagePair]) -> str:
    """`copy`, `supervised` or `zero-shot`: how a cell of the matrix is marked."""
    if pair.is_copy:
        return "copy"
    return "supervised" if pair in set(trained) else "zero-shot"
