"""Random meanings whose parts are visible in all six languages, or have a fixed default.

Czech and Finnish have no articles, so definiteness follows from the role: subjects and places are
definite, new objects are not, and a few verbs always have a definite object (to open *the* door).
Tense, number and owner are visible in every language. Where a form hides the tense (`I read`,
`hän ui`), a word for the time shows it.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from random import Random

from polyglot.phrasebook.cast import Cast
from polyglot.phrasebook.events import EVENTS, Event
from polyglot.phrasebook.meaning import SPEAKER, Clause, Meaning, Thing
from polyglot.phrasebook.people import ROLES
from polyglot.phrasebook.world import (
    MASSES,
    PREDICATED,
    PROFESSIONS,
    ROOMS,
    SHELVES,
    SMALL_THINGS,
    STATES,
    UNCOUNTED,
)

PAST_TIMES = ("yesterday", "yesterday", "week.last", "year.last", "year")
FREE_TIMES = (
    "today",
    "morning",
    "night",
    "monday",
    "friday",
    "sunday",
    "spring.season",
    "summer",
    "winter",
    "clock",
)
YEARS = tuple(range(1990, 2024, 3))
HOURS = tuple(range(5, 13))
UNCOUNTING = (
    "read",
    "carry",
    "drink",
    "look_for",
    "water",
    "wait_for",
)  # their Finnish object would put the numeral into the partitive
THINKING = ("know.fact", "say", "think")
POSSESSING = ("have", "have.part")  # in Finnish the owner is no subject
FOUND_OBJECTS = (
    "buy",
    "sell",
    "find",
    "lose",
    "repair",
    "carry",
    "read",
    "eat",
    "drink",
    "learn",
    "forget",
    "write",
)  # what did …?
FOUND_PLACES = (
    "work",
    "live",
    "sleep",
    "sit",
    "buy",
    "find",
    "lose",
    "read",
    "sing",
)  # where does …?
FOUND_TIMES = (
    "buy",
    "sell",
    "find",
    "arrive",
    "return",
    "visit",
    "repair",
    "go",
    "give",
    "send",
    "save.person",
    "eat",
    "open",
)
BOUGHT = ("buy", "sell", "find", "lose", "see", "read", "carry", "repair")  # the book that Anna …
DOING = (
    "work",
    "live",
    "sit",
    "play.instrument",
    "play.game",
    "swim",
    "repair",
    "sell",
)  # the woman who …
REASONS = (
    "buy",
    "sell",
    "read",
    "write",
    "eat",
    "drink",
    "find",
    "lose",
    "play.instrument",
    "play.game",
    "watch",
    "spend.money",
)
REASONS += (
    "spend.time",
    "give",
    "send",
    "look_for",
    "wait_for",
    "forget",
    "miss",
    "sleep",
    "work",
    "sing",
    "return",
    "arrive",
    "repair",
    "learn",
)
WISHES = (
    "buy",
    "read",
    "write",
    "eat",
    "drink",
    "play.instrument",
    "play.game",
    "watch",
    "give",
    "send",
    "sleep",
    "work",
    "sing",
    "visit",
    "learn",
)
PASSING = (
    *STATES,
    "cold",
    "warm",
    "open",
    "closed",
)  # what a thing is today, but was not yesterday
LASTING = ("live", "know.person", "love", "have", "spend.time")  # no matter of a day


def hides_tense(clause: Clause) -> bool:
    """True if present and past look alike in English (I read) or Finnish (etsin, opin, hän ui)."""
    if clause.modal is not None or clause.negated:
        return False
    subject = clause.subject
    speaker = subject is not None and subject.noun == SPEAKER
    plural = subject is not None and subject.plural
    if clause.verb in ("read", "hit"):
        return speaker or plural
    return clause.verb == "swim" or speaker and clause.verb in ("look_for", "learn")


@functools.cache
def candidates(verbs: tuple[str, ...] | None, human: bool) -> tuple[list[Event], list[float]]:
    """(events, their weights)"""
    events = [
        event
        for event in EVENTS
        if (verbs is None or event.verb in verbs) and (not human or "human" in event.subjects)
    ]
    return events, [event.weight for event in events]


class Imagination:
    """A stream of meanings out of one random generator."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.cast = Cast(random)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def meaning(self) -> Meaning:
        """Meaning of one sentence with one or two clauses."""
        self.cast.used_names.clear()
        kinds = (self.statement, self.state, self.question, self.pair, self.reason)
        thought = self.random.choices(kinds, (50, 18, 13, 7, 12))[0]()
        return thought if isinstance(thought, Meaning) else Meaning(thought)

    def pick(self, verbs: tuple[str, ...] | None = None, *, human: bool = False) -> Event:
        """Random event by weight; `verbs` and `human` restrict the choice."""
        return self.random.choices(*candidates(verbs, human))[0]

    # Whole sentences ---------------------------------------------------------------------

    def statement(self) -> Clause:
        """Clause with an action; times, negation, modals and relative clauses are possible."""
        if self.chance(0.11):
            return self.thought()
        if self.chance(0.06):
            return self.with_object_relative()
        if self.chance(0.06):
            return self.with_subject_relative()
        event = self.pick()
        return self.timed(self.core(event), event)

    def thought(self) -> Clause:
        """Clause such as `she knows that …`, `she says that …` or `she knows where …`."""
        verb = self.random.choice(THINKING)
        subject = self.cast.human()
        if verb == "know.fact" and self.chance(0.5):
            place = self.pick(FOUND_PLACES[:4], human=True)
            inner = replace(
                self.core(place, self.third_person()),
                circumstances=(),
                gap="location",
                negated=False,
                modal=None,
            )
            return Clause(
                verb, subject, complement=visible(inner), link="where", negated=self.chance(0.4)
            )
        same = self.cast.coreferent(subject) if self.chance(0.35) else None
        inner = (
            self.mood(same)
            if self.chance(0.2)
            else visible(self.core(self.pick(human=same is not None), same))
        )
        return Clause(verb, subject, complement=inner, link="that")

    def question(self) -> Clause:
        """Question: polar, or with `who`, `what`, `where` or `when`."""
        kind = self.random.choice(("polar", "polar", "subject", "object", "location", "time"))
        if kind == "subject":
            event = self.pick(human=True)
            while event.verb in POSSESSING:
                event = self.pick(human=True)
            clause = self.core(event, Thing("man", "the"))
            if clause.object is not None and clause.object.determiner == "own":
                return self.question()
            return visible(
                replace(clause, subject=None, gap="subject", question=True, negated=False)
            )
        wanted = {
            "polar": None,
            "object": FOUND_OBJECTS,
            "location": FOUND_PLACES,
            "time": FOUND_TIMES,
        }[kind]
        event = self.pick(wanted, human=True)
        clause = replace(self.core(event, self.third_person()), question=True, negated=False)
        if kind == "polar":
            return replace(self.timed(clause, event), fronted=False)
        if kind == "object":
            if any(role in ("recipient", "instrument") for role, _ in clause.circumstances):
                clause = replace(clause, circumstances=())
            clause = replace(clause, object=None)
        if kind == "location":
            clause = replace(clause, circumstances=())
        if clause.object is not None and clause.object.determiner == "many":
            clause = replace(clause, object=replace(clause.object, many=False, determiner="this"))
        return (
            visible(replace(clause, gap=kind))
            if kind != "time" or not hides_tense(clause)
            else self.question()
        )

    def pair(self) -> Meaning:
        """Two coordinated clauses (`and`, `but`)."""
        first = visible(self.core(self.pick(human=True), Thing(self.cast.name())))
        link = self.random.choice(("and", "but"))
        same = self.cast.coreferent(first.subject) if link == "but" and self.chance(0.5) else None
        event = self.pick(human=True)
        second = visible(self.core(event, same or Thing(self.cast.name())))
        if link == "but" and second.object is not None and second.object.count is None:
            second = visible(replace(second, negated=not first.negated))
        return Meaning(first, link, second)

    def reason(self) -> Meaning:
        """Clause with a reason (`because`) or a time clause (`when`)."""
        link = self.random.choice(("because", "because", "when"))
        feeling = self.mood(None)
        if feeling.quality == "sick" and self.chance(0.7):
            feeling = replace(feeling, quality=self.random.choice(("tired", "happy")))
        same = self.cast.coreferent(feeling.subject)
        subject = same if same is not None and self.chance(0.7) else self.person()
        event = self.core(self.pick(REASONS, human=True), subject)
        if link == "when":
            return Meaning(
                feeling, link, visible(replace(event, past=feeling.past, modal=None, negated=False))
            )
        feeling = replace(feeling, negated=False)
        if same is None or self.chance(0.5):
            if feeling.past:
                event = replace(
                    event, past=True, modal=None if event.modal == "can" else event.modal
                )
            return Meaning(feeling, link, visible(event))
        doing = self.core(
            self.pick(REASONS, human=True), feeling.subject
        )  # Anna sleeps because she is tired
        if self.chance(0.5):
            return Meaning(visible(doing), link, replace(feeling, subject=same))
        wish = self.core(self.pick(WISHES, human=True), same)
        return Meaning(
            visible(replace(doing, modal=None, negated=False)),
            link,
            replace(wish, modal="want", past=doing.past, negated=False),
        )

    # Clauses -----------------------------------------------------------------------------

    def person(self) -> Thing:
        return Thing(SPEAKER) if self.chance(0.2) else Thing(self.cast.name())

    def third_person(self) -> Thing:
        subject = self.cast.human()
        return Thing(self.cast.name()) if subject.noun == SPEAKER else subject

    def core(self, event: Event, subject: Thing | None = None) -> Clause:
        """Clause of an event with subject, object, circumstances and tense, without a time."""
        subject = subject or self.cast.subject(self.random.choice(event.subjects))
        modal = (
            self.random.choice(("want", "can"))
            if event.modal and self.wants(subject) and self.chance(0.16)
            else None
        )
        past = modal != "can" and self.random.choice(event.tenses)  # Finnish `voi` hides the tense
        thing = (
            self.cast.object(event, subject, counted=event.verb not in UNCOUNTING)
            if event.objects
            else None
        )
        counted = subject.count is not None or thing is not None and thing.count is not None
        negated = not counted and self.chance(0.13)
        return Clause(
            event.verb,
            subject,
            thing,
            self.cast.circumstances(event, subject),
            past=past,
            modal=modal,
            negated=negated,
        )

    def wants(self, subject: Thing) -> bool:
        """False for trains, buses and words, which take no modal verb."""
        return subject.noun not in ("train", "bus", "word") and subject.count is None

    def timed(self, clause: Clause, event: Event) -> Clause:
        """Add a time or a frequency that fits the tense, with some probability."""
        time = None
        frequency = None
        nightly = (
            clause.subject is not None and clause.subject.noun == "bat.animal" and self.chance(0.5)
        )
        if nightly:
            time = "night"
        elif clause.verb in LASTING:
            if self.chance(0.35):
                time = (
                    self.random.choice(("year.last", "year"))
                    if clause.past
                    else "now"
                    if clause.verb == "live"
                    else None
                )
        elif clause.past:
            if self.chance(0.6):
                time = self.random.choice(PAST_TIMES if self.chance(0.55) else FREE_TIMES)
        elif not event.habitual:
            time = "today" if self.chance(0.2) else None
        elif clause.modal is None and not clause.negated and self.chance(0.25):
            frequency = self.random.choice(("often", "always", "sometimes"))
        elif self.chance(0.5):
            time = (
                "day.every"
                if self.chance(0.25) and not clause.negated
                else self.random.choice(FREE_TIMES)
            )
        if time in ("year", "clock"):
            time = f"{time}:{self.random.choice(YEARS if time == 'year' else HOURS)}"
        clause = visible(replace(clause, time=time, frequency=frequency))
        return replace(clause, fronted=clause.time is not None and self.chance(0.35))

    def with_object_relative(self) -> Clause:
        """Anna reads the book that David bought."""
        event = self.pick(
            ("buy", "sell", "read", "find", "see", "carry", "repair", "look_for", "forget"),
            human=True,
        )
        clause = self.core(event, self.cast.human())
        noun = clause.object.noun
        choices = [
            other
            for other in EVENTS
            if other.verb in BOUGHT and other.verb != event.verb and noun in other.objects
        ]
        if not choices or noun in MASSES or noun in ROLES:
            return self.timed(clause, event)
        inner = self.core(self.random.choice(choices), Thing(self.cast.name()))
        relative = replace(
            inner, object=None, circumstances=(), gap="object", negated=False, modal=None, past=True
        )
        clause = replace(clause, object=Thing(noun, "the", relative=relative), circumstances=())
        return (
            replace(clause, past=False) if hides_tense(clause) else clause
        )  # a `yesterday` would seem to belong to the relative clause

    def with_subject_relative(self) -> Clause:
        """The woman who works in the bank has a dog."""
        subject = Thing(self.random.choice(ROLES), "the")
        event = self.pick(DOING, human=True)
        inner = replace(
            self.core(event, subject), subject=None, gap="subject", negated=False, modal=None
        )
        if inner.object is None:  # the verb alone does not identify the person; add the place
            inner = replace(
                inner,
                circumstances=(("location", self.cast.place(self.random.choice(event.locations))),),
            )
        if hides_tense(inner):
            inner = replace(inner, past=False)
        return visible(self.core(self.pick(human=True), replace(subject, relative=inner)))

    # States ------------------------------------------------------------------------------

    def state(self) -> Clause:
        """Clause with a quality, mood, profession, place or existence."""
        kind = self.random.choices(
            (self.quality, self.mood, self.profession, self.place, self.existence),
            (45, 15, 9, 15, 20),
        )[0]
        clause = kind(None) if kind == self.mood else kind()
        passing = clause.profession is None and clause.quality in (None, *PASSING)
        if passing and self.chance(0.4):
            times = ("yesterday", "week.last") if clause.past else ("today", "now")
            fronted = clause.verb == "be" and self.chance(0.35)
            return replace(clause, time=self.random.choice(times), fronted=fronted)
        return clause

    def past(self) -> bool:
        return self.chance(0.4)

    def negated(self) -> bool:
        return self.chance(0.14)

    def quality(self) -> Clause:
        """The coffee is cold."""
        quality = self.random.choice(
            ("open", "closed", "light.colour") if self.chance(0.15) else tuple(PREDICATED)
        )
        noun = self.random.choice(PREDICATED[quality])
        determiner = self.random.choice(("the", "the", "this"))
        return Clause(
            "be", Thing(noun, determiner), quality=quality, past=self.past(), negated=self.negated()
        )

    def mood(self, subject: Thing | None) -> Clause:
        """Anna is tired."""
        subject = subject or (
            self.person() if self.chance(0.7) else Thing(self.cast.name(), partner=self.cast.name())
        )
        return Clause(
            "be",
            subject,
            quality=self.random.choice(STATES),
            past=self.past(),
            negated=self.negated(),
        )

    def profession(self) -> Clause:
        """Anna is a teacher."""
        return Clause(
            "be",
            Thing(self.cast.name()),
            profession=self.random.choice(PROFESSIONS),
            past=self.past(),
            negated=self.negated(),
        )

    def place(self) -> Clause:
        """The key is on the table."""
        noun = self.random.choice(SMALL_THINGS)
        determiner = self.random.choice(("the", "the", "my", "name"))
        subject = self.cast.described(
            Thing(noun, determiner, owner=self.cast.name() if determiner == "name" else None), 0.2
        )
        place = self.cast.place(self.random.choice(SHELVES))
        if self.chance(0.15):
            subject = replace(subject, noun="picture", quality=None)
            place = Thing("wall", "the")
        return Clause(
            "be",
            subject,
            circumstances=(("location", place),),
            past=self.past(),
            negated=self.negated(),
        )

    def existence(self) -> Clause:
        """There is a cat in the garden."""
        if self.chance(0.55):
            subject = self.cast.animal_or_person()
            places = (*ROOMS, "forest", "station")
        else:
            countable = [noun for noun in SMALL_THINGS if noun not in UNCOUNTED]
            subject = self.cast.newcomer(countable)
            places = SHELVES
        location = self.cast.place(self.random.choice(places))
        if self.chance(0.07):
            subject = self.cast.newcomer(("picture",))
            location = self.cast.place("wall")
        return Clause("exist", subject, circumstances=(("location", location),), past=self.past())


def visible(clause: Clause) -> Clause:
    """Add `yesterday` to a past tense that a language would not show."""
    telling = clause.time is not None and clause.time.partition(":")[0] in PAST_TIMES
    if clause.past and not telling and hides_tense(clause):
        return (
            replace(clause, past=False)
            if clause.gap is not None
            else replace(clause, time="yesterday", frequency=None)
        )
    return clause
