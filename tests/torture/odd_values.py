"""Strategies of Hypothesis for odd values and damaged bytes, and the call that gets them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

HUGE = [2**31, 2**63, 2**64, 10**19, 10**30, 10**400, -(10**400), 1e19, 1e300, 1e-300]
ODD_NUMBERS = [0, -1, 0.5, float("nan"), float("inf"), -float("inf"), 5e-324, *HUGE]
ODD_TEXTS = [
    "",
    " ",
    "*",
    "~",
    "no",
    "-",
    "--",
    "a" * 300,
    "ä" * 5000,
    "a/" * 500,
    "\x1b[31mred",
    "\0",
    "\u202eabc",
    "[bold]:x:[/bold]",
    "%s {0} {language} {language",
    "nowhere/file",
    "../..",
    "0x" + "f" * 600,
    "9" * 5000,
    "1e" + "9" * 30,
    "{" * 2000,
    "[" * 2000,
    "!!python/object/apply:os.system [ls]",
    "&a [*a, *a]",
    "de-en",
    "de-*",
    "*-*",
    "en_Latn-de",
]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from(ODD_NUMBERS),
    st.sampled_from(ODD_TEXTS),
    st.text(max_size=30),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.text(max_size=8), st.integers()), inner, max_size=4),
    ),
    max_leaves=8,
)


@dataclass(frozen=True)
class Case:
    """One call of the program: its arguments, its files and its standard input."""

    arguments: Sequence[str]
    files: dict[str, bytes] = field(default_factory=dict)
    stdin: bytes = b""


@st.composite
def damaged(draw: st.DrawFn, content: bytes, fragments: Sequence[bytes] = ()) -> bytes:
    """Content with a few bytes changed, removed, repeated or replaced by a fragment."""
    result = content
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(result)))
        length = draw(st.integers(0, 40))
        kind = draw(st.sampled_from(["cut", "remove", "insert", "flip", "repeat"]))
        if kind == "cut":
            result = result[:place]
        elif kind == "remove":
            result = result[:place] + result[place + length :]
        elif kind == "repeat":
            times = draw(st.integers(1, 200))
            result = result[:place] + result[place : place + length] * times + result[place:]
        elif kind == "flip" and place < len(result):
            byte = result[place] ^ (1 << draw(st.integers(0, 7)))
            result = result[:place] + bytes([byte]) + result[place + 1 :]
        else:
            inserted = st.binary(max_size=20)
            if fragments:
                inserted = st.one_of(inserted, st.sampled_from(fragments))
            result = result[:place] + draw(inserted) + result[place:]
    return result
