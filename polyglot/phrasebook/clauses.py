"""Random clauses: actions with participants and times, and states."""

from __future__ import annotations

import functools
from dataclasses import replace
from random import Random

from polyglot.phrasebook.cast import Cast
from polyglot.phrasebook.events import EVENTS, Event
from polyglot.phrasebook.meaning import SPEAKER, Clause, Thing
from polyglot.phrasebook.tense import show_past
from polyglot.phrasebook.verb_groups import (
    ANY_TENSE_TIMES,
    FREQUENCIES,
    HOURS,
    PAST_TIMES,
    TEMPORARY_QUALITIES,
    VERBS_OF_LASTING_STATES,
    VERBS_WITHOUT_COUNTED_OBJECT,
    YEARS,
)
from polyglot.phrasebook.world import (
    PREDICATED,
    PROFESSIONS,
    ROOMS,
    SHELVES,
    SMALL_THINGS,
    STATES,
    UNCOUNTED,
)


@functools.cache
def _possible_events(
    verbs: tuple[str, ...] | None,
    has_human_subject: bool,
) -> tuple[list[Event], list[float]]:
    """Events with one of the verbs, and their weights."""
    events = []
    for event in EVENTS:
        if verbs is not None and event.verb not in verbs:
            continue
        if has_human_subject and "human" not in event.subjects:
            continue
        events.append(event)
    return events, [event.weight for event in events]


