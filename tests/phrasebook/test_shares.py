"""Shares of the random choices: every alternative occurs, and about as often as it should."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from random import Random

import pytest

from polyglot.phrasebook.cast import Cast
from polyglot.phrasebook.clauses import ClauseGenerator
from polyglot.phrasebook.events import EVENTS
from polyglot.phrasebook.generation import MeaningGenerator
from polyglot.phrasebook.meaning import SPEAKER, Clause, Thing
from polyglot.phrasebook.verb_groups import ANY_TENSE_TIMES, PAST_TIMES

DRAWS = 2000
TOLERANCE = 0.04  # four standard deviations of a share of 2000 draws, or more


def draw(make):
    """Results of many calls with one generator; each is a sentence of its own."""
    generator = MeaningGenerator(Random(3))
    results = []
    for _ in range(DRAWS):
        generator.cast.used_names.clear()
        results.append(make(generator))
    return results


def has_circumstance(clause, role, noun):
    return any(name == role and thing.noun == noun for name, thing in clause.circumstances)


def timed(make):
    """Function that draws the time of a clause. make: clause -> changed clause."""
    event = next(event for event in EVENTS if event.verb == "read" and event.habitual)
    clause = make(Clause("read", Thing("Anna")))
    return lambda generator: generator.add_time(clause, event)


SHARES = {
    "the speaker among persons": (
        lambda generator: generator.person(),
        lambda thing: thing.noun == SPEAKER,
        0.2,
    ),
    "the speaker among humans": (
        lambda generator: generator.cast.subject("human"),
        lambda thing: thing.noun == SPEAKER,
        0.13,
    ),
    "my among family members": (
        lambda generator: generator.cast.family_member(),
        lambda thing: thing.determiner == "my",
        0.6,
    ),
    "two names among groups": (
        lambda generator: generator.cast.subject("group"),
        lambda thing: thing.partner is not None,
        0.6,
    ),
    "a number of bats": (
        lambda generator: generator.cast.subject("bats"),
        lambda thing: thing.count is not None,
        0.25,
    ),
    "her own dog": (
        lambda generator: generator.cast.owned("dog", Thing("Anna")),
        lambda thing: thing.determiner == "own",
        0.75,
    ),
    "own where it would hide the gender": (
        lambda generator: generator.cast.owned("dog", Thing("girl", "the")),
        lambda thing: thing.determiner == "own",
        0.0,
    ),
    "a cat": (
        lambda generator: generator.cast.newcomer(("cat",)),
        lambda thing: thing.determiner == "a",
        0.6,
    ),
    "many cats": (
        lambda generator: generator.cast.newcomer(("cat",)),
        lambda thing: thing.many,
        0.15,
    ),
    "two persons in a mood": (
        lambda generator: generator.mood(),
        lambda clause: clause.subject.partner is not None,
        0.3,
    ),
    "a picture on the wall": (
        lambda generator: generator.place(),
        lambda clause: has_circumstance(clause, "location", "wall"),
        0.15,
    ),
    "there is a picture on the wall": (
        lambda generator: generator.existence(),
        lambda clause: has_circumstance(clause, "location", "wall"),
        0.07,
    ),
    "professions among states": (
        lambda generator: generator.state(),
        lambda clause: clause.profession is not None,
        9 / 104,
    ),
    "existence among states": (
        lambda generator: generator.state(),
        lambda clause: clause.verb == "exist",
        20 / 104,
    ),
    "a time of the past": (
        timed(lambda clause: replace(clause, past=True)),
        lambda clause: clause.time is not None,
        0.6,
    ),
    "a past time, such as yesterday": (
        timed(lambda clause: replace(clause, past=True)),
        lambda clause: (clause.time or "").split(":")[0] in PAST_TIMES,
        0.6 * 0.55,
    ),
    "often or never": (
        timed(lambda clause: clause),
        lambda clause: clause.frequency is not None,
        0.25,
    ),
    "often or never with a negation": (
        timed(lambda clause: replace(clause, negated=True)),
        lambda clause: clause.frequency is not None,
        0.0,
    ),
    "every day": (
        timed(lambda clause: clause),
        lambda clause: clause.time == "day.every",
        0.75 * 0.5 * 0.25,
    ),
    "a time of any tense": (
        timed(lambda clause: clause),
        lambda clause: (clause.time or "").split(":")[0] in ANY_TENSE_TIMES,
        0.75 * 0.5 * 0.75,
    ),
    "a time at the beginning": (
        timed(lambda clause: clause),
        lambda clause: clause.fronted,
        0.75 * 0.5 * 0.35,
    ),
    "bats at night": (
        lambda generator: generator.add_time(Clause("fly", Thing("bat.animal", "the")), EVENTS[0]),
        lambda clause: clause.time == "night",
        0.5,
    ),
    "sentences of two clauses": (
        lambda generator: generator.meaning(),
        lambda meaning: meaning.second is not None,
        0.19,
    ),
    "questions": (
        lambda generator: generator.meaning(),
        lambda meaning: meaning.first.question,
        0.13,
    ),
    "thoughts among statements": (
        lambda generator: generator.statement(),
        lambda clause: clause.complement is not None,
        0.11,
    ),
}


@pytest.mark.parametrize("name", SHARES)
def test_share(name):
    make, condition, expected = SHARES[name]
    share = sum(map(bool, map(condition, draw(make)))) / DRAWS
    assert abs(share - expected) < min(TOLERANCE, expected / 2 + 1e-9)


def test_every_random_decision_goes_both_ways(monkeypatch):
    """A decision that always has one outcome would make a kind of sentence impossible."""
    outcomes = defaultdict(set)

    def chance(self, probability):
        assert 0 < probability < 1
        outcome = self.random.random() < probability
        outcomes[probability].add(outcome)
        return outcome

    monkeypatch.setattr(ClauseGenerator, "chance", chance)
    monkeypatch.setattr(Cast, "chance", chance)
    draw(lambda generator: generator.meaning())
    assert len(outcomes) > 15
    assert {value for value, results in outcomes.items() if len(results) < 2} == set()
