"""What a sentence says, before any language says it: a small tree of clauses and things."""

from __future__ import annotations

from dataclasses import dataclass, field

SPEAKER = "I"


@dataclass(frozen=True, slots=True)
class Thing:
    """Somebody or something: a person, a city, the speaker, or a noun with what determines it.

    The determiner is one of `the`, `a`, `this`, `my`, `own` (of the clause's subject), `name` (of the person `owner`), `count`,
    `bare` (mass nouns and indefinite plurals), `generic` (what is played), `pronoun` (he or she, standing for the person `noun`)
    and `none` (names, cities, the speaker).
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
    """One event or state with everybody who takes part in it.

    `verb` is a verb's sense, or `be` (with `quality`, `profession` or a location) or `exist`. `gap` says which part a relative
    pronoun or a question word stands for: `subject`, `object`, `location` or `time`.
    """

    verb: str
    subject: Thing | None = None
    object: Thing | None = None
    circumstances: tuple[tuple[str, Thing], ...] = field(
        default=()
    )  # (role, thing): recipient, companion, instrument, …
    quality: str | None = None
    profession: str | None = None
    complement: Clause | None = None
    link: str | None = None  # how the complement is tied: that, where
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
