"""Notation of symbols in a line, such as `June ⟨number1⟩ ^^nd`, and its inverse.

`^^` joins the text before and after it to one word. Text that looks like a symbol or a mark is
escaped: a bracket `⟨` of the text is written `⟨⟨⟩`, a caret `⟨^⟩`. Nothing else changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

TYPES = ("number", "name", "acronym")
MARK = "^^"
SYMBOL = re.compile(rf"⟨({'|'.join(TYPES)})(\d+)⟩")
CODE = re.compile(
    r"⟨(?P<escaped>[⟨^])⟩"
    rf"|(?P<symbol>⟨(?:{'|'.join(TYPES)})\d+⟩)"
    r"|(?P<broken>⟨[\w ^]*⟩|⟨\w*)"
    r"|(?P<mark> ?\^\^ ?)"
)


class Replacement(NamedTuple):
    """Symbol in place of the characters from start to end."""

    start: int
    end: int
    symbol: str


def symbol(kind: str, number: int) -> str:
    """Name of a symbol, such as `⟨name2⟩`."""
    return f"⟨{kind}{number}⟩"


def write(line: str, replacements: Iterable[Replacement]) -> str:
    """Write symbols into a line as words between spaces, with marks where the line had no space."""
    parts: list[str] = []
    end = 0
    for replacement in sorted(replacements):
        between = line[end : replacement.start]
        parts.append(_escape(between, after=bool(parts), before=True))
        parts.append(replacement.symbol)
        end = replacement.end
    rest = line[end:]
    parts.append(_escape(rest, after=bool(parts), before=False))
    return "".join(parts)


def _escape(text: str, *, after: bool, before: bool) -> str:
    """Escape text between symbols. after: it follows a symbol. before: a symbol follows it."""
    if not text:
        return f" {MARK} " if after and before else ""

    escaped = re.sub(r"[⟨^]", r"⟨\g<0>⟩", text)
    if after and not text.startswith(" "):
        escaped = f" {MARK}{escaped}"
    if before and not text.endswith(" "):
        escaped = f"{escaped}{MARK} "
    return escaped


def desymbolize(line: str, rules: Mapping[str, str]) -> str:
    """Replace the symbols of a line by their text, and remove the marks.

    rules: text of each symbol. A symbol without a rule, which only a model writes, gets the text
    of the first symbol of its type that the line lacks, or becomes empty. An incomplete symbol of
    a model becomes empty as well.
    """
    unused = _unused_texts(line, rules)

    def restore(match: re.Match[str]) -> str:
        if match["escaped"]:
            return match["escaped"]
        if match["mark"] or match["broken"]:
            return ""
        name = match["symbol"]
        if name in rules:
            return rules[name]
        kind = SYMBOL.fullmatch(name)[1]
        if unused[kind]:
            return unused[kind].pop(0)
        return ""

    return CODE.sub(restore, line)


def _unused_texts(line: str, rules: Mapping[str, str]) -> dict[str, list[str]]:
    """Texts of the rules whose symbols the line lacks, by type."""
    present = {match.group() for match in SYMBOL.finditer(line)}
    unused = {}
    for kind in TYPES:
        start = f"⟨{kind}"
        unused[kind] = []
        for name, text in rules.items():
            if name.startswith(start) and name not in present:
                unused[kind].append(text)
    return unused


def count_without_rule(line: str, rules: Mapping[str, str]) -> int:
    """Count the symbols of a line that have no rule or are incomplete."""
    count = 0
    for match in CODE.finditer(line):
        name = match["symbol"]
        has_no_rule = name is not None and name not in rules
        if has_no_rule or match["broken"] is not None:
            count += 1
    return count


def pieces(most: int) -> Sequence[str]:
    """Pieces that a vocabulary never splits: each symbol with the space before it, and the mark."""
    symbols = []
    for kind in TYPES:
        for number in range(1, most + 1):
            name = symbol(kind, number)
            symbols.append(f"▁{name}")
    return [*symbols, MARK]
