"""How symbols stand in a line: `June ⟨number1⟩ ^^nd`, and how the words come back in their places.

`^^` says that what is before and after it is one word again. Text that looks like a symbol or a mark is kept apart from them: a
bracket `⟨` of the text is written `⟨⟨⟩`, a caret `⟨^⟩`; nothing else of a line changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

TYPES = ("number", "name", "acronym")
MARK = "^^"
SYMBOL = re.compile(rf"⟨({'|'.join(TYPES)})(\d+)⟩")
CODE = re.compile(
    rf"⟨(?P<plain>[⟨^])⟩|(?P<symbol>⟨(?:{'|'.join(TYPES)})\d+⟩)|(?P<broken>⟨[\w ^]*⟩|⟨\w*)|(?P<mark> ?\^\^ ?)"
)


class StandIn(NamedTuple):
    """A symbol for the characters from start to end."""

    start: int
    end: int
    symbol: str


def symbol(kind: str, number: int) -> str:
    """`⟨name2⟩`"""
    return f"⟨{kind}{number}⟩"


def write(line: str, stand_ins: Iterable[StandIn]) -> str:
    """The line with symbols in the place of those characters, each a word between spaces, and marks where there was no space."""
    parts, end = [], None
    for one in sorted(stand_ins):
        between = line[end or 0 : one.start]
        parts.append(_literal(between, after=end is not None, before=True))
        parts.append(one.symbol)
        end = one.end
    parts.append(_literal(line[end or 0 :], after=end is not None, before=False))
    return "".join(parts)


def _literal(text: str, *, after: bool, before: bool) -> str:
    """Text of the line between symbols. after, before: whether it comes after a symbol, and before one."""
    if not text:
        return f" {MARK} " if after and before else ""
    start = f" {MARK}" if after and text[0] != " " else ""
    stop = f"{MARK} " if before and text[-1] != " " else ""
    return start + re.sub(r"[⟨^]", r"⟨\g<0>⟩", text) + stop


def desymbolize(line: str, rules: Mapping[str, str]) -> str:
    """The line with words for its symbols, and without marks.

    rules: what each symbol stands for. A symbol without a rule, which only a model writes, becomes what the first symbol of its
    type stands for that the line does not have, and nothing when there is none left; nor does what a model has begun as a symbol and
    not ended as one become anything.
    """
    present = {one.group() for one in SYMBOL.finditer(line)}
    spare = {
        kind: [
            text for one, text in rules.items() if one.startswith(f"⟨{kind}") and one not in present
        ]
        for kind in TYPES
    }

    def put_back(found: re.Match[str]) -> str:
        if found["plain"]:
            return found["plain"]
        if found["mark"] or found["broken"]:
            return ""
        if found["symbol"] in rules:
            return rules[found["symbol"]]
        left = spare[SYMBOL.fullmatch(found["symbol"])[1]]
        return left.pop(0) if left else ""

    return CODE.sub(put_back, line)


def without_rule(line: str, rules: Mapping[str, str]) -> int:
    """How many symbols of a line have no rule, or are none."""
    return sum(
        one["broken"] is not None or (one["symbol"] is not None and one["symbol"] not in rules)
        for one in CODE.finditer(line)
    )


def pieces(most: int) -> Sequence[str]:
    """What a vocabulary shall keep whole: every symbol with the space before it, and the mark."""
    return [*(f"▁{symbol(kind, number)}" for kind in TYPES for number in range(1, most + 1)), MARK]
