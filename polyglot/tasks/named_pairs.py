"""Language pairs that a section of a schedule names: its patterns and its copies."""

from __future__ import annotations

from collections.abc import Sequence

from polyglot.core.errors import ConfigError, collect_errors, unknown_names
from polyglot.core.language_codes import find_language
from polyglot.core.problems import Problem
from polyglot.tasks.pairs import LanguagePair, match_pairs

CENTER = "{center}"
"""Central language in a pattern for pairs."""


def named_pairs(
    patterns: Sequence[str],
    copies: bool | Sequence[str],
    languages: Sequence[str],
    *,
    center: str,
) -> list[LanguagePair]:
    """Return the pairs that match the patterns, then the copies.

    copies: languages that are copied; True for all. Raises ConfigError with the problems of both,
    in the keys `pairs` and `copies`.
    """
    copied: Sequence[str] = []
    if copies is True:
        copied = languages
    elif copies:
        copied = copies

    problems: list[Problem] = []
    known_languages = set(languages)
    unknown = [language for language in copied if language not in known_languages]
    for language, message in unknown_names("language", unknown, languages):
        problems.append(Problem(("copies",), message, languages=(language,)))
    pairs: list[LanguagePair] = []
    with collect_errors(problems, "pairs"):
        filled_in = fill_in_center(patterns, languages, center)
        pairs = match_pairs(filled_in, languages)
    if problems:
        raise ConfigError(problems)

    copy_pairs = [LanguagePair(language, language) for language in copied]
    return pairs + copy_pairs


def fill_in_center(patterns: Sequence[str], languages: Sequence[str], center: str) -> list[str]:
    """Replace `{center}` in patterns by the central language. Raises ConfigError without one."""
    if not any(CENTER in pattern for pattern in patterns):
        return list(patterns)
    language = find_language(center, languages)
    if language is None:
        listed = ", ".join(languages)
        raise ConfigError(
            f"{CENTER} is {center}, which is not among the languages {listed}; "
            "name the central language in schedule.center"
        )
    return [pattern.replace(CENTER, language) for pattern in patterns]
