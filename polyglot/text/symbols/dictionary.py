"""Rule dictionary: names and acronyms that match between two languages in training text."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from polyglot.core.errors import CheckpointError


@dataclass(frozen=True)
class Dictionary:
    """Names by language, and translations of acronyms by language pair such as `en-fr`."""

    names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    acronyms: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Dictionary:
        """Load a dictionary. Raises CheckpointError if the file is not one."""
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            names = {}
            for language, texts in values["names"].items():
                names[language] = frozenset(map(str, texts))
            acronyms = {}
            for pair, rules in values["acronyms"].items():
                acronyms[pair] = {str(source): str(target) for source, target in rules.items()}
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
        names = {language: sorted(texts) for language, texts in sorted(self.names.items())}
        acronyms = {}
        for pair, rules in sorted(self.acronyms.items()):
            acronyms[pair] = dict(sorted(rules.items()))
        return json.dumps({"names": names, "acronyms": acronyms}, ensure_ascii=False, indent=1)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def with_older(self, older: Dictionary) -> Dictionary:
        """Merge with an older dictionary; this one wins where they differ."""
        names = dict(older.names)
        for language, texts in self.names.items():
            names[language] = texts | older.names.get(language, frozenset())
        acronyms = {}
        for pair in self.acronyms.keys() | older.acronyms.keys():
            acronyms[pair] = {**older.acronyms.get(pair, {}), **self.acronyms.get(pair, {})}
        return Dictionary(names, acronyms)

    def acronym(self, text: str, source: str, target: str) -> str:
        """Translation of an acronym; the acronym itself if the dictionary has none."""
        return self.acronyms.get(f"{source}-{target}", {}).get(text, text)


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
        self._acronyms[source, target, acronym][translation] += 1
        self._acronyms[target, source, translation][acronym] += 1

    def dictionary(self) -> Dictionary:
        """Dictionary with the most frequent translation; ties go to the alphabetically first."""
        acronyms: dict[str, dict[str, str]] = defaultdict(dict)
        for (source, target, text), counts in self._acronyms.items():
            if source != target:
                acronyms[f"{source}-{target}"][text] = _most_frequent(counts)
        names = {language: frozenset(texts) for language, texts in self._names.items()}
        return Dictionary(names, dict(acronyms))


def _most_frequent(counts: Counter[str]) -> str:
    return min(counts, key=lambda text: (-counts[text], text))
