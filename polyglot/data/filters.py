"""Filters of sentence pairs: lengths, content; dropped pairs are counted by reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy
from pydantic import Field

from polyglot.core.errors import DataError
from polyglot.core.registry import ComponentConfig, UnusedSetting
from polyglot.data.arrays import Lengths, Mask

TOO_SHORT = "too short"
TOO_LONG = "too long"
RATIO = "ratio"


class FilterConfig(ComponentConfig):
    """Sentence pairs that are used; lengths are in pieces of the vocabulary."""

    min_length: int = Field(default=1, ge=0, le=1_000_000)
    """The shortest sentence on either side; 0 keeps pairs with an empty side."""

    max_length: int = Field(default=100, ge=1, le=1_000_000)
    """The longest sentence on either side."""

    max_ratio: float | None = Field(default=9.0, ge=1, le=1000)
    """Largest ratio of the longer side to the shorter side, or null for any; 9 is the value of
    Moses' clean-corpus-n.perl."""

    remove_duplicates: bool = False
    """Use only the first of equal sentence pairs of a task, compared after preprocessing. In
    streamed text: the first of those that are in memory together (`batching.buffer`)."""

    max_other_language: float | None = Field(default=None, ge=0, le=1)
    """Leave out pairs with a side that py3langid identifies as another language with a larger
    probability than this; 0.5 suits most text. The default null identifies no languages."""

    max_unknown: float | None = Field(default=None, ge=0, le=1)
    """Leave out pairs with a larger share of pieces that are not in the vocabulary (`<unk>`), after
    symbols: 0.1 and 0.3 in Choi et al. 2017. The default null keeps them."""

    unknown_of: Literal["pair", "side"] = "pair"
    """Share of `max_unknown`: of all pieces of the pair, or on each of its sides."""

    def settings_without_effect(self) -> Iterator[UnusedSetting]:
        yield from super().settings_without_effect()
        if self.max_unknown is None:
            reason = "no effect: needs a largest share in max_unknown"
            yield UnusedSetting(("unknown_of",), ("max_unknown",), reason)

    @property
    def description(self) -> str:
        """Text that changes if the filters select other pairs."""
        unused = set()  # absent from the positions of old checkpoints
        if not self.remove_duplicates:
            unused.add("remove_duplicates")
        if self.max_other_language is None:
            unused.add("max_other_language")
        if self.max_unknown is None:
            unused |= {"max_unknown", "unknown_of"}
        return self.model_dump_json(exclude=unused)


def filter_pairs(
    source_lengths: Lengths,
    target_lengths: Lengths,
    config: FilterConfig,
    *,
    name: str,
    content: Mapping[str, Mask] | None = None,
) -> tuple[Mask, dict[str, int]]:
    """Apply the filters as `apply_filters` does; raises DataError if no pair is kept.

    name: the text, for the message.
    """
    kept, dropped = apply_filters(source_lengths, target_lengths, config, content=content)
    total = len(kept)
    if kept.any():
        return kept, dropped

    if total > 0 and dropped[TOO_LONG] == total:
        shortest = numpy.maximum(source_lengths, target_lengths).min()
        raise DataError(
            f"{name}: only over-long sentences: max_length is {config.max_length} pieces, "
            f"the shortest of {total} pairs has {shortest}"
        )
    raise DataError(f"{name}: {nothing_left_message(dropped, total)}")


def apply_filters(
    source_lengths: Lengths,
    target_lengths: Lengths,
    config: FilterConfig,
    *,
    content: Mapping[str, Mask] | None = None,
) -> tuple[Mask, dict[str, int]]:
    """Find the sentence pairs that every filter keeps.

    Lengths (N,), (N,) -> True on kept pairs (N,), and the number of dropped pairs by reason. A
    pair with several reasons counts for the first.

    content: pairs to drop because of their content, by reason, as `content_filters` finds them.
    """
    drops_empty = config.min_length > 0
    reasons = {
        "empty source": drops_empty & (source_lengths == 0),
        "empty target": drops_empty & (target_lengths == 0),
        **length_violations([source_lengths, target_lengths], config),
        **(content or {}),
    }

    kept = numpy.ones(len(source_lengths), dtype=bool)
    dropped = {}
    for reason, violates in reasons.items():
        dropped[reason] = int((kept & violates).sum())
        kept &= ~violates
    return kept, dropped


def length_violations(lengths: Sequence[Lengths], config: FilterConfig) -> dict[str, Mask]:
    """Find the rows that violate a limit on lengths, by reason.

    lengths: those of each side, (N,), in any unit. Returns masks (N,).
    """
    shortest = numpy.minimum.reduce(lengths)
    longest = numpy.maximum.reduce(lengths)
    max_ratio = config.max_ratio or numpy.inf
    return {
        TOO_SHORT: shortest < config.min_length,
        TOO_LONG: longest > config.max_length,
        RATIO: longest > max_ratio * numpy.maximum(shortest, 1),
    }


def dropped_suffix(dropped: Mapping[str, int]) -> str:
    """End of a sentence with the number of dropped pairs by reason; empty if none was dropped."""
    counts = _counts(dropped)
    return f", left out: {counts}" if counts else ""


def nothing_left_message(dropped: Mapping[str, int], total: int) -> str:
    """Message for a text of which no sentence pair is kept."""
    if not total:
        return "no sentences"
    return f"the filters leave none of {total} sentence pairs: {_counts(dropped)}"


def _counts(dropped: Mapping[str, int]) -> str:
    parts = []
    for reason, count in dropped.items():
        if count:
            parts.append(f"{count} {reason}")
    return ", ".join(parts)
