"""Word counts of a text before and after symbols (Choi et al., table 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from polyglot.core.score_tables import format_percent

if TYPE_CHECKING:
    from polyglot.core.tables import FoldedTable

VOCABULARY_SIZE = 30_000
"""Words in the vocabularies of the paper."""


class Statistics:
    """Counts of the words of a text, which are separated by spaces."""

    def __init__(self) -> None:
        self.words: Counter[str] = Counter()

    def add(self, line: str) -> None:
        self.words.update(line.split())

    @property
    def unique(self) -> int:
        """Number of different words."""
        return len(self.words)

    @property
    def total(self) -> int:
        """Number of words."""
        return self.words.total()

    def coverage(self, kept: int = VOCABULARY_SIZE) -> float:
        """Share of the text, from 0 to 1, in its `kept` most frequent words; 1 for empty text."""
        if not self.words:
            return 1.0
        covered = sum(count for _, count in self.words.most_common(kept))
        return covered / max(1, self.total)


def table(
    statistics: Mapping[str, tuple[Statistics, Statistics]],
    *,
    kept: int = VOCABULARY_SIZE,
) -> FoldedTable:
    """Table of the words before and after symbols, by language."""
    from polyglot.core.tables import FoldedTable

    columns = []
    texts = []
    for language, (before, after) in statistics.items():
        columns += [f"{language} before", f"{language} after"]
        texts += [before, after]
    rows = FoldedTable("", *columns, title="Words, separated by spaces")
    rows.add_row("unique words", *(f"{text.unique:,}" for text in texts))
    rows.add_row("all words", *(f"{text.total:,}" for text in texts))
    shares = [format_percent(text.coverage(kept)) for text in texts]
    rows.add_row(f"coverage by {kept:,} words", *shares)
    return rows
