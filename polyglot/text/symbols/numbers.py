"""Find numbers in a line, written as its language does (Unicode CLDR 45, `decimalFormats`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from polyglot.core.language_codes import find_code

SPACES = "\u00a0\u202f"
"""Spaces that group digits in any language, since they never separate two numbers."""


class NumberFormat(NamedTuple):
    """Marks of a language: between groups of three digits, and before decimals."""

    grouping: str
    decimal: str


POINT = NumberFormat(",", ".")
COMMA = NumberFormat(".", ",")
SPACED = NumberFormat("\u00a0", ",")
NARROW = NumberFormat("\u202f", ",")
COMMA_LANGUAGES = "bs ca da de el es eu gl hr id is it mk nl pt ro sl sr tr vi".split()
SPACED_LANGUAGES = "be bg cs et fi hu hy ka kk lt lv nb nn no pl ru sk sq sv uk".split()
FORMATS = dict.fromkeys(COMMA_LANGUAGES, COMMA)
FORMATS |= dict.fromkeys(SPACED_LANGUAGES, SPACED)
FORMATS |= {"fr": NARROW}
"""Format of each language; other languages write 1,234.5."""


@cache
def number_format(language: str) -> NumberFormat:
    code = find_code(language, frozenset(FORMATS))
    return POINT if code is None else FORMATS[code]


SPACED_NUMBER = re.compile(
    rf"(?<!\d)(?<!\d[., {SPACES}])(?P<whole>\d{{1,3}}(?:[ {SPACES}]\d{{3}})+)"
    rf"(?:[.,](?P<decimals>\d+))?(?![., {SPACES}]?\d)"
)
"""Digits in groups of three with spaces between them, and perhaps decimals."""


class Number(NamedTuple):
    """Number in a line."""

    start: int
    end: int
    groups: tuple[str, ...]
    """Digits before the decimal mark, in their groups."""
    decimals: str

    @property
    def value(self) -> str:
        """Canonical text of the number, independent of script and marks."""
        whole = _ascii_digits("".join(self.groups))
        if self.decimals:
            return f"{whole}.{_ascii_digits(self.decimals)}"
        return whole

    @property
    def possible_values(self) -> set[str]:
        """The value, and the one with the mark in the other role: `10.000` may be 10 or 10 000."""
        values = {self.value}
        if len(self.groups) == 1 and len(self.groups[0]) <= 3 and len(self.decimals) == 3:
            values.add(_ascii_digits(self.groups[0] + self.decimals))
        if len(self.groups) == 2 and not self.decimals:
            whole, rest = self.groups
            values.add(f"{_ascii_digits(whole)}.{_ascii_digits(rest)}")
        return values

    def written(self, language: str) -> str:
        """Text of the number in the format of a language."""
        marks = number_format(language)
        whole = marks.grouping.join(self.groups)
        if self.decimals:
            return whole + marks.decimal + self.decimals
        return whole


def _ascii_digits(digits: str) -> str:
    return "".join(str(int(digit)) for digit in digits)


def numbers(line: str, language: str) -> Iterator[Number]:
    """Iterate over the numbers of a line.

    A number has groups or decimals in the format of the language, or in the other usual format, or
    it is a plain run of digits. Anything else, such as a date, is several runs of digits.
    """
    own_format = number_format(language)
    decimal_marks = {
        "own": own_format.decimal,
        "other": _other_format(own_format).decimal,
        "run": ".",
    }
    for match in _pattern(own_format).finditer(line):
        whole, _, decimals = match.group().partition(decimal_marks[match.lastgroup])
        yield Number(match.start(), match.end(), tuple(re.findall(r"\d+", whole)), decimals)


def spaced_numbers(line: str, *, only_sure: bool = False) -> Iterator[Number]:
    """Iterate over the runs of digits that spaces divide into groups of three: `10 000`.

    In a language that groups digits by another mark, they may also be several numbers.
    only_sure: one number for sure, since a group after the first begins with 0.
    """
    for match in SPACED_NUMBER.finditer(line):
        groups = tuple(match["whole"].split())
        is_sure = any(group.startswith("0") for group in groups[1:])
        if is_sure or not only_sure:
            yield Number(match.start(), match.end(), groups, match["decimals"] or "")


def _other_format(own_format: NumberFormat) -> NumberFormat:
    """Foreign format that texts of the language use most."""
    return COMMA if own_format == POINT else POINT


@cache
def _pattern(own_format: NumberFormat) -> re.Pattern[str]:
    own = _marked_number(own_format)
    other = _marked_number(_other_format(own_format))
    begin = r"(?<!\d)(?<!\d[.,])"
    end = r"(?![.,]?\d)"
    return re.compile(rf"{begin}(?P<own>{own}){end}|{begin}(?P<other>{other}){end}|(?P<run>\d+)")


def _marked_number(marks: NumberFormat) -> str:
    """Pattern of groups of three digits, with or without decimals, or of digits with decimals."""
    if marks.grouping in SPACES:
        grouping = f"[ {SPACES}]"
    else:
        grouping = f"[{marks.grouping}{SPACES}]"
    decimal = re.escape(marks.decimal)
    return rf"\d{{1,3}}{grouping}\d{{3}}(?:{grouping}\d{{3}})*(?:{decimal}\d+)?|\d+{decimal}\d+"
