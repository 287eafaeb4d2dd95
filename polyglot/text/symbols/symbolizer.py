"""Replace numbers, names and acronyms of lines by symbols, with rules that restore them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from pydantic import Field

from polyglot.core.registry import ComponentConfig
from polyglot.text.symbols.dictionary import Dictionary, DictionaryBuilder
from polyglot.text.symbols.numbers import Number, numbers, spaced_numbers
from polyglot.text.symbols.words import (
    Phrase,
    Word,
    acronyms,
    capitalised_runs,
    capitalises_nouns,
    phrases,
    starts_sentence,
)
from polyglot.text.symbols.writing import TYPES, Replacement, pieces, symbol, write


class SymbolsConfig(ComponentConfig):
    """Settings: words that become symbols."""

    numbers: bool = True
    """Digits, with marks for grouping and decimals."""
    names: bool = True
    """Runs of capitalised words that are equal in both languages."""
    grouping: Literal["language", "any"] = "language"
    """Numbers that match: written in the usual formats of their languages, or also `any` number
    with spaces, points or commas between groups of three digits (`10 000`, `10.000`, `10,000`), as
    in Choi et al. 2017. Without its translation, digits between spaces are one number with `any` if
    a group after the first begins with 0."""
    acronyms: bool = True
    """Words in capitals."""
    name_words: int = Field(2, ge=1, le=10)
    """Least number of capitalised words of a name; a single word must not start a sentence."""
    most: int = Field(9, ge=1, le=99)
    """Largest number of symbols of each type in a sentence; further words stay."""


class Symbolized(NamedTuple):
    """Line with symbols."""

    text: str
    rules: dict[str, str]
    """Text of each symbol."""


class Match(NamedTuple):
    """Source and target of one symbol; the target is a text if the translation is unknown."""

    kind: str
    source: Number | Word | Phrase
    target: Number | Word | Phrase | str


class Symbolizer:
    """Replace words by symbols, with the settings of a run and a dictionary."""

    def __init__(self, config: SymbolsConfig, dictionary: Dictionary = Dictionary()) -> None:
        self.config = config
        self.dictionary = dictionary

    @classmethod
    def learn(cls, config: SymbolsConfig, pairs: Iterable[tuple[str, str, str, str]]) -> Symbolizer:
        """Build the dictionary from pairs of lines.

        pairs: (source line, target line, source language, target language).
        """
        matcher = cls(config)
        builder = DictionaryBuilder()
        for source_line, target_line, source, target in pairs:
            if source == target:
                continue
            for match in matcher._matches(source_line, target_line, source, target):
                if match.kind == "name":
                    builder.add_name(match.source.text, source, target)
                elif match.kind == "acronym":
                    builder.add_acronym(match.source.text, match.target.text, source, target)
        return cls(config, builder.dictionary())

    def line(self, line: str, source: str, target: str | None = None) -> Symbolized:
        """Replace words of a line without its translation.

        The rules are texts of the target language, by default the source language.
        """
        target = target or source
        replacements = []
        rules = {}
        for name, match in self._numbered(self._source_matches(line, source, target)):
            replacements.append(Replacement(match.source.start, match.source.end, name))
            rules[name] = match.target
        return Symbolized(write(line, replacements), rules)

    def pair(
        self,
        source_line: str,
        target_line: str,
        source: str,
        target: str,
    ) -> tuple[Symbolized, Symbolized]:
        """Replace words that match on both sides, numbered in the order of the source.

        A monolingual copy is replaced like a single line.
        """
        if source == target:
            return self.line(source_line, source), self.line(target_line, target)
        source_replacements = []
        target_replacements = []
        source_rules = {}
        target_rules = {}
        matches = self._matches(source_line, target_line, source, target)
        for name, match in self._numbered(matches):
            source_replacements.append(Replacement(match.source.start, match.source.end, name))
            source_rules[name] = source_line[match.source.start : match.source.end]
            target_replacements.append(Replacement(match.target.start, match.target.end, name))
            target_rules[name] = target_line[match.target.start : match.target.end]
        source_side = Symbolized(write(source_line, source_replacements), source_rules)
        target_side = Symbolized(write(target_line, target_replacements), target_rules)
        return source_side, target_side

    @property
    def pieces(self) -> Sequence[str]:
        """Pieces that a vocabulary never splits."""
        return pieces(self.config.most)

    @property
    def fingerprint(self) -> str:
        """Hash of settings and dictionary."""
        unused = set()
        if self.config.grouping == "language":
            unused = {"grouping"}  # which runs of older versions do not have
        content = f"{self.config.model_dump_json(exclude=unused)}\n{self.dictionary.sha256}"
        return hashlib.sha256(content.encode()).hexdigest()

    def _numbered(self, matches: Iterable[Match]) -> Iterator[tuple[str, Match]]:
        """Give each match its symbol, in the order of the source."""
        counts = dict.fromkeys(TYPES, 0)
        for match in sorted(matches, key=lambda match: match.source.start):
            counts[match.kind] += 1
            if counts[match.kind] <= self.config.most:
                yield symbol(match.kind, counts[match.kind]), match

    # Both sides are known ---------------------------------------------------------------------

    def _matches(
        self,
        source_line: str,
        target_line: str,
        source: str,
        target: str,
    ) -> Iterator[Match]:
        """Find names, acronyms and numbers that match on both sides."""
        names: list[Match] = []
        if self.config.names:
            names = list(self._matching_names(source_line, target_line, source, target))
            yield from names
        if self.config.acronyms:
            source_acronyms = _outside(acronyms(source_line), [name.source for name in names])
            target_acronyms = _outside(acronyms(target_line), [name.target for name in names])
            yield from _matching_acronyms(source_acronyms, target_acronyms)
        if self.config.numbers:
            if self.config.grouping == "any":
                yield from _matching_grouped_numbers(source_line, target_line, source, target)
            else:
                yield from _matching_numbers(source_line, target_line, source, target)

    def _matching_names(
        self,
        source_line: str,
        target_line: str,
        source: str,
        target: str,
    ) -> Iterator[Match]:
        target_phrases = list(self._phrases(target_line))
        if not target_phrases:
            return
        used_source: list[Phrase] = []
        used_target: list[Phrase] = []
        for phrase in self._phrases(source_line):
            for candidate in target_phrases:
                is_free = _is_free(phrase, used_source) and _is_free(candidate, used_target)
                if candidate.text != phrase.text or not is_free:
                    continue
                if (
                    phrase.words > 1
                    or self._is_single_name(phrase, source_line, source)
                    or self._is_single_name(candidate, target_line, target)
                ):
                    used_source.append(phrase)
                    used_target.append(candidate)
                    yield Match("name", phrase, candidate)
                    break

    def _phrases(self, line: str) -> Iterator[Phrase]:
        """Capitalised phrases of a line that can be names."""
        for run in capitalised_runs(line):
            yield from phrases(line, run, least=self.config.name_words)

    def _is_single_name(self, phrase: Phrase, line: str, language: str) -> bool:
        """True for a known name, or a capitalised word that only a name can explain."""
        if phrase.text in self.dictionary.names.get(language, ()):
            return True
        return not capitalises_nouns(language) and not starts_sentence(line, phrase)

    # Only the source is known -----------------------------------------------------------------

    def _source_matches(self, line: str, source: str, target: str) -> Iterator[Match]:
        """Find words of a source line that become symbols, with their texts in the target."""
        names: list[Phrase] = []
        if self.config.names:
            for phrase in self._phrases(line):
                if _is_free(phrase, names) and self._is_source_name(phrase, line, source):
                    names.append(phrase)
                    yield Match("name", phrase, phrase.text)
        if self.config.acronyms:
            for word in _outside(acronyms(line), names):
                yield Match("acronym", word, self.dictionary.acronym(word.text, source, target))
        if self.config.numbers:
            for number in self._source_numbers(line, source):
                if source == target:
                    text = line[number.start : number.end]
                else:
                    text = number.written(target)
                yield Match("number", number, text)

    def _source_numbers(self, line: str, language: str) -> Iterator[Number]:
        """Numbers of a line without its translation."""
        spaced: list[Number] = []
        if self.config.grouping == "any":
            spaced = list(spaced_numbers(line, only_sure=True))
            yield from spaced
        for number in numbers(line, language):
            if _is_free(number, spaced):
                yield number

    def _is_source_name(self, phrase: Phrase, line: str, language: str) -> bool:
        """True for a known name, or several capitalised words inside a sentence."""
        if phrase.text in self.dictionary.names.get(language, frozenset()):
            return True
        return (
            phrase.words > 1
            and phrase.all_capitalised
            and not capitalises_nouns(language)
            and not starts_sentence(line, phrase)
        )


def _matching_acronyms(sources: Sequence[Word], targets: Sequence[Word]) -> Iterator[Match]:
    """Match equal acronyms, and then the only remaining ones of both sides (IMF and FMI)."""
    equal = list(_match_in_order(sources, targets, lambda left, right: left.text == right.text))
    for source, target in equal:
        yield Match("acronym", source, target)
    remaining_sources = _without(sources, [source for source, _ in equal])
    remaining_targets = _without(targets, [target for _, target in equal])
    if len(remaining_sources) == len(remaining_targets) == 1:
        yield Match("acronym", remaining_sources[0], remaining_targets[0])


def _matching_numbers(
    source_line: str,
    target_line: str,
    source: str,
    target: str,
) -> Iterator[Match]:
    """Match numbers of equal value or equal text."""

    def are_equal(left: Number, right: Number) -> bool:
        left_text = source_line[left.start : left.end]
        right_text = target_line[right.start : right.end]
        return left.value == right.value or left_text == right_text

    source_numbers = list(numbers(source_line, source))
    target_numbers = list(numbers(target_line, target))
    for left, right in _match_in_order(source_numbers, target_numbers, are_equal):
        yield Match("number", left, right)


def _matching_grouped_numbers(
    source_line: str,
    target_line: str,
    source: str,
    target: str,
) -> Iterator[Match]:
    """Match numbers that may be equal, whatever stands between their groups of digits.

    First those with spaces on either side, then all others that do not overlap them.
    """
    spaced_sources = list(spaced_numbers(source_line))
    spaced_targets = list(spaced_numbers(target_line))
    sources = list(numbers(source_line, source))
    targets = list(numbers(target_line, target))
    used_sources: list[Number] = []
    used_targets: list[Number] = []
    for lefts, rights in (
        (spaced_sources, [*spaced_targets, *targets]),
        (sources, spaced_targets),
        (sources, targets),
    ):
        free_lefts = [number for number in lefts if _is_free(number, used_sources)]
        free_rights = [number for number in rights if _is_free(number, used_targets)]
        for left, right in _match_in_order(free_lefts, free_rights, _may_be_equal):
            if _is_free(left, used_sources) and _is_free(right, used_targets):
                used_sources.append(left)
                used_targets.append(right)
                yield Match("number", left, right)


def _may_be_equal(left: Number, right: Number) -> bool:
    return bool(left.possible_values & right.possible_values)


def _is_free(phrase: Phrase | Word | Number, used: Iterable[Phrase | Number]) -> bool:
    """True if the phrase overlaps none of the used ones."""
    return all(phrase.end <= other.start or other.end <= phrase.start for other in used)


def _outside(candidates: Iterable[Word], names: Sequence[Phrase]) -> list[Word]:
    """Words that are not part of a name."""
    return [word for word in candidates if _is_free(word, names)]


def _without(words: Sequence[Word], removed: Sequence[Word]) -> list[Word]:
    """Words that are not among the removed ones, compared by identity."""
    identities = {id(word) for word in removed}
    return [word for word in words if id(word) not in identities]


def _match_in_order(
    sources: Sequence[Number | Word],
    targets: Sequence[Number | Word],
    are_equal: Callable[..., bool],
) -> Iterator[tuple]:
    """Pair each source with the first unused target that is equal to it."""
    unused = list(targets)
    for source in sources:
        for place, target in enumerate(unused):
            if are_equal(source, target):
                yield source, unused.pop(place)
                break
