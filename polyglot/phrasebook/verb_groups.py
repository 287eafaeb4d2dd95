"""Groups of verbs and times from which random sentences choose."""

from __future__ import annotations

from polyglot.phrasebook.world import STATES

PAST_TIMES = ("yesterday", "yesterday", "week.last", "year.last", "year")
"""Times that show a past tense."""
ANY_TENSE_TIMES = (
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
FREQUENCIES = ("often", "always", "sometimes")

VERBS_WITHOUT_COUNTED_OBJECT = (
    "read",
    "carry",
    "drink",
    "look_for",
    "water",
    "wait_for",
)
"""Verbs whose Finnish object would put the numeral into the partitive."""

VERBS_OF_THINKING = ("know.fact", "say", "think")
VERBS_OF_POSSESSION = ("have", "have.part")
"""In Finnish, the owner is not the subject of these verbs."""
VERBS_OF_LASTING_STATES = ("live", "know.person", "love", "have", "spend.time")
"""A time such as `today` does not fit these verbs."""

VERBS_FOR_WHAT = (
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
)
"""Verbs of questions such as `what did Anna buy?`."""
VERBS_FOR_WHERE = (
    "work",
    "live",
    "sleep",
    "sit",
    "buy",
    "find",
    "lose",
    "read",
    "sing",
)
"""Verbs of questions such as `where does Anna work?`."""
VERBS_FOR_WHERE_IN_A_CLAUSE = VERBS_FOR_WHERE[:4]
"""Verbs of clauses such as `she knows where Anna works`."""
VERBS_FOR_WHEN = (
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
"""Verbs of questions such as `when did Anna arrive?`."""

VERBS_BEFORE_RELATIVE_CLAUSE = (
    "buy",
    "sell",
    "read",
    "find",
    "see",
    "carry",
    "repair",
    "look_for",
    "forget",
)
"""First verb of sentences such as `Anna reads the book that David bought`."""
VERBS_OF_OBJECT_RELATIVE = ("buy", "sell", "find", "lose", "see", "read", "carry", "repair")
"""Second verb of sentences such as `Anna reads the book that David bought`."""
VERBS_OF_SUBJECT_RELATIVE = (
    "work",
    "live",
    "sit",
    "play.instrument",
    "play.game",
    "swim",
    "repair",
    "sell",
)
"""First verb of sentences such as `the woman who works in the bank has a dog`."""

VERBS_WITH_REASON = (
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
"""Verbs that go with a mood: `Anna sleeps because she is tired`."""
VERBS_OF_WISHES = (
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
"""Verbs of reasons such as `because he wants to read`."""

TEMPORARY_QUALITIES = (*STATES, "cold", "warm", "open", "closed")
"""Qualities that a thing may have today and did not have yesterday."""
