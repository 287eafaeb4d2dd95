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


def _qualities_of_nouns() -> dict[str, tuple[str, ...]]:
    qualities_of_nouns: dict[str, tuple[str, ...]] = {}
    for quality, nouns in QUALITIES.items():
        for noun in nouns:
            earlier = qualities_of_nouns.get(noun, ())
            if quality not in earlier:
                qualities_of_nouns[noun] = (*earlier, quality)
    return qualities_of_nouns


QUALITIES_OF = _qualities_of_nouns()
"""Qualities that fit a noun."""


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
            return self._animal(kind)
        if kind in ("birds", "bats"):
            return self._flying_animals(kind)
        nouns = {"worker": ADULTS, "transport": ("train", "bus"), "word": ("word",)}[kind]
        noun = self.random.choice(nouns)
        determiner = "this"
        if kind != "word":
            determiner = self.random.choice(("the", "this"))
        return self.described(Thing(noun, determiner))

    def _animal(self, kind: str) -> Thing:
        nouns = PETS
        if kind == "animal":
            nouns = (*PETS, "bird")
        noun = self.random.choice(nouns)
        determiners = ("the", "this")
        if noun in PETS:
            determiners = ("the", "this", "my", "name")
        determiner = self.random.choice(determiners)
        owner = self.name() if determiner == "name" else None
        return self.described(Thing(noun, determiner, owner=owner), 0.4)

    def _flying_animals(self, kind: str) -> Thing:
        """Birds or bats; several of them with a number."""
        noun = "bat.animal"
        if kind != "bats":
            noun = self.random.choice(("bird", "bat.animal"))
        if self.chance(0.25):
            return Thing(noun, "count", count=self.random.choice(GROUPS))
        return self.described(Thing(noun, self.random.choice(("the", "this"))))

    def human(self) -> Thing:
        """Named person, the speaker, person with a role, family member, or group."""
        forms = ("name", "speaker", "role", "family", "group")
        form = self.random.choices(forms, (50, 13, 22, 10, 5))[0]
        if form == "name":
            return Thing(self.name())
        if form == "speaker":
            return Thing(SPEAKER)
        if form == "family":
            return self.family_member()
        if form == "group":
            return self.group()
        role = self.random.choice(ROLES)
        determiner = self.random.choice(("the", "the", "this"))
        return self.described(Thing(role, determiner), 0.4)

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
        if determiner in ("count", "many") and noun in UNCOUNTED:
            determiner = "a"
        if determiner == "count" and not counted:
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
        elif determiner == "many":
            thing = Thing(noun, "bare", many=True)
        else:
            thing = Thing(noun, determiner)
        if noun in ("hand", "foot"):
            return replace(thing, quality="right.side")
        return self.described(thing)

    def owned(self, noun: str, subject: Thing) -> Thing:
        """Thing that the subject owns, or a named person where `own` would hide the gender."""
        is_person = subject.noun == SPEAKER or subject.noun in NAMES + ROLES + FAMILY
        can_own = is_person and not subject.plural and subject.noun not in GENDER_UNCLEAR
        if can_own and self.chance(0.75):
            return Thing(noun, "own", owner=subject.noun)
        return Thing(noun, "name", owner=self.name())

    # Circumstances -----------------------------------------------------------------------

    def circumstances(self, event: Event, subject: Thing) -> tuple[tuple[str, Thing], ...]:
        """Roles with their things in a fixed order; two at most."""
        chosen: list[tuple[str, Thing]] = []
        if event.recipient and (event.required or self.chance(0.6)):
            chosen.append(("recipient", self.recipient(event)))
        if event.companion and self.chance(0.22):
            chosen.append(("companion", self._companion(subject)))
        if event.instruments:
            noun = self.random.choice(event.instruments)
            chosen.append(("instrument", self.described(Thing(noun, "a"), 0.15)))
        if event.sources:
            noun = self.random.choice(event.sources)
            chosen.append(("source", Thing(noun, "a" if noun == "glass" else "the")))
        is_required = event.required and not event.recipient and not event.instruments
        for role, nouns in (("direction", event.directions), ("location", event.locations)):
            if not nouns or len(chosen) >= 2:
                continue
            if is_required or self.chance(0.4):
                chosen.append((role, self.place(self.random.choice(nouns))))
        return tuple(chosen)

    def _companion(self, subject: Thing) -> Thing:
        if self.chance(0.6):
            return Thing(self.name())
        return self.owned(self.random.choice(FAMILY), subject)

    def recipient(self, event: Event) -> Thing:
        if event.objects[0] == "hand":
            return Thing("doctor", "the")
        form = self.random.choices(("name", "family", "role"), (50, 20, 30))[0]
        if form == "name":
            return Thing(self.name())
        if form == "family":
            return Thing(self.random.choice(FAMILY), "my")
        return Thing(self.random.choice(ROLES), "the")

    def place(self, noun: str) -> Thing:
        if noun in CITIES:
            return Thing(noun)
        determiner = self.random.choices(("the", "this", "name"), (70, 15, 15))[0]
        if determiner == "name" and noun not in PLACES_OF_PEOPLE:
            determiner = "the"
        owner = self.name() if determiner == "name" else None
        return self.described(Thing(noun, determiner, owner=owner), 0.18)

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
