"""Lines to lines with symbols, and the rules that put the words back."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from pydantic import Field

from polyglot.core.registry import ComponentConfig
from polyglot.text.symbols.dictionary import Collection, Dictionary
from polyglot.text.symbols.numbers import Number, numbers
from polyglot.text.symbols.words import (
    NOUNS_ARE_CAPITALISED,
    Phrase,
    Word,
    acronyms,
    begins,
    phrases,
    runs,
)
from polyglot.text.symbols.writing import StandIn, pieces, symbol, write


class SymbolsConfig(ComponentConfig):
    """Which words become symbols, and when."""

    numbers: bool = True
    """Digits, with the marks that group them and come before decimals."""
    names: bool = True
    """Runs of capitalised words that are the same in both languages."""
    acronyms: bool = True
    """Words all in capitals."""
    name_words: int = Field(2, ge=1, le=10)
    """Capitalised words that make a name; with 1, a single one needs a capital that its place in the sentence does not explain."""
    most: int = Field(9, ge=1, le=99)
    """Symbols of each type in a sentence; what is more stays as it is."""


class Symbolized(NamedTuple):
    """A line with symbols."""

    text: str
    rules: dict[str, str]
    """what each symbol stands for"""


class Match(NamedTuple):
    """What one symbol stands for on both sides; without a translation at hand, the text that will stand for it."""

    kind: str
    source: Number | Word | Phrase
    target: Number | Word | Phrase | str


class Symbolizer:
    """The settings and what training text has shown."""

    def __init__(self, config: SymbolsConfig, dictionary: Dictionary = Dictionary()) -> None:
        self.config, self.dictionary = config, dictionary

    @classmethod
    def learn(cls, config: SymbolsConfig, pairs: Iterable[tuple[str, str, str, str]]) -> Symbolizer:
        """From source and target lines, each with the languages of both."""
        bare, found = cls(config), Collection()
        for source_line, target_line, source, target in pairs:
            if source == target:
                continue
            matches = list(bare._matches(source_line, target_line, source, target))
            found.names((one.source.text for one in matches if one.kind == "name"), source, target)
            found.acronyms(
                ((one.source.text, one.target.text) for one in matches if one.kind == "acronym"),
                source,
                target,
            )
        return cls(config, found.dictionary())

    def line(self, line: str, source: str, target: str | None = None) -> Symbolized:
        """A line of which only the source is known; its rules are words of the target language, or by default its own."""
        target = target or source
        stand_ins, rules = [], {}
        for name, one in self._numbered(self._found(line, source, target)):
            stand_ins.append(StandIn(one.source.start, one.source.end, name))
            rules[name] = one.target
        return Symbolized(write(line, stand_ins), rules)

    def pair(
        self, source_line: str, target_line: str, source: str, target: str
    ) -> tuple[Symbolized, Symbolized]:
        """Both lines, with symbols where they match; numbered in the order of the source. A copy is what its line is alone."""
        if source == target:
            own, other = self.line(source_line, source), self.line(target_line, target)
            return own, other
        sides: tuple[list[StandIn], list[StandIn]] = [], []
        rules: tuple[dict[str, str], dict[str, str]] = {}, {}
        for name, one in self._numbered(self._matches(source_line, target_line, source, target)):
            for line, place, stand_ins, own in zip(
                (source_line, target_line), (one.source, one.target), sides, rules
            ):
                stand_ins.append(StandIn(place.start, place.end, name))
                own[name] = line[place.start : place.end]
        return Symbolized(write(source_line, sides[0]), rules[0]), Symbolized(
            write(target_line, sides[1]), rules[1]
        )

    @property
    def pieces(self) -> Sequence[str]:
        """What a vocabulary shall keep whole."""
        return pieces(self.config.most)

    @property
    def fingerprint(self) -> str:
        """The same for the same settings and dictionary."""
        return hashlib.sha256(
            f"{self.config.model_dump_json()}\n{self.dictionary.sha256}".encode()
        ).hexdigest()

    def _numbered(self, matches: Iterable[Match]) -> Iterator[tuple[str, Match]]:
        """Each with its symbol, in the order of the source."""
        count = dict.fromkeys(("number", "name", "acronym"), 0)
        for one in sorted(matches, key=lambda match: match.source.start):
            count[one.kind] += 1
            if count[one.kind] <= self.config.most:
                yield symbol(one.kind, count[one.kind]), one

    # On both sides ----------------------------------------------------------------------------------------------------------

    def _matches(
        self, source_line: str, target_line: str, source: str, target: str
    ) -> Iterator[Match]:
        """What is the same on both sides, as far as can be seen."""
        names: list[Match] = []
        if self.config.names:
            names = list(self._matching_names(source_line, target_line, source, target))
            yield from names
        if self.config.acronyms:
            own = _apart(acronyms(source_line), [one.source for one in names])
            theirs = _apart(acronyms(target_line), [one.target for one in names])
            pairs = list(_first_come(own, theirs, lambda one, other: one.text == other.text))
            yield from (Match("acronym", one, other) for one, other in pairs)
            left = [one for one in own if all(one is not word for word, _ in pairs)]
            theirs_left = [other for other in theirs if all(other is not word for _, word in pairs)]
            if len(left) == len(theirs_left) == 1:  # IMF and FMI
                yield Match("acronym", left[0], theirs_left[0])
        if self.config.numbers:
            own_numbers, their_numbers = (
                list(numbers(source_line, source)),
                list(numbers(target_line, target)),
            )

            def same(one: Number, other: Number) -> bool:
                return (
                    one.value == other.value
                    or source_line[one.start : one.end] == target_line[other.start : other.end]
                )

            yield from (
                Match("number", one, other)
                for one, other in _first_come(own_numbers, their_numbers, same)
            )

    def _matching_names(
        self, source_line: str, target_line: str, source: str, target: str
    ) -> Iterator[Match]:
        least = self.config.name_words
        theirs = [
            one for run in runs(target_line) for one in phrases(target_line, run, least=least)
        ]
        if not theirs:
            return
        taken: tuple[list[Phrase], list[Phrase]] = [], []
        for run in runs(source_line):
            for one in phrases(source_line, run, least=least):
                for other in theirs:
                    if other.text == one.text and _free(one, taken[0]) and _free(other, taken[1]):
                        if (
                            one.words > 1
                            or self._single(one, source_line, source)
                            or self._single(other, target_line, target)
                        ):
                            taken[0].append(one)
                            taken[1].append(other)
                            yield Match("name", one, other)
                            break

    def _single(self, one: Phrase, line: str, language: str) -> bool:
        """Whether a single capitalised word is known for a name, or its capital can have no other reason."""
        return one.text in self.dictionary.names.get(language, ()) or (
            language not in NOUNS_ARE_CAPITALISED and not begins(line, one)
        )

    # On the source alone ----------------------------------------------------------------------------------------------------

    def _found(self, line: str, source: str, target: str) -> Iterator[Match]:
        """What becomes a symbol where only the source is known, each with what will stand for it."""
        names: list[Phrase] = []
        if self.config.names:
            known = self.dictionary.names.get(source, frozenset())
            for run in runs(line):
                for one in phrases(line, run, least=self.config.name_words):
                    likely = (
                        one.words > 1
                        and one.solid
                        and source not in NOUNS_ARE_CAPITALISED
                        and not begins(line, one)
                    )
                    if _free(one, names) and (one.text in known or likely):
                        names.append(one)
                        yield Match("name", one, one.text)
        if self.config.acronyms:
            for word in _apart(acronyms(line), names):
                yield Match("acronym", word, self.dictionary.acronym(word.text, source, target))
        if self.config.numbers:
            for one in numbers(line, source):
                yield Match(
                    "number",
                    one,
                    line[one.start : one.end] if source == target else one.written(target),
                )


def _free(one: Phrase, taken: Iterable[Phrase]) -> bool:
    return all(one.end <= other.start or other.end <= one.start for other in taken)


def _apart(found: Iterable[Word], names: Sequence[Phrase]) -> list[Word]:
    """Words that are no part of a name."""
    return [word for word in found if _free(word, names)]


def _first_come(
    own: Sequence[Number | Word], theirs: Sequence[Number | Word], same: Callable[..., bool]
) -> Iterator[tuple]:
    """Each with the first of the other side that is the same and not taken."""
    left = list(theirs)
    for one in own:
        for place, other in enumerate(left):
            if same(one, other):
                yield one, left.pop(place)
                break
