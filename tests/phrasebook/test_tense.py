"""Clauses whose present and past look alike, and the time that then shows the past."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polyglot.phrasebook.corpus import LANGUAGES, realise
from polyglot.phrasebook.events import EVENTS
from polyglot.phrasebook.meaning import SPEAKER, Clause, Meaning, Thing
from polyglot.phrasebook.tense import hides_tense, show_past

SUBJECTS = {
    "I": Thing(SPEAKER),
    "a name": Thing("Anna"),
    "two names": Thing("Anna", partner="David"),
    "a noun": Thing("student", "the"),
    "a number": Thing("student", "count", count=2),
    "several": Thing("student", "bare", many=True),
}
VERBS = sorted({event.verb for event in EVENTS})


def has_equal_tenses(clause: Clause) -> bool:
    """True if present and past of a clause have the same text in some language."""
    present = realise(Meaning(clause))
    past = realise(Meaning(replace(clause, past=True)))
    return any(present.text(language) == past.text(language) for language in LANGUAGES)


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize("negated", [False, True], ids=["", "not"])
def test_a_tense_is_hidden_if_present_and_past_are_the_same_text(subject, negated):
    for verb in VERBS:
        clause = Clause(verb, SUBJECTS[subject], Thing("book", "the"), negated=negated)
        assert hides_tense(clause) == has_equal_tenses(clause), verb


@pytest.mark.parametrize("verb", ["read", "look_for", "swim"])
def test_a_clause_without_subject_is_that_of_one_person(verb):
    """As in `the woman who reads`."""
    assert hides_tense(Clause(verb)) == (verb == "swim")


@pytest.mark.parametrize("subject", SUBJECTS)
def test_only_a_hidden_past_gets_a_time(subject):
    for verb in VERBS:
        present = Clause(verb, SUBJECTS[subject], Thing("book", "the"), frequency="often")
        past = replace(present, past=True)
        assert show_past(present) == present, verb
        if not hides_tense(present):
            assert show_past(past) == past, verb
            continue
        assert show_past(past) == replace(past, time="yesterday", frequency=None), verb
        assert show_past(replace(past, time="monday")).time == "yesterday", verb
        assert show_past(replace(past, gap="object")) == replace(present, gap="object"), verb
        for time in ("week.last", "year:2020"):
            timed = replace(past, time=time)
            assert show_past(timed) == timed, verb
