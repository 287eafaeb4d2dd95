"""Mistyped names of languages: one problem for each, in place of one for each key that has it."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence

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
    names = _LanguageNames(problems, languages)
    if len(names.counts) > MOST_NAMES:
        return list(problems)

    keys: dict[str, list[str]] = {}
    merged: list[Problem | str] = []
    for problem in problems:
        if names.is_consequence(problem):
            continue
        name = names.repeated_name(problem)
        if name is None:
            merged.append(problem)
            continue
        if name not in keys:
            keys[name] = []
            merged.append(name)
        keys[name].append(problem.key)

    result = []
    for item in merged:
        if isinstance(item, str):
            item = names.describe(item, keys[item])
        result.append(item)
    return result


class _LanguageNames:
    """Names of languages in problems: unknown ones, and those without text."""

    def __init__(self, problems: Sequence[Problem], languages: Sequence[str]) -> None:
        self._languages = languages
        self._known = set(languages)
        self._invalid = []
        for language in languages:
            if not LANGUAGE_CODE.fullmatch(language):
                self._invalid.append(language)

        self.counts: Counter[str] = Counter()
        """number of problems of each unknown name"""
        without_text: dict[str, None] = {}
        for problem in problems:
            for name in problem.languages:
                if name in self._known:
                    without_text[name] = None
                else:
                    self.counts[name] += 1

        self._meant: dict[str, str | None] = {}
        if len(self.counts) <= MOST_NAMES:
            self._meant = self._meant_languages(list(without_text))
        self._explained = self._explained_languages(set(without_text))

    def is_consequence(self, problem: Problem) -> bool:
        """Return True if the cause is a wrong name that another problem reports."""
        for name in problem.languages:
            if name in self._explained:
                return True
            if name in self._known:
                continue
            if any(is_same_language(name, language) for language in self._invalid):
                return True
        return False

    def repeated_name(self, problem: Problem) -> str | None:
        """Return the most frequent unknown name of a problem; None if it is in no other problem."""
        unknown = [name for name in problem.languages if name not in self._known]
        if not unknown:
            return None
        name = max(unknown, key=self.counts.__getitem__)
        if self.counts[name] == 1:
            return None
        return name

    def describe(self, name: str, keys: Sequence[str]) -> Problem:
        """Return the problem of an unknown name in several keys."""
        places = ", ".join(dict.fromkeys(keys))
        message = f"no language named {name!r}, which is in {places}."
        suggestion = self._meant[name]
        if suggestion is not None:
            message += f" Did you mean {suggestion!r}?"
        listing = abbreviate(self._languages, shown=20)
        return Problem(("languages",), f"{message} Known: {listing}")

    def _meant_languages(self, without_text: Sequence[str]) -> dict[str, str | None]:
        """Return the language that each unknown name probably means.

        This is another spelling, a similar name, or the only language without text for the only
        name; None if there is no such language.
        """
        meant: dict[str, str | None] = {}
        for name in self.counts:
            suggestion = find_language(name, self._languages)
            similar = difflib.get_close_matches(name, self._languages, n=1)
            if suggestion is None and similar:
                suggestion = similar[0]
            if suggestion is None and len(self.counts) == len(without_text) == 1:
                suggestion = without_text[0]
            meant[name] = suggestion
        return meant

    def _explained_languages(self, without_text: set[str]) -> set[str | None]:
        """Return the languages without text that have another name elsewhere."""
        suggestions = list(self._meant.values())
        explained = set(suggestions)
        remaining = without_text - explained
        if len(remaining) <= suggestions.count(None):
            explained |= remaining
        return explained
