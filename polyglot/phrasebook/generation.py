"""Random meanings whose parts are visible in all six languages, or have a fixed default.

Czech and Finnish have no articles, so definiteness follows from the role: subjects and places are
definite, new objects are not, and a few verbs always have a definite object (to open *the* door).
Tense, number and owner are visible in every language. Where a form hides the tense (`I read`,
`hän ui`), a word for the time shows it.
"""

from __future__ import annotations

from dataclasses import replace

from polyglot.phrasebook.clauses import ClauseGenerator
from polyglot.phrasebook.events import EVENTS, Event
from polyglot.phrasebook.meaning import Clause, Meaning, Thing
from polyglot.phrasebook.people import ROLES
from polyglot.phrasebook.tense import hides_tense, show_past
from polyglot.phrasebook.verb_groups import (
    VERBS_BEFORE_RELATIVE_CLAUSE,
    VERBS_FOR_WHAT,
    VERBS_FOR_WHEN,
    VERBS_FOR_WHERE,
    VERBS_FOR_WHERE_IN_A_CLAUSE,
    VERBS_OF_OBJECT_RELATIVE,
    VERBS_OF_POSSESSION,
    VERBS_OF_SUBJECT_RELATIVE,
    VERBS_OF_THINKING,
    VERBS_OF_WISHES,
    VERBS_WITH_REASON,
)
from polyglot.phrasebook.world import MASSES


