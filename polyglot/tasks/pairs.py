"""Language pairs and tasks."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from polyglot.core.errors import ConfigError
from polyglot.core.language_codes import resolve_language
from polyglot.core.problems import Problem

LANGUAGE_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

MOST_PROBLEMS = 20
"""Patterns without a pair that are reported together; each is compared with all languages."""


@dataclass(frozen=True, slots=True, order=True)
class LanguagePair:
    """Ordered pair of languages, written `de-en`. A pair of a language with itself is a copy."""

    source: str
    target: str

    @classmethod
    def parse(cls, text: str) -> LanguagePair:
        """Parse `de-en`. Raises ConfigError if the text is not a pair."""
        source, hyphen, target = text.partition("-")
        codes_are_valid = LANGUAGE_CODE.fullmatch(source) and LANGUAGE_CODE.fullmatch(target)
        if not hyphen or not codes_are_valid:
            raise ConfigError(
                f"{text!r} is no language pair; "
                "write source and target with a hyphen, such as 'de-en'"
            )
        return cls(source, target)

    @property
    def is_copy(self) -> bool:
        return self.source == self.target

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"


@dataclass(frozen=True, slots=True)
class Task:
    """A language pair to train, and its share of the batches. A monolingual copy is a task too."""

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

    @property
    def text_name(self) -> str:
        """Name of the task whose sentences are trained."""
        return self.name


def match_pairs(patterns: Iterable[str], languages: Sequence[str]) -> list[LanguagePair]:
    """Return the pairs that match any pattern, in the order of patterns and languages.

    Patterns are `de-en`, `*-en`, `en-*` and `*-*`. Only a pattern without a star matches a copy.
    A language may have another spelling than in the run, such as `de` for `deu_Latn`.
    Raises ConfigError with every pattern that matches no pair, at most the first MOST_PROBLEMS.
    """
    languages = dict.fromkeys(languages)  # in order, and a name is found at once
    matches: dict[LanguagePair, None] = {}
    problems: list[Problem] = []
    for pattern in patterns:
        if len(problems) == MOST_PROBLEMS:
            break
        if "-" not in pattern:
            message = (
                f"{pattern!r} is no pattern for language pairs; write 'de-en', '*-en' or '*-*'"
            )
            problems.append(Problem((), message))
            continue
        try:
            pairs = _matches_of(pattern, languages)
        except ConfigError as error:
            problems.append(Problem((), f"{pattern!r}: {error}"))
            continue
        if not pairs:
            problems.append(_unmatched(pattern, languages))
        matches.update(dict.fromkeys(pairs))
    if problems:
        raise ConfigError(problems)
    return list(matches)


def _unmatched(pattern: str, languages: Sequence[str]) -> Problem:
    """Problem of a pattern without pairs, with the languages of the pattern that are not known."""
    unknown = []
    for name in pattern.split("-"):
        if LANGUAGE_CODE.fullmatch(name) and resolve_language(name, languages) not in languages:
            unknown.append(name)
    message = f"{pattern!r} matches no pair of the languages {', '.join(languages)}"
    return Problem((), message, languages=tuple(dict.fromkeys(unknown)))


def _matches_of(pattern: str, languages: Collection[str]) -> list[LanguagePair]:
    source, _, target = pattern.partition("-")
    source_pattern = _spelling_in_run(source, languages)
    target_pattern = _spelling_in_run(target, languages)
    sources = _matching_languages(source_pattern, languages)
    targets = _matching_languages(target_pattern, languages)
    pairs = []
    for source in sources:
        for target in targets:
            pair = LanguagePair(source, target)
            if not pair.is_copy or (source_pattern, target_pattern) == (source, target):
                pairs.append(pair)
    return pairs


def _matching_languages(pattern: str, languages: Collection[str]) -> list[str]:
    if pattern in languages and LANGUAGE_CODE.fullmatch(pattern):
        return [pattern]
    return [language for language in languages if fnmatchcase(language, pattern)]


def resolve_pair(
    pair: LanguagePair,
    *,
    sources: Collection[str],
    targets: Collection[str],
) -> LanguagePair:
    """Return the pair with the languages as a run spells them, such as `deu_Latn` for `de`.

    A language that the run does not have stays. Raises ConfigError for an ambiguous spelling.
    """
    source = resolve_language(pair.source, sources)
    target = resolve_language(pair.target, targets)
    return LanguagePair(source, target)


def _spelling_in_run(name: str, languages: Collection[str]) -> str:
    """Return the language of the run that a name without wildcards means."""
    if not LANGUAGE_CODE.fullmatch(name):
        return name
    return resolve_language(name, languages)


def pair_kind(pair: LanguagePair, trained: Iterable[LanguagePair]) -> str:
    """Return `copy`, `supervised` or `zero-shot`, as score matrices mark a pair."""
    if pair.is_copy:
        return "copy"
    if pair in set(trained):
        return "supervised"
    return "zero-shot"
