"""Accuracy of copied numbers, names and acronyms in translations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polyglot.text.symbols import Symbolizer, SymbolsConfig
from polyglot.text.symbols.numbers import numbers
from polyglot.text.symbols.writing import SYMBOL, TYPES

MAX_SYMBOLS = 99  # of each type in a sentence


@dataclass
class CopyCount:
    """Number of copied items of one type."""

    expected: int = 0
    """items that source and reference have in common"""
    correct: int = 0
    """expected items that are in the translation"""


def count_copies(
    sources: Sequence[str],
    references: Sequence[str],
    hypotheses: Sequence[str],
    *,
    source: str,
    target: str,
) -> dict[str, CopyCount]:
    """Count the copied items by type.

    A number is correct in every notation of the target language that has the same value. A name
    or an acronym must have the same letters.
    """
    symbolizer = Symbolizer(SymbolsConfig(most=MAX_SYMBOLS))
    counts = {kind: CopyCount() for kind in TYPES}
    for line, reference, hypothesis in zip(sources, references, hypotheses, strict=True):
        _, symbolized = symbolizer.pair(line, reference, source, target)
        _count_sentence(counts, symbolized.rules, hypothesis, target)
    return counts


def _count_sentence(
    counts: Mapping[str, CopyCount],
    rules: Mapping[str, str],
    hypothesis: str,
    target: str,
) -> None:
    """Add the items of one sentence. An item of the hypothesis counts only once.

    rules: text of the reference for each symbol.
    """
    remaining_values = Counter(number.value for number in numbers(hypothesis, target))
    remaining_text = hypothesis
    for symbol, text in rules.items():
        kind = SYMBOL.fullmatch(symbol)[1]
        counts[kind].expected += 1
        if kind == "number":
            value = next(numbers(text, target)).value
            if remaining_values[value] > 0:
                counts[kind].correct += 1
                remaining_values[value] -= 1
        elif text in remaining_text:
            counts[kind].correct += 1
            remaining_text = remaining_text.replace(text, " ", 1)
