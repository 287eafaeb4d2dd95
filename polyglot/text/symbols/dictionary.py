"""Rule dictionary: names and acronyms that match between two languages in training text."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polyglot.core.errors import CheckpointError
from polyglot.core.stored_json import read_json

Rules = Mapping[str, str]
"""Translations of acronyms."""


@dataclass(frozen=True)
class Dictionary:
    """Names by language, and translations of acronyms by language pair such as `en-fr`."""

    names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    acronyms: Mapping[str, Rules] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Dictionary:
        """Load a dictionary. Raises CheckpointError if the file is not one."""
        try:
            values = read_json(path)
            names = _parse_names(values["names"])
            acronyms = _parse_acronyms(values["acronyms"])
        except OSError as error:
            raise CheckpointError(
                f"{path}: cannot read the dictionary of symbols: {error.strerror}"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise CheckpointError(
                f"{path}: not a dictionary of symbols; "
                "`polyglot train` and `polyglot symbolize` write one"
            ) from None
        return cls(names, acronyms)

    def to_json(self) -> str:
        """JSON text; equal dictionaries give equal bytes."""
        names = {}
        for language, texts in sorted(self.names.items()):
            names[language] = sorted(texts)
        acronyms = {}
        for pair, rules in sorted(self.acronyms.items()):
            acronyms[pair] = dict(sorted(rules.items()))
        values = {"names": names, "acronyms": acronyms}
        return json.dumps(values, ensure_ascii=False, indent=1)

    @property
    def sha256(self) -> str:
        content = self.to_json().encode()
        return hashlib.sha256(content).hexdigest()

    def with_older(self, older: Dictionary) -> Dictionary:
        """Merge with an older dictionary; this one wins where they differ."""
        names = dict(older.names)
        for language, texts in self.names.items():
            older_texts = older.names.get(language, frozenset())
            names[language] = texts | older_texts
        acronyms = dict(older.acronyms)
        for pair, rules in self.acronyms.items():
            older_rules = older.acronyms.get(pair, {})
            acronyms[pair] = {**older_rules, **rules}
        return Dictionary(names, acronyms)

    def acronym(self, text: str, source: str, target: str) -> str:
        """Translation of an acronym; the acronym itself if the dictionary has none."""
        rules = self.acronyms.get(f"{source}-{target}", {})
        return rules.get(text, text)


def _parse_names(values: Mapping[str, Iterable[Any]]) -> dict[str, frozenset[str]]:
    names = {}
    for language, texts in values.items():
        names[language] = frozenset(map(str, texts))
    return names


def _parse_acronyms(values: Mapping[str, Mapping[Any, Any]]) -> dict[str, Rules]:
    acronyms = {}
    for pair, rules in values.items():
        acronyms[pair] = {}
        for source, target in rules.items():
            acronyms[pair][str(source)] = str(target)
    return acronyms


class DictionaryBuilder:
    """Counts of names and acronyms that match, from which a dictionary is made."""

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = defaultdict(set)
        self._acronyms: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)

    def add_name(self, name: str, source: str, target: str) -> None:
        """Add a name that occurs on both sides."""
        self._names[source].add(name)
        self._names[target].add(name)

    def add_acronym(self, acronym: str, translation: str, source: str, target: str) -> None:
        """Add an acronym and its translation, in both directions."""
        translations = self._acronyms[source, target, acronym]
        translations[translation] += 1
        inverse_translations = self._acronyms[target, source, translation]
        inverse_translations[acronym] += 1

    def dictionary(self) -> Dictionary:
        """Dictionary with the most frequent translation; ties go to the alphabetically first."""
        names = {}
        for language, texts in self._names.items():
            names[language] = frozenset(texts)
        acronyms: dict[str, dict[str, str]] = defaultdict(dict)
        for (source, target, text), counts in self._acronyms.items():
            if source != target:
                rules = acronyms[f"{source}-{target}"]
                rules[text] = _most_frequent(counts)
        return Dictionary(names, dict(acronyms))


def _most_frequent(counts: Counter[str]) -> str:
    return min(counts, key=lambda text: (-counts[text], text))
