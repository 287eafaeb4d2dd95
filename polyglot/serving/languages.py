"""Languages of a served run: names, directions, spellings, and the language of a text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polyglot.core.errors import ConfigError, unknown_name
from polyglot.core.language_codes import normal_form, parse_language, resolve_language
from polyglot.tasks.pairs import LanguagePair, pair_kind
from polyglot.text.language_identification import language_probabilities

RIGHT_TO_LEFT_SCRIPTS = frozenset(
    "Adlm Arab Armi Chrs Cprt Elym Hatr Hebr Hung Khar Lydi Mand Mani Mend Merc Mero Narb Nbat "
    "Nkoo Orkh Ougr Palm Phli Phlp Phnx Prti Rohg Samr Sarb Sogd Sogo Syrc Thaa Yezi".split()
)
"""Scripts that are written from right to left (Unicode Standard 16)."""
MOST_SPELLINGS = 10_000
"""Different spellings of languages that a server interprets.

Each stays in memory, so that a client that invents codes cannot fill it.
"""


@dataclass(frozen=True)
class Detection:
    """Language of a text among those of the run."""

    language: str
    confidence: float
    """percent"""

    def to_dict(self) -> dict[str, Any]:
        """Values as LibreTranslate names them."""
        return {"language": self.language, "confidence": self.confidence}


class Spellings:
    """Spellings of the source languages, of the targets or of the pivots of a run."""

    def __init__(self, side: str, languages: Sequence[str]) -> None:
        """side: `source`, `target` or `pivot`, for messages."""
        self._side = side
        self._languages = languages
        self._resolved: dict[str, str] = {}

    def resolve(self, name: str) -> str:
        """Return the language as the run spells it, such as `deu_Latn` for `de`.

        Raises ConfigError if the run has no such language, or several.
        """
        if name in self._languages:
            return name
        if name not in self._resolved and len(self._resolved) < MOST_SPELLINGS:
            self._resolved[name] = resolve_language(name, self._languages)
        language = self._resolved.get(name)
        if language not in self._languages:
            message = unknown_name(f"{self._side} language", name, self._languages)
            raise ConfigError(f"{self._side}: {message}")
        return language


class RunLanguages:
    """Source and target languages of a run."""

    def __init__(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        trained_pairs: Collection[LanguagePair],
    ) -> None:
        self.sources = sources
        self.targets = targets
        self.trained_pairs = frozenset(trained_pairs)
        source_spellings = Spellings("source", sources)
        target_spellings = Spellings("target", targets)
        self.resolve_source = source_spellings.resolve
        self.resolve_target = target_spellings.resolve
        # A pivot is a target of the first translation, and the source of the second.
        pivots = [language for language in targets if language in sources]
        self.resolve_pivot = Spellings("pivot", pivots).resolve

    def kind(self, source: str, target: str) -> str:
        """Return `supervised`, `zero-shot` or `copy`."""
        return pair_kind(LanguagePair(source, target), self.trained_pairs)

    def detect(self, text: str) -> list[Detection]:
        """Return the source languages with their probabilities, the most probable first.

        The text of a run with a single source language is in this language. Raises ConfigError if
        the identifier knows fewer than two of several languages.
        """
        if len(self.sources) == 1:
            return [Detection(self.sources[0], 100.0)]
        if not text.strip():
            return [Detection(self.sources[0], 0.0)]
        ranked = language_probabilities(text, self.sources)
        if len(ranked) < 2:
            raise ConfigError(
                "source: the languages of this run cannot be identified; name the source"
            )
        return [Detection(language, round(100 * share, 1)) for language, share in ranked]

    def describe(self) -> list[dict[str, Any]]:
        """Return the source languages with their targets, as LibreTranslate lists them."""
        entries = []
        for source in self.sources:
            targets = [target for target in self.targets if target != source]
            entry = {"code": source, "name": language_name(source), "targets": targets}
            entries.append(entry)
        return entries


def language_name(language: str) -> str:
    """Return the English name, or the code if it has none or the names are not installed."""
    from langcodes import Language

    if not parse_language(language).is_known:
        return language
    try:
        return Language.get(normal_form(language)).display_name()
    except ImportError:
        return language


def text_directions(languages: Sequence[str]) -> Mapping[str, str]:
    """Return the attribute `dir` of each language: `rtl` or `ltr`; `auto` if it is not known."""
    directions = {}
    for language in languages:
        script = parse_language(language).script
        if script is None:
            directions[language] = "auto"
        elif script in RIGHT_TO_LEFT_SCRIPTS:
            directions[language] = "rtl"
        else:
            directions[language] = "ltr"
    return directions
