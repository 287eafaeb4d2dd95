"""Mistyped names of languages: one problem for each, in place of one for each key that has it."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from polyglot.core.errors import abbreviate
from polyglot.core.language_codes import find_language, is_same_language
from polyglot.core.problems import Problem
from polyglot.tasks.pairs import LANGUAGE_CODE

MOST_NAMES = 20
"""More unknown names than these are no typing mistakes; each is compared with all languages."""


def merge_language_problems(
    problems: Sequence[Problem],
    languages: Sequence[str],
) -> list[Problem]:
    """Replace the problems of one unknown language by one problem that lists their keys.

    languages: of the configuration. The consequences of an invalid name among them, and the missing
    text of a language that has another name elsewhere, are left out.
    """
    known_languages = set(languages)
    counts: Counter[str] = Counter()
    for problem in problems:
        counts.update(_unknown(problem, known_languages))
    if len(counts) > MOST_NAMES:
        return list(problems)

    without_text: dict[str, None] = {}
    for problem in problems:
        known = [name for name in problem.languages if name in known_languages]
        without_text.update(dict.fromkeys(known))
    meant = _meant_languages(list(counts), languages, list(without_text))
    explained = set(meant.values())
    if len(set(without_text) - explained) <= list(meant.values()).count(None):
        explained.update(without_text)

    invalid = [language for language in languages if not LANGUAGE_CODE.fullmatch(language)]
    keys: dict[str, list[str]] = {}
    merged: list[Problem | str] = []
    for problem in problems:
        names = _unknown(problem, known_languages)
        is_explained = any(name in explained for name in problem.languages)
        if is_explained or _is_spelling(names, invalid):
            continue
        if not names or counts[_most_frequent(names, counts)] == 1:
            merged.append(problem)
            continue
        name = _most_frequent(names, counts)
        if name not in keys:
            merged.append(name)
        keys.setdefault(name, []).append(problem.key)
    return list(_with_descriptions(merged, keys, languages, meant))


def _unknown(problem: Problem, known_languages: Collection[str]) -> list[str]:
    """Return the languages of a problem that the configuration does not have."""
    return [name for name in problem.languages if name not in known_languages]


def _most_frequent(names: Sequence[str], counts: Counter[str]) -> str:
    return max(names, key=lambda name: counts[name])


def _is_spelling(names: Sequence[str], languages: Sequence[str]) -> bool:
    """Return True if a name is another spelling of one of these languages."""
    for name in names:
        if any(is_same_language(name, language) for language in languages):
            return True
    return False


def _meant_languages(
    names: Sequence[str],
    languages: Sequence[str],
    without_text: Sequence[str],
) -> dict[str, str | None]:
    """Return the language that each unknown name probably means; None if there is no such language.

    This is another spelling, a similar name, or the only language without text for the only name.
    """
    meant: dict[str, str | None] = {}
    for name in names:
        similar = difflib.get_close_matches(name, languages, n=1)
        meant[name] = find_language(name, languages) or (similar[0] if similar else None)
    if len(names) == 1 and len(without_text) == 1:
        [name] = names
        meant[name] = meant[name] or without_text[0]
    return meant


def _with_descriptions(
    merged: Sequence[Problem | str],
    keys: dict[str, list[str]],
    languages: Sequence[str],
    meant: dict[str, str | None],
) -> Iterator[Problem]:
    """Yield the problems, with a description in place of each unknown name."""
    for problem in merged:
        if isinstance(problem, Problem):
            yield problem
            continue
        name = problem
        places = ", ".join(dict.fromkeys(keys[name]))
        message = f"no language named {name!r}, which is in {places}."
        if meant[name] is not None:
            message += f" Did you mean {meant[name]!r}?"
        listing = abbreviate(languages, shown=20)
        yield Problem(("languages",), f"{message} Known: {listing}")
