"""Lexicon tables are plain text, one entry a line: the sense, then its forms in the order that the table's head says."""

from __future__ import annotations


def rows(text: str) -> dict[str, tuple[str, ...]]:
    """`sense form form …` lines -> {sense: forms}; an empty form is written `-`."""
    entries: dict[str, tuple[str, ...]] = {}
    for line in text.strip().splitlines():
        sense, *forms = line.split()
        assert sense not in entries, sense
        entries[sense] = tuple("" if form == "-" else form for form in forms)
    lengths = {len(forms) for forms in entries.values()}
    assert len(lengths) == 1, (
        f"unequal rows: {[sense for sense, forms in entries.items() if len(forms) != max(lengths)]}"
    )
    return entries


def phrases(text: str) -> dict[str, str]:
    """`sense = pattern` lines -> {sense: pattern}."""
    return {
        sense.strip(): pattern.strip()
        for sense, pattern in (line.split("=") for line in text.strip().splitlines())
    }
