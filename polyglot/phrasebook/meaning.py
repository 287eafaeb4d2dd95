"""Meaning of a sentence, independent of the language: a small tree of clauses and things."""

from __future__ import annotations

from dataclasses import dataclass

SPEAKER = "I"


@dataclass(frozen=True, slots=True)
class Thing:
    """Person, city, speaker, or a noun with its determiner.

    The determiner is one of `the`, `a`, `this`, `my`, `own` (of the clause's subject), `name` (of
    the person `owner`), `count`, `bare` (mass nouns and indefinite plurals), `generic` (games and
    instruments that are played), `pronoun` (he or she for the person `noun`) and `none` (names,
    cities, the speaker).
    """

    noun: str
    determiner: str = "none"
    many: bool = False
    count: int | None = None
    quality: str | None = None
    owner: str | None = None
    partner: str | None = None  # the second name of `Anna and David`
    relative: Clause | None = None

    @property
    def plural(self) -> bool:
        return self.many or self.count is not None or self.partner is not None


@dataclass(frozen=True, slots=True)
class Clause:
    """One event or state with its participants.

    `verb` is the sense of a verb, or `be` (with `quality`, `profession` or a location) or `exist`.
    `gap` is the part that a relative pronoun or a question word replaces: `subject`, `object`,
    `location` or `time`.
    """

    verb: str
    subject: Thing | None = None
    object: Thing | None = None
    circumstances: tuple[tuple[str, Thing], ...] = ()
    """Pairs (role, thing); roles are recipient, companion, instrument, …"""
    quality: str | None = None
    profession: str | None = None
    complement: Clause | None = None
    link: str | None = None  # conjunction of the complement: that, where
    time: str | None = None
    fronted: bool = False  # the time comes first
    frequency: str | None = None
    past: bool = False
    negated: bool = False
    modal: str | None = None
    question: bool = False
    gap: str | None = None


@dataclass(frozen=True, slots=True)
class Meaning:
    """A whole sentence: one clause, or two joined by `and`, `but`, `because` or `when`."""

    first: Clause
    link: str | None = None
    second: Clause | None = None
