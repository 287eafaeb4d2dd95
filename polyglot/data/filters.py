"""Which sentence pairs are not learnt from, counted by the reason."""

from __future__ import annotations

import numpy
from numpy.typing import NDArray
from pydantic import Field

from polyglot.errors import DataError
from polyglot.registry import ComponentConfig


class FilterConfig(ComponentConfig):
    """Bounds on the lengths of a sentence pair, in pieces of the vocabulary."""

    min_length: int = Field(default=1, ge=0)
    """The shortest sentence on either side; 0 keeps pairs with an empty side."""

    max_length: int = Field(default=100, ge=1)
    """The longest sentence on either side."""

    max_ratio: float | None = Field(default=9.0, ge=1, le=1000)
    """How many times longer the longer side may be, or null; 9 is what Moses' clean-corpus-n.perl uses."""


def keep(
    source_lengths: NDArray[numpy.int32], target_lengths: NDArray[numpy.int32], config: FilterConfig, *, name: str
) -> tuple[NDArray[numpy.bool_], dict[str, int]]:
    """Lengths (N,), (N,) -> True on the pairs that stay (N,), and how many go for which reason; the first reason counts.

    Raises DataError with the name of the text when nothing stays.
    """
    shorter, longer = numpy.minimum(source_lengths, target_lengths), numpy.maximum(source_lengths, target_lengths)
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
    if not kept.any():
        raise DataError(f"{name}: {_nothing_left(dropped, longer, config)}")
    return kept, dropped


def _nothing_left(dropped: dict[str, int], longer: NDArray[numpy.int32], config: FilterConfig) -> str:
    total = len(longer)
    if total == 0:
        return "no sentences"
    if dropped["too long"] == total:
        return f"only over-long sentences: max_length is {config.max_length} pieces, the shortest of {total} pairs has {longer.min()}"
    counts = ", ".join(f"{count} {reason}" for reason, count in dropped.items() if count)
    return f"the filters leave none of {total} sentence pairs: {counts}"
