"""Which sentence pairs are not learnt from, counted by the reason."""

from __future__ import annotations

from collections.abc import Mapping

import numpy
from numpy.typing import NDArray
from pydantic import Field

from polyglot.core.errors import DataError
from polyglot.core.registry import ComponentConfig


class FilterConfig(ComponentConfig):
    """Bounds on the lengths of a sentence pair, in pieces of the vocabulary."""

    min_length: int = Field(default=1, ge=0)
    """The shortest sentence on either side; 0 keeps pairs with an empty side."""

    max_length: int = Field(default=100, ge=1)
    """The longest sentence on either side."""

    max_ratio: float | None = Field(default=9.0, ge=1, le=1000)
    """How many times longer the longer side may be, or null; 9 is what Moses' clean-corpus-n.perl uses."""


def filter_pairs(
    source_lengths: NDArray[numpy.int32],
    target_lengths: NDArray[numpy.int32],
    config: FilterConfig,
    *,
    name: str,
) -> tuple[NDArray[numpy.bool_], dict[str, int]]:
    """As `apply_filters` says. Raises DataError with the name of the text when nothing stays."""
    kept, dropped = apply_filters(source_lengths, target_lengths, config)
    if not kept.any():
        if dropped["too long"] == len(kept) > 0:
            shortest = numpy.maximum(source_lengths, target_lengths).min()
            found = f"max_length is {config.max_length} pieces, the shortest of {len(kept)} pairs has {shortest}"
            raise DataError(f"{name}: only over-long sentences: {found}")
        raise DataError(f"{name}: {nothing_left_message(dropped, len(kept))}")
    return kept, dropped


def apply_filters(
    source_lengths: NDArray[numpy.int32], target_lengths: NDArray[numpy.int32], config: FilterConfig
) -> tuple[NDArray[numpy.bool_], dict[str, int]]:
    """Lengths (N,), (N,) -> True on the pairs that stay (N,), and how many go for which reason; the first reason counts."""
    shorter, longer = (
        numpy.minimum(source_lengths, target_lengths),
        numpy.maximum(source_lengths, target_lengths),
    )
    reasons = {
        "empty source": (source_lengths == 0) & (config.min_length > 0),
        "empty target": (target_lengths == 0) & (config.min_length > 0),
        "too short": shorter < config.min_length,
        "too long": longer > config.max_length,
        "ratio": longer > (config.max_ratio or numpy.inf) * numpy.maximum(shorter, 1),
    }
    kept = numpy.ones(len(source_lengths), dtype=bool)
    dropped = {}
    for reason, bad in reasons.items():
        dropped[reason] = int((kept & bad).sum())
        kept &= ~bad
    return kept, dropped


def dropped_suffix(dropped: Mapping[str, int]) -> str:
    """The end of a sentence about how many went for which reason; nothing for none."""
    counts = ", ".join(f"{count} {reason}" for reason, count in dropped.items() if count)
    return f", left out: {counts}" if counts else ""


def nothing_left_message(dropped: Mapping[str, int], total: int) -> str:
    """The sentence for text of which no sentence pair stays."""
    counts = ", ".join(f"{count} {reason}" for reason, count in dropped.items() if count)
    return (
        f"the filters leave none of {total} sentence pairs: {counts}" if total else "no sentences"
    )
