"""Random subjects, objects and places that fit an event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from polyglot.phrasebook.events import Event
from polyglot.phrasebook.meaning import SPEAKER, Thing
from polyglot.phrasebook.people import FAMILY, NAMES, ROLES
from polyglot.phrasebook.world import (
    ADULTS,
    ANIMALS,
    CITIES,
    MASSES,
    PETS,
    PLACES_OF_PEOPLE,
    QUALITIES,
    UNCOUNTED,
)

COUNTS = (2, 3, 4, 5, 6, 2, 3, 4, 5, 6, 12, 20)
GROUPS = (2, 3, 4, 5, 6)
AMOUNTS = {
    "sum": (12, 20, 50, 100, 250),
    "span": GROUPS,
    "letters": (3, 4, 5, 6, 7, 8, 9, 10, 12),
}  # of euros, of days, in a word
GENDER_UNCLEAR = ("girl", "child")  # German `das Mädchen` takes `ihr` or `sein`
QUALITIES_OF = {
    noun: tuple(quality for quality in QUALITIES if noun in QUALITIES[quality])
    for nouns in QUALITIES.values()
    for noun in nouns
}


class Cast:
    """The people and things of one sentence; no person occurs twice."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.used_names: set[str] = set()

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def name(self) -> str:
        name = self.random.choice([name for name in NAMES if name not in self.used_names])
        self.used_names.add(name)
        return name

    def described(self, thing: Thing, probability: float = 0.33) -> Thing:
        """Add a fitting adjective with some probability."""
        qualities = QUALITIES_OF.get(thing.noun, ())
        if not qualities or not self.chance(probability):
            return thing
        quality = self.random.choice(qualities)
        if quality == "right.correct":  # there is only one right answer
            thing = replace(thing, determiner="the", count=None, many=False, owner=None)
        return replace(thing, quality=quality)

    # Subjects ----------------------------------------------------------------------------

    def subject(self, kind: str) -> Thing:
        """Random subject of one kind.

        Kinds: `human`, `group`, `animal`, `pet`, `birds`, `bats`, `worker`, `transport`, `word`.
        """
        if kind == "human":
            return self.human()
        if kind == "group":
            return self.group()
        if kind in ("animal", "pet"):
            noun = self.random.choice((*PETS, "bird") if kind == "animal" else PETS)
            determiner = self.random.choice(
                ("the", "this", "my", "name") if noun in PETS else ("the", "this")
            )
            return self.described(
                Thing(noun, determiner, owner=self.name() if determiner == "name" else None), 0.4
            )
        if kind in ("birds", "bats"):
            noun = "bat.animal" if kind == "bats" else self.random.choice(("bird", "bat.animal"))
            if self.chance(0.25):
                return Thing(noun, "count", count=self.random.choice(GROUPS))
            return self.described(Thing(noun, self.random.choice(("the", "this"))))
        nouns = {"worker": ADULTS, "transport": ("train", "bus"), "word": ("word",)}[kind]
        return self.described(
            Thing(
                self.random.choice(nouns),
                "this" if kind == "word" else self.random.choice(("the", "this")),
            )
        )

    def human(self) -> Thing:
        form = self.random.choices(
            ("name", "speaker", "role", "family", "group"), (50, 13, 22, 10, 5)
        )[0]
        if form == "name":
            return Thing(self.name())
        if form == "speaker":
            return Thing(SPEAKER)
        if form == "role":
            return self.described(
                Thing(self.random.choice(ROLES), self.random.choice(("the", "the", "this"))), 0.4
            )
        return self.family_member() if form == "family" else self.group()

    def family_member(self) -> Thing:
        if self.chance(0.6):
            return Thing(self.random.choice(FAMILY), "my")
        return Thing(self.random.choice(FAMILY), "name", owner=self.name())

    def group(self) -> Thing:
        if self.chance(0.6):
            return Thing(self.name(), partner=self.name())
        return Thing(self.random.choice(ROLES), "count", count=self.random.choice(GROUPS))

    def coreferent(self, subject: Thing) -> Thing | None:
        """Pronoun for the same person: `I`, `he` or `she`; None where it would be ambiguous."""
        if subject.noun == SPEAKER:
            return subject
        if subject.noun in NAMES and subject.partner is None:
            return Thing(subject.noun, "pronoun")
        return None

    # Objects -----------------------------------------------------------------------------

    def object(self, event: Event, subject: Thing, *, counted: bool) -> Thing:
        noun = self.random.choice(event.objects)
        if noun == "person":
            return Thing(self.name())
        if noun in CITIES:
            return Thing(noun)
        if noun in MASSES:
            return self.described(Thing(noun, "bare"), 0.25)
        determiner = self.random.choice(event.determiners)
        if determiner in ("count", "many") and (
            noun in UNCOUNTED or determiner == "count" and not counted
        ):
            determiner = "a"
        if determiner in AMOUNTS:
            return Thing(noun, "count", count=self.random.choice(AMOUNTS[determiner]))
        if determiner == "generic":
            return Thing(noun, determiner)
        if noun in FAMILY or determiner == "own":
            thing = self.owned(noun, subject)
        elif determiner == "name":
            thing = Thing(noun, "name", owner=self.name())
        elif determiner == "count":
            thing = Thing(noun, "count", count=self.random.choice(COUNTS))
        else:
            thing = Thing(
                noun, "bare" if determiner == "many" else determiner, many=determiner == "many"
            )
        if noun in ("hand", "foot"):
            return replace(thing, quality="right.side")
        return self.described(thing)

    def owned(self, noun: str, subject: Thing) -> Thing:
        """Thing that the subject owns, or a named person where `own` would hide the gender."""
        single = not subject.plural and (
            subject.noun == SPEAKER or subject.noun in NAMES + ROLES + FAMILY
        )
        if single and subject.noun not in GENDER_UNCLEAR and self.chance(0.75):
            return Thing(noun, "own", owner=subject.noun)
        return Thing(noun, "name", owner=self.name())

    # Circumstances -----------------------------------------------------------------------

    def circumstances(self, event: Event, subject: Thing) -> tuple[tuple[str, Thing], ...]:
        """Roles with their things in a fixed order; two at most."""
        chosen: list[tuple[str, Thing]] = []
        if event.recipient and (event.required or self.chance(0.6)):
            chosen.append(("recipient", self.recipient(event)))
        if event.companion and self.chance(0.22):
            chosen.append(
                (
                    "companion",
                    Thing(self.name())
                    if self.chance(0.6)
                    else self.owned(self.random.choice(FAMILY), subject),
                )
            )
        if event.instruments:
            chosen.append(
                (
                    "instrument",
                    self.described(Thing(self.random.choice(event.instruments), "a"), 0.15),
                )
            )
        if event.sources:
            noun = self.random.choice(event.sources)
            chosen.append(("source", Thing(noun, "a" if noun == "glass" else "the")))
        for role, nouns in (("direction", event.directions), ("location", event.locations)):
            needed = event.required and not event.recipient and not event.instruments
            if nouns and len(chosen) < 2 and (needed or self.chance(0.4)):
                chosen.append((role, self.place(self.random.choice(nouns))))
        return tuple(chosen)

    def recipient(self, event: Event) -> Thing:
        if event.objects[0] in ("hand",):
            return Thing("doctor", "the")
        form = self.random.choices(("name", "family", "role"), (50, 20, 30))[0]
        if form == "name":
            return Thing(self.name())
        return (
            Thing(self.random.choice(FAMILY), "my")
            if form == "family"
            else Thing(self.random.choice(ROLES), "the")
        )

    def place(self, noun: str) -> Thing:
        if noun in CITIES:
            return Thing(noun)
        determiner = self.random.choices(("the", "this", "name"), (70, 15, 15))[0]
        if determiner == "name" and noun not in PLACES_OF_PEOPLE:
            determiner = "the"
        return self.described(
            Thing(noun, determiner, owner=self.name() if determiner == "name" else None), 0.18
        )

    def newcomer(self, nouns: Sequence[str]) -> Thing:
        """Thing that is mentioned for the first time: singular, counted, or a bare plural."""
        noun = self.random.choice(nouns)
        form = self.random.choices(("a", "count", "many"), (60, 25, 15))[0]
        if noun in UNCOUNTED or form == "a":
            return self.described(Thing(noun, "a"))
        if form == "many":
            return self.described(Thing(noun, "bare", many=True))
        return self.described(Thing(noun, "count", count=self.random.choice(GROUPS)))

    def animal_or_person(self) -> Thing:
        return self.newcomer((*ANIMALS, *ROLES))
