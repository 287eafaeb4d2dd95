"""Whether translations have the numbers, names and acronyms of their sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from polyglot.text.symbols import Symbolizer, SymbolsConfig
from polyglot.text.symbols.numbers import numbers
from polyglot.text.symbols.writing import SYMBOL, TYPES

MOST = 99  # of each type in a sentence


@dataclass
class Copies:
    """Of one type."""

    expected: int = 0
    """what source and reference both have"""
    right: int = 0
    """what the translation has of it"""


def copied(
    sources: Sequence[str],
    references: Sequence[str],
    hypotheses: Sequence[str],
    *,
    source: str,
    target: str,
) -> dict[str, Copies]:
    """By type. A number is right with any marks that say the same in the target language, a name or acronym to the letter."""
    symbolizer, found = Symbolizer(SymbolsConfig(most=MOST)), {kind: Copies() for kind in TYPES}
    for line, reference, hypothesis in zip(sources, references, hypotheses, strict=True):
        _, wanted = symbolizer.pair(line, reference, source, target)
        there = Counter(number.value for number in numbers(hypothesis, target))
        rest = hypothesis
        for symbol, text in wanted.rules.items():
            kind = SYMBOL.fullmatch(symbol)[1]
            found[kind].expected += 1
            if kind == "number":
                value = next(numbers(text, target)).value
                found[kind].right += there[value] > 0
                there[value] -= there[value] > 0
            elif text in rest:
                found[kind].right += 1
                rest = rest.replace(text, " ", 1)
    return found
