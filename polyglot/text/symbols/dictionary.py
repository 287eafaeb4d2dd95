"""The rule dictionary: what training text has shown to match between two languages."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from polyglot.core.errors import CheckpointError


@dataclass(frozen=True)
class Dictionary:
    """Names that stood on both sides, by language; acronyms and what stood for them, by pair of languages such as `en-fr`."""

    names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    acronyms: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Dictionary:
        """Raises CheckpointError for a file that is none."""
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            names = {
                language: frozenset(map(str, found)) for language, found in values["names"].items()
            }
            acronyms = {
                pair: {str(one): str(other) for one, other in rules.items()}
                for pair, rules in values["acronyms"].items()
            }
        except OSError as error:
            raise CheckpointError(
                f"{path}: the dictionary of symbols cannot be read: {error.strerror}"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise CheckpointError(
                f"{path}: no dictionary of symbols; `polyglot train` and `polyglot symbolize` write one"
            ) from None
        return cls(names, acronyms)

    def to_json(self) -> str:
        """The same bytes for the same dictionary."""
        names = {language: sorted(found) for language, found in sorted(self.names.items())}
        acronyms = {
            pair: dict(sorted(rules.items())) for pair, rules in sorted(self.acronyms.items())
        }
        return json.dumps({"names": names, "acronyms": acronyms}, ensure_ascii=False, indent=1)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def with_older(self, older: Dictionary) -> Dictionary:
        """What either knows; where they differ, what this one says."""
        languages, pairs = (
            self.names.keys() | older.names.keys(),
            self.acronyms.keys() | older.acronyms.keys(),
        )
        names = {
            language: self.names.get(language, frozenset()) | older.names.get(language, frozenset())
            for language in languages
        }
        return Dictionary(
            names,
            {
                pair: {**older.acronyms.get(pair, {}), **self.acronyms.get(pair, {})}
                for pair in pairs
            },
        )

    def acronym(self, text: str, source: str, target: str) -> str:
        """What stands for it in the target language: itself when training text has shown nothing else."""
        return self.acronyms.get(f"{source}-{target}", {}).get(text, text)


class Collection:
    """A dictionary in the making."""

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = defaultdict(set)
        self._acronyms: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)

    def names(self, found: Iterable[str], source: str, target: str) -> None:
        found = list(found)
        self._names[source].update(found)
        self._names[target].update(found)

    def acronyms(self, found: Iterable[tuple[str, str]], source: str, target: str) -> None:
        for one, other in found:
            self._acronyms[source, target, one][other] += 1
            self._acronyms[target, source, other][one] += 1

    def dictionary(self) -> Dictionary:
        """With what stood most often for an acronym; ties go to the first in the alphabet."""
        acronyms: dict[str, dict[str, str]] = defaultdict(dict)
        for (source, target, text), others in self._acronyms.items():
            if source != target:
                acronyms[f"{source}-{target}"][text] = min(
                    others, key=lambda other: (-others[other], other)
                )
        return Dictionary(
            {language: frozenset(found) for language, found in self._names.items()}, dict(acronyms)
        )
