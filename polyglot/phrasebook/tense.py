"""Tenses that a sentence must show by a word for the time."""

from __future__ import annotations

from dataclasses import replace

from polyglot.phrasebook.meaning import SPEAKER, Clause
from polyglot.phrasebook.verb_groups import PAST_TIMES


def hides_tense(clause: Clause) -> bool:
    """True if present and past look alike in English (I read) or Finnish (etsin, opin, hän ui).

    Finnish verbs after a number are singular: `kaksi poikaa etsi`, but `Anna ja David etsivät`.
    """
    if clause.modal is not None or clause.negated:
        return False
    subject = clause.subject
    is_speaker = subject is not None and subject.noun == SPEAKER
    is_plural = subject is not None and subject.plural
    if clause.verb in ("read", "hit"):
        return is_speaker or is_plural
    if clause.verb == "swim":
        return True
    if clause.verb in ("look_for", "learn"):
        is_plural_in_finnish = is_plural and subject.count is None
        return is_speaker or is_plural_in_finnish
    return False


def show_past(clause: Clause) -> Clause:
    """Add `yesterday` to a past tense that a language would not show.

    A clause with a gap has no place for a time, so it becomes present.
    """
    time_shows_past = clause.time is not None and clause.time.partition(":")[0] in PAST_TIMES
    if not clause.past or time_shows_past or not hides_tense(clause):
        return clause
    if clause.gap is not None:
        return replace(clause, past=False)
    return replace(clause, time="yesterday", frequency=None)
