"""What symbols do to the words of a text: table 3 of the paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

KEPT = 30_000
"""Words of the paper's vocabularies."""


class Statistics:
    """Words of a text in one language, as they stand between spaces."""

    def __init__(self) -> None:
        self.words: Counter[str] = Counter()

    def add(self, line: str) -> None:
        self.words.update(line.split())

    @property
    def unique(self) -> int:
        """Different words."""
        return len(self.words)

    @property
    def total(self) -> int:
        """Words in all."""
        return self.words.total()

    def coverage(self, kept: int = KEPT) -> float:
        """Share of the text, from 0 to 1, that so many of the commonest words make up; 1 where there is no text."""
        return (
            sum(count for _, count in self.words.most_common(kept)) / max(1, self.total)
            if self.words
            else 1.0
        )


def table(found: Mapping[str, tuple[Statistics, Statistics]], *, kept: int = KEPT) -> Table:
    """Words before and after, by language."""
    from rich.table import Table

    rows = Table(
        "",
        *(f"{language} {when}" for language in found for when in ("before", "after")),
        title="Words, between spaces",
    )
    both = [each for pair in found.values() for each in pair]
    rows.add_row("unique words", *(f"{each.unique:,}" for each in both))
    rows.add_row("all words", *(f"{each.total:,}" for each in both))
    rows.add_row(
        f"coverage by {kept:,} words", *(f"{100 * each.coverage(kept):.1f} %" for each in both)
    )
    return rows
