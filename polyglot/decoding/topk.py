"""The likeliest continuations of hypotheses, found in the scores of all words."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from polyglot.tasks.batch import EOS

GROUP = 32
"""Scores that `largest` takes together."""


def likeliest(
    scores: Tensor,
    totals: Tensor,
    *,
    count: int,
    never: Sequence[int] = (),
    must_end: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The likeliest continuations of each sentence.

    scores (B·M, V) before the softmax, which are written over, totals (B, M), never: words that are not written, but have their share of
    the probability, must_end (B,) for sentences whose next word is the end
    -> log-probabilities, origin hypotheses and words, each (B, count), or fewer where there are no more
    """
    sentences, hypotheses = totals.shape
    scores, never = scores.float(), list(never)
    left_out = scores[:, never]  # a copy
    scores[:, never] = -torch.inf
    each = min(count, scores.shape[1] - len(never))
    values, words = largest(scores, each)
    end = None if must_end is None else scores[:, EOS].clone()
    # log Σ exp through the softmax, whose largest entry is at least 1/V.
    normaliser = (
        values[:, 0]
        - torch.softmax(scores, dim=1, out=scores).gather(1, words[:, :1]).squeeze(1).log()
    )
    normaliser = torch.cat([normaliser.unsqueeze(1), left_out], dim=1).logsumexp(dim=1)
    if must_end is not None:
        rows = must_end.repeat_interleave(hypotheses)
        values[rows], words[rows] = -torch.inf, EOS
        values[rows, 0] = end[rows]
    values = (values - normaliser.unsqueeze(1)).view(
        sentences, hypotheses, each
    ) + totals.unsqueeze(2)
    values, order = values.flatten(1).topk(min(count, hypotheses * each), dim=1)
    return values, order // each, words.view(sentences, -1).gather(1, order)


def largest(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """`topk` of long rows, several times faster on a CPU: the largest numbers can only be in the groups with the largest maxima.

    scores (N, V) -> values and their columns, each (N, count), the largest first
    """
    rows, columns = scores.shape
    groups = columns // GROUP
    if groups < 2 * count:
        return scores.topk(count, dim=1)
    grouped = scores[:, : groups * GROUP].unflatten(1, (groups, GROUP))
    chosen = (
        grouped.amax(dim=2).topk(count, dim=1, sorted=False).indices.unsqueeze(2)
    )  # (N, count, 1)
    candidates = grouped.gather(1, chosen.expand(-1, -1, GROUP)).flatten(1)
    names = (chosen * GROUP + torch.arange(GROUP, device=scores.device)).flatten(1)
    rest = torch.arange(groups * GROUP, columns, device=scores.device).expand(rows, -1)
    values, places = torch.cat([candidates, scores[:, groups * GROUP :]], dim=1).topk(count, dim=1)
    return values, torch.cat([names, rest], dim=1).gather(1, places)


def without_gaps(staying: Sequence[int]) -> list[int]:
    """Rows that stay, in ascending order, in an order that moves few: those behind the new end fill the gaps of those that leave."""
    count = len(staying)
    first = [row for row in staying if row < count]
    gaps = iter(sorted(set(range(count)) - set(first)))
    places = list(range(count))
    for row in staying[len(first) :]:
        places[next(gaps)] = row
    return places
