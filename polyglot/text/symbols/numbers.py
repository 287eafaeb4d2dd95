"""Numbers as languages write them: which mark groups digits by three, which comes before decimals (Unicode CLDR 45, `decimalFormats`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

SPACES = "\u00a0\u202f"
"""That group digits in any text, since they never stand between two numbers."""


class Habit(NamedTuple):
    """How a language writes numbers."""

    grouping: str
    decimal: str


POINT, COMMA = Habit(",", "."), Habit(".", ",")
SPACED, NARROW = Habit("\u00a0", ","), Habit("\u202f", ",")
HABITS = (
    dict.fromkeys("bs ca da de el es eu gl hr id is it mk nl pt ro sl sr tr vi".split(), COMMA)
    | dict.fromkeys("be bg cs et fi hu hy ka kk lt lv nb nn no pl ru sk sq sv uk".split(), SPACED)
    | {"fr": NARROW}
)
"""By language; every other writes 1,234.5."""


def habit_of(language: str) -> Habit:
    return HABITS.get(language.split("_")[0], POINT)


class Number(NamedTuple):
    """A number in a line."""

    start: int
    end: int
    groups: tuple[str, ...]
    """its digits before the decimal mark, as they are grouped"""
    decimals: str

    @property
    def value(self) -> str:
        """The same for the same number, whatever its script and marks."""
        whole = "".join(str(int(digit)) for digit in "".join(self.groups))
        return (
            f"{whole}.{''.join(str(int(digit)) for digit in self.decimals)}"
            if self.decimals
            else whole
        )

    def written(self, language: str) -> str:
        """In the habit of that language."""
        habit = habit_of(language)
        return habit.grouping.join(self.groups) + (
            habit.decimal + self.decimals if self.decimals else ""
        )


def numbers(line: str, language: str) -> Iterator[Number]:
    """Every number of a line: grouped or with decimals as the language has it, or else as others have it; or a plain run of digits.

    What is none of these, such as a date or a version, is so many runs of digits.
    """
    own = habit_of(language)
    decimal = {"own": own.decimal, "other": _other(own).decimal, "run": "."}
    for found in _pattern(own).finditer(line):
        whole, _, decimals = found.group().partition(decimal[found.lastgroup])
        yield Number(found.start(), found.end(), tuple(re.findall(r"\d+", whole)), decimals)


def _other(habit: Habit) -> Habit:
    """The habit that a language borrows most."""
    return COMMA if habit == POINT else POINT


@cache
def _pattern(own: Habit) -> re.Pattern[str]:
    other = _other(own)
    begin, end = r"(?<!\d)(?<!\d[.,])", r"(?![.,]?\d)"
    return re.compile(
        rf"{begin}(?P<own>{_marked(own)}){end}|{begin}(?P<other>{_marked(other)}){end}|(?P<run>\d+)"
    )


def _marked(habit: Habit) -> str:
    """Groups of three with one mark between them, decimals after them or not; or digits with decimals."""
    grouping = f"[ {SPACES}]" if habit.grouping in SPACES else f"[{habit.grouping}{SPACES}]"
    decimal = re.escape(habit.decimal)
    return rf"\d{{1,3}}{grouping}\d{{3}}(?:{grouping}\d{{3}})*(?:{decimal}\d+)?|\d+{decimal}\d+"
