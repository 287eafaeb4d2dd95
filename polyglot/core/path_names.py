"""Short names for paths, such as those of compared runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from polyglot.core.errors import ConfigError


def distinct_names(paths: Sequence[Path]) -> list[str]:
    """Shortest end of each path that no other path has.

    `phrasebook`, or `first/phrasebook` if there is also `second/phrasebook`.
    Raises ConfigError for a path that is named twice.
    """
    all_parts: list[tuple[str, ...]] = []
    for path in paths:
        parts = Path(os.path.abspath(path)).parts
        if parts in all_parts:
            raise ConfigError(f"{path}: named twice; name each run once")
        all_parts.append(parts)
    return [_shortest_distinct_end(parts, all_parts) for parts in all_parts]


def _shortest_distinct_end(parts: tuple[str, ...], all_parts: Sequence[tuple[str, ...]]) -> str:
    other_paths = [other for other in all_parts if other != parts]
    for length in range(1, len(parts)):
        end = parts[-length:]
        other_ends = [other[-length:] for other in other_paths]
        if end not in other_ends:
            return str(Path(*end))
    return str(Path(*parts))
