"""Most probable continuations of hypotheses, and the order of rows that stay in a batch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from polyglot.tasks.batch import EOS

GROUP = 32
"""Number of scores in a group: `topk_of_long_rows` first compares the maxima of the groups."""


def topk_continuations(
    scores: Tensor,
    totals: Tensor,
    *,
    count: int,
    excluded: Sequence[int] = (),
    must_end: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the most probable continuations of each sentence.

    scores: (B·M, V) logits of the next token for M hypotheses per sentence; overwritten.
    totals: (B, M) log-probabilities of the hypotheses.
    excluded: tokens that cannot be chosen, but keep their share of the probability.
    must_end: (B,) True for sentences whose next token must be EOS.

    Returns log-probabilities, hypotheses of origin and tokens, each (B, count), or fewer columns
    where fewer continuations exist.
    """
    sentences, hypotheses = totals.shape
    scores = scores.float()

    excluded_scores = _exclude(scores, excluded)
    allowed_tokens = scores.shape[1] - len(excluded)
    per_hypothesis = min(count, allowed_tokens)
    values, tokens = topk_of_long_rows(scores, per_hypothesis)
    end_scores = None
    if must_end is not None:
        # Kept now, because `_log_normaliser` overwrites `scores`.
        end_scores = scores[:, EOS].clone()

    normaliser = _log_normaliser(scores, values[:, :1], tokens[:, :1])
    normaliser = torch.cat([normaliser, excluded_scores], dim=1)
    normaliser = normaliser.logsumexp(dim=1, keepdim=True)  # (B·M, 1)

    if must_end is not None:
        rows_end = must_end.repeat_interleave(hypotheses)
        values, tokens = _end_rows(values, tokens, rows_end, end_scores)

    log_probabilities = values - normaliser
    log_probabilities = log_probabilities.view(sentences, hypotheses, per_hypothesis)
    candidates = log_probabilities + totals.unsqueeze(2)
    candidates = candidates.flatten(1)
    candidate_tokens = tokens.view(sentences, -1)

    candidate_count = candidates.shape[1]
    best, order = candidates.topk(min(count, candidate_count), dim=1)
    origins = order // per_hypothesis
    return best, origins, candidate_tokens.gather(1, order)


def _exclude(scores: Tensor, excluded: Sequence[int]) -> Tensor:
    """Set the scores (N, V) of excluded tokens to −∞ in place; returns a copy, (N, excluded)."""
    # One column at a time: a list of several indices would be copied to the device, and the program
    # would wait.
    columns = [scores[:, token].unsqueeze(1) for token in excluded]
    copy = torch.cat([scores[:, :0], *columns], dim=1)
    for token in excluded:
        scores[:, token] = -torch.inf
    return copy


def _end_rows(
    values: Tensor,
    tokens: Tensor,
    rows_end: Tensor,
    end_scores: Tensor,
) -> tuple[Tensor, Tensor]:
    """Let rows of continuations end: all their tokens become EOS.

    The first continuation of such a row gets the score of EOS, the others −∞, so that none of them
    is chosen. values and tokens (N, continuations), rows_end and end_scores (N,).
    """
    first_values = torch.where(rows_end, end_scores, values[:, 0])
    values = values.masked_fill(rows_end.unsqueeze(1), -torch.inf)
    values[:, 0] = first_values
    tokens = tokens.masked_fill(rows_end.unsqueeze(1), EOS)
    return values, tokens


def _log_normaliser(scores: Tensor, largest_scores: Tensor, best_tokens: Tensor) -> Tensor:
    """log Z = log Σ exp of each row: (N, V) -> (N, 1). Overwrites `scores` by the probabilities.

    largest_scores, best_tokens: (N, 1) largest score of each row, and its token. As p = exp(score)
    / Z, log Z is score − log p for any token. The best token has p ≥ 1/V, so that log p is finite.
    Unlike `logsumexp`, softmax needs no second tensor of the size of `scores`.
    """
    probabilities = torch.softmax(scores, dim=1, out=scores)
    largest_probabilities = probabilities.gather(1, best_tokens)
    return largest_scores - largest_probabilities.log()


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
    grouped_columns = groups * GROUP
    grouped = scores[:, :grouped_columns].unflatten(1, (groups, GROUP))
    maxima = grouped.amax(dim=2)
    best_groups = maxima.topk(count, dim=1, sorted=False).indices
    best_groups = best_groups.unsqueeze(2)  # (N, count, 1)
    candidates = grouped.gather(1, best_groups.expand(-1, -1, GROUP))
    candidate_columns = best_groups * GROUP + torch.arange(GROUP, device=device)

    # Columns after the last full group are candidates as well.
    remainder = scores[:, grouped_columns:]
    remainder_columns = torch.arange(grouped_columns, columns, device=device)
    remainder_columns = remainder_columns.expand(rows, -1)

    all_candidates = torch.cat([candidates.flatten(1), remainder], dim=1)
    all_columns = torch.cat([candidate_columns.flatten(1), remainder_columns], dim=1)
    values, order = all_candidates.topk(count, dim=1)
    return values, all_columns.gather(1, order)


def hypothesis_rows(origins: Tensor, hypotheses: int) -> Tensor:
    """Rows (B, M') in a batch of B · M hypotheses, M of each sentence.

    origins: (B, M') numbers of hypotheses within their sentence.
    """
    sentences = torch.arange(len(origins), device=origins.device)
    first_rows = sentences * hypotheses
    return origins + first_rows.unsqueeze(1)


def append_tokens(prefixes: Tensor, rows: Tensor, tokens: Tensor) -> Tensor:
    """Append a token to hypotheses: prefixes (B, M, length) -> (B', M', length + 1).

    rows: (B', M') rows of the continued hypotheses in B · M. tokens: (B', M').
    """
    continued = prefixes.flatten(0, 1)[rows]
    return torch.cat([continued, tokens.unsqueeze(2)], dim=2)


def compact_rows(staying: Sequence[int]) -> list[int]:
    """Order rows so that few of them move: rows after the new end fill the gaps of removed rows.

    Decoders that move the rows of large caches in place (`select_rows_in_place`) then copy little.
    staying: rows that stay, in ascending order.
    """
    count = len(staying)
    unmoved = [row for row in staying if row < count]
    moved = staying[len(unmoved) :]
    gaps = set(range(count)) - set(unmoved)

    order = list(range(count))
    for gap, row in zip(sorted(gaps), moved, strict=True):
        order[gap] = row
    return order
