"""Most probable continuations of hypotheses, and the order of rows that stay in a batch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from polyglot.tasks.batch import EOS

GROUP = 32
"""Neighbouring scores of which `topk_of_long_rows` compares the maximum first."""


def topk_continuations(
    scores: Tensor,
    totals: Tensor,
    *,
    count: int,
    excluded: Sequence[int] = (),
    must_end: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the most probable continuations of each sentence.

    scores: (B·M, V) logits of the next word for M hypotheses a sentence; overwritten.
    totals: (B, M) log-probabilities of the hypotheses.
    excluded: words that are not written, but keep their share of the probability.
    must_end: (B,) True for sentences whose next word is EOS.

    Returns log-probabilities, hypotheses of origin and words, each (B, count), or fewer columns
    where fewer continuations exist.
    """
    sentences, hypotheses = totals.shape
    scores = scores.float()
    excluded = list(excluded)
    excluded_scores = scores[:, excluded]  # a copy
    scores[:, excluded] = -torch.inf
    per_hypothesis = min(count, scores.shape[1] - len(excluded))
    values, words = topk_of_long_rows(scores, per_hypothesis)
    end_scores = None if must_end is None else scores[:, EOS].clone()

    # log Σ exp, from the softmax: its largest entry is at least 1/V, so its logarithm is safe.
    probabilities = torch.softmax(scores, dim=1, out=scores)
    largest_probability = probabilities.gather(1, words[:, :1]).squeeze(1)
    normaliser = values[:, 0] - largest_probability.log()
    normaliser = torch.cat([normaliser.unsqueeze(1), excluded_scores], dim=1).logsumexp(dim=1)

    if must_end is not None:
        rows = must_end.repeat_interleave(hypotheses)
        values[rows] = -torch.inf
        words[rows] = EOS
        values[rows, 0] = end_scores[rows]

    log_probabilities = (values - normaliser.unsqueeze(1)).view(
        sentences, hypotheses, per_hypothesis
    )
    candidates = (log_probabilities + totals.unsqueeze(2)).flatten(1)
    best, order = candidates.topk(min(count, hypotheses * per_hypothesis), dim=1)
    return best, order // per_hypothesis, words.view(sentences, -1).gather(1, order)


def topk_of_long_rows(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the largest values of each row and their columns, largest first, each (N, count).

    Several times faster than `topk` for long rows on a CPU: the largest values can only be in the
    groups with the largest maxima. scores: (N, V).
    """
    rows, columns = scores.shape
    groups = columns // GROUP
    if groups < 2 * count:
        return scores.topk(count, dim=1)
    device = scores.device
    grouped = scores[:, : groups * GROUP].unflatten(1, (groups, GROUP))
    best_groups = grouped.amax(dim=2).topk(count, dim=1, sorted=False).indices
    best_groups = best_groups.unsqueeze(2)  # (N, count, 1)
    candidates = grouped.gather(1, best_groups.expand(-1, -1, GROUP)).flatten(1)
    candidate_columns = (best_groups * GROUP + torch.arange(GROUP, device=device)).flatten(1)

    # Columns behind the last full group are candidates as well.
    remainder = scores[:, groups * GROUP :]
    remainder_columns = torch.arange(groups * GROUP, columns, device=device).expand(rows, -1)
    values, places = torch.cat([candidates, remainder], dim=1).topk(count, dim=1)
    all_columns = torch.cat([candidate_columns, remainder_columns], dim=1)
    return values, all_columns.gather(1, places)


def compact_rows(staying: Sequence[int]) -> list[int]:
    """Order rows so that few of them move: rows behind the new end fill the gaps of removed rows.

    staying: rows that stay, in ascending order.
    """
    count = len(staying)
    unmoved = [row for row in staying if row < count]
    gaps = iter(sorted(set(range(count)) - set(unmoved)))
    places = list(range(count))
    for row in staying[len(unmoved) :]:
        places[next(gaps)] = row
    return places
