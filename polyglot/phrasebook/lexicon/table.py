"""Parse lexicon tables: one entry a line, the sense and then its forms in a fixed order."""

from __future__ import annotations


def rows(text: str) -> dict[str, tuple[str, ...]]:
    """Parse lines `sense form form …` into {sense: forms}; `-` stands for an empty form."""
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
    """Parse lines `sense = pattern` into {sense: pattern}."""
    return {
        sense.strip(): pattern.strip()
        for sense, pattern in (line.split("=") for line in text.strip().splitlines())
    }
