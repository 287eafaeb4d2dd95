"""Mutants by hand, each a fault that tests once did not notice: file, source, replacement."""

from __future__ import annotations

from pathlib import Path

from tests.mutation.operators import Mutant

NAMED: list[tuple[str, str, str]] = []


def find_named(root: Path, path: str, original: str, replacement: str) -> Mutant:
    """Mutant that replaces a piece of source which occurs exactly once in the file."""
    source = (root / path).read_text(encoding="utf-8")
    if source.count(original) != 1:
        count = source.count(original)
        raise ValueError(f"{path}: {original!r} occurs {count} times; it has to occur once")
    start = len(source[: source.index(original)].encode())
    line = source[: source.index(original)].count("\n") + 1
    end = start + len(original.encode())
    return Mutant(path, line, "named", start, end, " ".join(original.split()), replacement)