class ClauseGenerator:
    """Random clauses from one random generator.

    The order of the random draws decides which text a seed gives: do not change it.
    """

    def __init__(self, random: Random) -> None:
        self.random = random
        self.cast = Cast(random)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random.random() < probability

    def choose_event(self, verbs: tuple[str, ...] | None = None, *, human: bool = False) -> Event:
        """Random event by weight. verbs: default all. human: only events of a human subject."""
        events, weights = _possible_events(verbs, human)
        return self.random.choices(events, weights)[0]

    def person(self) -> Thing:
        """The speaker or a named person."""
        if self.chance(0.2):
            return Thing(SPEAKER)
        return Thing(self.cast.name())

    def third_person(self) -> Thing:
        """Human subject other than the speaker."""
        subject = self.cast.human()
        if subject.noun == SPEAKER:
            return Thing(self.cast.name())
        return subject

    # Actions -----------------------------------------------------------------------------

    def action(self, event: Event, subject: Thing | None = None) -> Clause:
        """Clause of an event with subject, object, circumstances and tense, without a time."""
        if subject is None:
            subject = self.cast.subject(self.random.choice(event.subjects))
        modal = None
        if event.modal and _takes_modal(subject) and self.chance(0.16):
            modal = self.random.choice(("want", "can"))
        # Finnish `voi` hides the tense.
        past = modal != "can" and self.random.choice(event.tenses)
        thing = None
        if event.objects:
            counted = event.verb not in VERBS_WITHOUT_COUNTED_OBJECT
            thing = self.cast.object(event, subject, counted=counted)
        has_count = subject.count is not None or (thing is not None and thing.count is not None)
        negated = not has_count and self.chance(0.13)
        return Clause(
            event.verb,
            subject,
            thing,
            self.cast.circumstances(event, subject),
            past=past,
            modal=modal,
            negated=negated,
        )

    def add_time(self, clause: Clause, event: Event) -> Clause:
        """Add a time or a frequency that fits the tense, with some probability."""
        time, frequency = self._time_and_frequency(clause, event)
        if time == "year":
            time = f"year:{self.random.choice(YEARS)}"
        elif time == "clock":
            time = f"clock:{self.random.choice(HOURS)}"
        clause = show_past(replace(clause, time=time, frequency=frequency))
        fronted = clause.time is not None and self.chance(0.35)
        return replace(clause, fronted=fronted)

    def _time_and_frequency(
        self,
        clause: Clause,
        event: Event,
    ) -> tuple[str | None, str | None]:
        """Time and frequency that fit a clause; at most one of them is not None."""
        is_bat = clause.subject is not None and clause.subject.noun == "bat.animal"
        if is_bat and self.chance(0.5):
            return "night", None
        if clause.verb in VERBS_OF_LASTING_STATES:
            return self._time_of_lasting_state(clause), None
        if clause.past:
            return self._time_of_past(), None
        if not event.habitual:
            return ("today" if self.chance(0.2) else None), None
        if clause.modal is None and not clause.negated and self.chance(0.25):
            return None, self.random.choice(FREQUENCIES)
        if not self.chance(0.5):
            return None, None
        if self.chance(0.25) and not clause.negated:
            return "day.every", None
        return self.random.choice(ANY_TENSE_TIMES), None

    def _time_of_lasting_state(self, clause: Clause) -> str | None:
        if not self.chance(0.35):
            return None
        if clause.past:
            return self.random.choice(("year.last", "year"))
        return "now" if clause.verb == "live" else None

    def _time_of_past(self) -> str | None:
        if not self.chance(0.6):
            return None
        if self.chance(0.55):
            return self.random.choice(PAST_TIMES)
        return self.random.choice(ANY_TENSE_TIMES)

    # States ------------------------------------------------------------------------------

    def state(self) -> Clause:
        """Clause with a quality, mood, profession, place or existence."""
        kinds = (self.quality, self.mood, self.profession, self.place, self.existence)
        make_clause = self.random.choices(kinds, (45, 15, 9, 15, 20))[0]
        clause = make_clause()
        is_temporary = clause.quality is None or clause.quality in TEMPORARY_QUALITIES
        takes_time = clause.profession is None and is_temporary
        if not takes_time or not self.chance(0.4):
            return clause
        times = ("yesterday", "week.last") if clause.past else ("today", "now")
        fronted = clause.verb == "be" and self.chance(0.35)
        return replace(clause, time=self.random.choice(times), fronted=fronted)

    def _is_past(self) -> bool:
        return self.chance(0.4)

    def _is_negated(self) -> bool:
        return self.chance(0.14)

    def quality(self) -> Clause:
        """Clause such as `the coffee is cold`."""
        qualities = tuple(PREDICATED)
        if self.chance(0.15):
            qualities = ("open", "closed", "light.colour")
        quality = self.random.choice(qualities)
        noun = self.random.choice(PREDICATED[quality])
        determiner = self.random.choice(("the", "the", "this"))
        return Clause(
            "be",
            Thing(noun, determiner),
            quality=quality,
            past=self._is_past(),
            negated=self._is_negated(),
        )

    def mood(self, subject: Thing | None = None) -> Clause:
        """Clause such as `Anna is tired`. Without a subject, one or two persons are chosen."""
        if subject is None:
            if self.chance(0.7):
                subject = self.person()
            else:
                subject = Thing(self.cast.name(), partner=self.cast.name())
        return Clause(
            "be",
            subject,
            quality=self.random.choice(STATES),
            past=self._is_past(),
            negated=self._is_negated(),
        )

    def profession(self) -> Clause:
        """Clause such as `Anna is a teacher`."""
        return Clause(
            "be",
            Thing(self.cast.name()),
            profession=self.random.choice(PROFESSIONS),
            past=self._is_past(),
            negated=self._is_negated(),
        )

    def place(self) -> Clause:
        """Clause such as `the key is on the table`."""
        noun = self.random.choice(SMALL_THINGS)
        determiner = self.random.choice(("the", "the", "my", "name"))
        owner = self.cast.name() if determiner == "name" else None
        subject = self.cast.described(Thing(noun, determiner, owner=owner), 0.2)
        place = self.cast.place(self.random.choice(SHELVES))
        if self.chance(0.15):
            subject = replace(subject, noun="picture", quality=None)
            place = Thing("wall", "the")
        return Clause(
            "be",
            subject,
            circumstances=(("location", place),),
            past=self._is_past(),
            negated=self._is_negated(),
        )

    def existence(self) -> Clause:
        """Clause such as `there is a cat in the garden`."""
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
        circumstances = (("location", location),)
        return Clause("exist", subject, circumstances=circumstances, past=self._is_past())


def _takes_modal(subject: Thing) -> bool:
    """False for trains, buses, words and counted subjects, which take no modal verb."""
    return subject.noun not in ("train", "bus", "word") and subject.count is None
