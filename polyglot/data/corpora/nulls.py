"""Nulls in tables: each is an empty sentence, and they are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow


class NullCounts:
    """Number of nulls by language, replaced by empty sentences."""

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self.counts = Counter(counts or {})

    def fill_table(self, table: pyarrow.Table) -> pyarrow.Table:
        """Replace the nulls of a table with a column of text for each language."""
        import pyarrow
        from pyarrow import compute

        columns = {}
        for language in table.column_names:
            texts = table.column(language)
            self.counts[language] += texts.null_count
            columns[language] = compute.fill_null(texts, "")
        return pyarrow.table(columns)

    def fill_lists(self, texts: Mapping[str, list[str | None]]) -> Mapping[str, list[str]]:
        """Replace the nulls of the texts of each language."""
        filled = {}
        for language, values in texts.items():
            nulls = values.count(None)
            self.counts[language] += nulls
            if nulls:
                filled[language] = [value or "" for value in values]
            else:
                filled[language] = values
        return filled

    def __bool__(self) -> bool:
        return self.counts.total() > 0

    def message(self, place: str) -> str:
        """Line for the log: `train.jsonl: null is read as an empty sentence: 3 de, 1 en`."""
        counts = []
        for language, count in self.counts.items():
            if count:
                counts.append(f"{count:,} {language}")
        return f"{place}: null is read as an empty sentence: {', '.join(counts)}"