class MeaningGenerator(ClauseGenerator):
    """Random meanings of whole sentences from one random generator."""

    def meaning(self) -> Meaning:
        """Meaning of one sentence with one or two clauses."""
        self.cast.used_names.clear()
        kinds = (self.statement, self.state, self.question, self.pair, self.reason)
        make_sentence = self.random.choices(kinds, (50, 18, 13, 7, 12))[0]
        sentence = make_sentence()
        if isinstance(sentence, Clause):
            return Meaning(sentence)
        return sentence

    def statement(self) -> Clause:
        """Clause with an action; times, negation, modals and relative clauses are possible."""
        if self.chance(0.11):
            return self.thought()
        if self.chance(0.06):
            return self.with_object_relative()
        if self.chance(0.06):
            return self.with_subject_relative()
        event = self.choose_event()
        return self.add_time(self.action(event), event)

    # Clauses inside a clause -------------------------------------------------------------

    def thought(self) -> Clause:
        """Clause such as `she knows that …`, `she says that …` or `she knows where …`."""
        verb = self.random.choice(VERBS_OF_THINKING)
        subject = self.cast.human()
        if verb == "know.fact" and self.chance(0.5):
            return self._known_place(subject)
        inner_subject = None
        if self.chance(0.35):
            inner_subject = self.cast.coreferent(subject)
        if self.chance(0.2):
            inner = self.mood(inner_subject)
        else:
            event = self.choose_event(human=inner_subject is not None)
            inner = show_past(self.action(event, inner_subject))
        return Clause(verb, subject, complement=inner, link="that")

    def _known_place(self, subject: Thing) -> Clause:
        """Clause such as `she knows where Anna works`."""
        event = self.choose_event(VERBS_FOR_WHERE_IN_A_CLAUSE, human=True)
        inner = replace(
            self.action(event, self.third_person()),
            circumstances=(),
            gap="location",
            negated=False,
            modal=None,
        )
        return Clause(
            "know.fact",
            subject,
            complement=show_past(inner),
            link="where",
            negated=self.chance(0.4),
        )

    def with_object_relative(self) -> Clause:
        """Clause such as `Anna reads the book that David bought`."""
        event = self.choose_event(VERBS_BEFORE_RELATIVE_CLAUSE, human=True)
        clause = self.action(event, self.cast.human())
        noun = clause.object.noun
        relative_events = _events_of_relative_clause(event, noun)
        if not relative_events or noun in MASSES or noun in ROLES:
            return self.add_time(clause, event)
        inner = self.action(self.random.choice(relative_events), Thing(self.cast.name()))
        relative = replace(
            inner,
            object=None,
            circumstances=(),
            gap="object",
            negated=False,
            modal=None,
            past=True,
        )
        clause = replace(clause, object=Thing(noun, "the", relative=relative), circumstances=())
        if hides_tense(clause):
            # A `yesterday` would seem to belong to the relative clause.
            return replace(clause, past=False)
        return clause

    def with_subject_relative(self) -> Clause:
        """Clause such as `the woman who works in the bank has a dog`."""
        subject = Thing(self.random.choice(ROLES), "the")
        event = self.choose_event(VERBS_OF_SUBJECT_RELATIVE, human=True)
        inner = replace(
            self.action(event, subject),
            subject=None,
            gap="subject",
            negated=False,
            modal=None,
        )
        if inner.object is None:
            # The verb alone does not identify the person; the place does.
            place = self.cast.place(self.random.choice(event.locations))
            inner = replace(inner, circumstances=(("location", place),))
        if hides_tense(inner):
            inner = replace(inner, past=False)
        main_event = self.choose_event(human=True)
        return show_past(self.action(main_event, replace(subject, relative=inner)))

    # Questions ---------------------------------------------------------------------------

    def question(self) -> Clause:
        """Question: polar, or with `who`, `what`, `where` or `when`."""
        kinds = ("polar", "polar", "subject", "object", "location", "time")
        kind = self.random.choice(kinds)
        if kind == "subject":
            return self._question_for_subject()
        if kind == "polar":
            return self._polar_question()
        if kind == "object":
            clause = self._question_clause(VERBS_FOR_WHAT)
            roles = [role for role, _ in clause.circumstances]
            if "recipient" in roles or "instrument" in roles:
                clause = replace(clause, circumstances=())
            clause = replace(clause, object=None)
        elif kind == "location":
            clause = self._question_clause(VERBS_FOR_WHERE)
            clause = replace(clause, circumstances=())
        else:
            clause = self._question_clause(VERBS_FOR_WHEN)
        if clause.object is not None and clause.object.determiner == "many":
            clause = replace(clause, object=replace(clause.object, many=False, determiner="this"))
        if kind == "time" and hides_tense(clause):
            return self.question()
        return show_past(replace(clause, gap=kind))

    def _question_for_subject(self) -> Clause:
        """Question for the subject, such as `who bought the car?`."""
        event = self.choose_event(human=True)
        while event.verb in VERBS_OF_POSSESSION:
            event = self.choose_event(human=True)
        clause = self.action(event, Thing("man", "the"))
        if clause.object is not None and clause.object.determiner == "own":
            return self.question()
        clause = replace(clause, subject=None, gap="subject", question=True, negated=False)
        return show_past(clause)

    def _polar_question(self) -> Clause:
        """Polar question, such as `did Anna buy a car?`."""
        event = self.choose_event(human=True)
        clause = self.action(event, self.third_person())
        clause = replace(clause, question=True, negated=False)
        return replace(self.add_time(clause, event), fronted=False)

    def _question_clause(self, verbs: tuple[str, ...]) -> Clause:
        event = self.choose_event(verbs, human=True)
        clause = self.action(event, self.third_person())
        return replace(clause, question=True, negated=False)

    # Two clauses -------------------------------------------------------------------------

    def pair(self) -> Meaning:
        """Two coordinated clauses (`and`, `but`)."""
        first_event = self.choose_event(human=True)
        first = show_past(self.action(first_event, Thing(self.cast.name())))
        link = self.random.choice(("and", "but"))
        subject = None
        if link == "but" and self.chance(0.5):
            subject = self.cast.coreferent(first.subject)
        event = self.choose_event(human=True)
        if subject is None:
            subject = Thing(self.cast.name())
        second = show_past(self.action(event, subject))
        if link == "but" and second.object is not None and second.object.count is None:
            second = show_past(replace(second, negated=not first.negated))
        return Meaning(first, link, second)

    def reason(self) -> Meaning:
        """Clause with a reason (`because`) or a time clause (`when`)."""
        link = self.random.choice(("because", "because", "when"))
        mood = self.mood()
        if mood.quality == "sick" and self.chance(0.7):
            mood = replace(mood, quality=self.random.choice(("tired", "happy")))
        same_person = self.cast.coreferent(mood.subject)
        if same_person is not None and self.chance(0.7):
            subject = same_person
        else:
            subject = self.person()
        action = self.action(self.choose_event(VERBS_WITH_REASON, human=True), subject)
        if link == "when":
            action = replace(action, past=mood.past, modal=None, negated=False)
            return Meaning(mood, link, show_past(action))
        mood = replace(mood, negated=False)
        if same_person is None or self.chance(0.5):
            return _mood_because_of_action(mood, action)
        return self._action_because_of_mood(mood, same_person)

    def _action_because_of_mood(self, mood: Clause, same_person: Thing) -> Meaning:
        """Meaning such as `Anna sleeps because she is tired`, or `because she wants to work`."""
        event = self.choose_event(VERBS_WITH_REASON, human=True)
        action = self.action(event, mood.subject)
        if self.chance(0.5):
            return Meaning(show_past(action), "because", replace(mood, subject=same_person))
        wish = self.action(self.choose_event(VERBS_OF_WISHES, human=True), same_person)
        wish = replace(wish, modal="want", past=action.past, negated=False)
        return Meaning(show_past(replace(action, modal=None, negated=False)), "because", wish)


def _events_of_relative_clause(main_event: Event, noun: str) -> list[Event]:
    """Events of another verb that can have the noun as object."""
    events = []
    for event in EVENTS:
        is_other_verb = event.verb != main_event.verb and event.verb in VERBS_OF_OBJECT_RELATIVE
        if is_other_verb and noun in event.objects:
            events.append(event)
    return events


def _mood_because_of_action(mood: Clause, action: Clause) -> Meaning:
    """Meaning such as `Anna is happy because she bought a car`."""
    if mood.past:
        modal = None if action.modal == "can" else action.modal
        action = replace(action, past=True, modal=modal)
    return Meaning(mood, "because", show_past(action))
