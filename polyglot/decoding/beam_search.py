"""Beam search over any decoder with `start`, `step` and `reorder`; greedy search is a beam of 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from polyglot.decoding.base import Hypothesis, SearchConfig, StepDecoder
from polyglot.decoding.opennmt_beam_search import opennmt_search
from polyglot.decoding.topk import compact_rows, topk_continuations
from polyglot.model.memory import Memory
from polyglot.tasks.batch import BOS, EOS, PAD


class CompleteHypotheses:
    """Best complete hypotheses of one sentence so far."""

    def __init__(self, config: SearchConfig) -> None:
        self.config = config
        self.hypotheses: list[Hypothesis] = []

    def add(self, tokens: list[int], log_probability: float) -> None:
        score = log_probability / self.config.penalty(len(tokens) + 1)
        self.hypotheses.append(Hypothesis(score, log_probability, tuple(tokens)))
        self.hypotheses.sort(reverse=True)

    def is_done(self, best_open: float, limit: int) -> bool:
        """True if no open hypothesis can enter the n best.

        That is so when a whole beam is complete, or when the best open hypothesis is worse even if
        it grows to the length limit with probability 1. best_open: its log-probability.
        """
        if len(self.hypotheses) >= self.config.beam:
            return True
        if len(self.hypotheses) < self.config.n_best:
            return False
        best_possible = best_open / self.config.penalty(limit + 1)
        return self.hypotheses[self.config.n_best - 1].score >= best_possible


@dataclass
class Beam:
    """Open hypotheses of the sentences that are not done: B sentences, M hypotheses each."""

    memory: Memory
    state: Any
    sentences: Tensor
    """(B,) numbers of the sentences; on the CPU."""
    limits: Tensor
    """(B,) length limits of the sentences; on the CPU."""
    words: Tensor
    """(B, M, length) pieces, BOS first."""
    totals: Tensor
    """(B, M) log-probabilities."""

    @property
    def length(self) -> int:
        """Pieces of every hypothesis; BOS is counted in place of the EOS to come."""
        return self.words.shape[2]


@torch.no_grad()
def search(
    decoder: StepDecoder, memory: Memory, source_lengths: Tensor, config: SearchConfig
) -> list[list[Hypothesis]]:
    """Return the n best hypotheses of each sentence, best first.

    memory (B, K, D), source_lengths (B,) in pieces. A sentence leaves the batch as soon as it is
    done, and its result does not depend on the other sentences.
    """
    if config.like == "opennmt":
        results = opennmt_search(decoder, memory, source_lengths, config)
        return [_hypotheses(result[: config.n_best]) for result in results]
    complete = [CompleteHypotheses(config) for _ in source_lengths]
    beam = _start(decoder, memory, config.limits(source_lengths))
    while len(beam.sentences):
        scores, beam.state = decoder.step(beam.words[:, :, -1].flatten(), beam.state, beam.memory)
        at_limit = beam.limits < beam.length
        continuations = _continue(beam, scores, at_limit, complete, config.beam)
        _keep_open_sentences(decoder, beam, continuations, at_limit, complete)
    return [sentence.hypotheses[: config.n_best] for sentence in complete]


def _hypotheses(results: list[tuple[float, float, tuple[int, ...]]]) -> list[Hypothesis]:
    return [Hypothesis(*result) for result in results]


def _start(decoder: StepDecoder, memory: Memory, limits: Tensor) -> Beam:
    """Begin with one hypothesis for each sentence: BOS."""
    device = memory.states.device
    count = len(limits)
    return Beam(
        memory,
        decoder.start(memory),
        sentences=torch.arange(count),
        limits=limits,
        words=torch.full((count, 1, 1), BOS, device=device),
        totals=torch.zeros(count, 1, device=device),
    )


def _continue(
    beam: Beam,
    scores: Tensor,
    at_limit: Tensor,
    complete: list[CompleteHypotheses],
    size: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Collect the hypotheses that end, and return the `size` best open continuations.

    scores (B·M, V), at_limit (B,) -> log-probabilities, origins and pieces, each (B, size).
    """
    must_end = at_limit.to(scores.device) if at_limit.any() else None
    # At most half of twice the beam are ends, so that a whole beam stays open.
    totals, origins, pieces = topk_continuations(
        scores, beam.totals, count=2 * size, excluded=(PAD, BOS), must_end=must_end
    )
    ends = pieces == EOS
    _collect(complete, beam, totals, origins, ends[:, :size])
    # A small vocabulary offers fewer open continuations than the beam holds: ends then count as
    # open, with probability 0.
    totals = totals.masked_fill(ends, -torch.inf)
    open_first = torch.sort(ends.to(torch.int8), dim=1, stable=True).indices[:, :size]
    return (
        totals.gather(1, open_first),
        origins.gather(1, open_first),
        pieces.gather(1, open_first),
    )


def _collect(
    complete: list[CompleteHypotheses], beam: Beam, totals: Tensor, origins: Tensor, ends: Tensor
) -> None:
    """Add the hypotheses that end to the complete ones of their sentences."""
    is_complete = ends & totals[:, : ends.shape[1]].isfinite()
    row_index, column_index = is_complete.nonzero(as_tuple=True)
    rows = row_index.tolist()
    columns = column_index.tolist()
    if not rows:
        return
    tokens = beam.words[rows, origins[rows, columns], 1:].tolist()
    log_probabilities = totals[rows, columns].tolist()
    for row, pieces, log_probability in zip(rows, tokens, log_probabilities):
        complete[beam.sentences[row]].add(pieces, log_probability)


def _keep_open_sentences(
    decoder: StepDecoder,
    beam: Beam,
    continuations: tuple[Tensor, Tensor, Tensor],
    at_limit: Tensor,
    complete: list[CompleteHypotheses],
) -> None:
    """Append the new pieces, and remove the sentences that are done from the beam."""
    totals, origins, pieces = continuations
    device = totals.device
    best = totals[:, 0].tolist()
    limits = beam.limits.tolist()
    staying = []
    for row, sentence in enumerate(beam.sentences.tolist()):
        if not at_limit[row] and not complete[sentence].is_done(best[row], limits[row]):
            staying.append(row)

    keep = torch.tensor(compact_rows(staying), dtype=torch.long, device=device)
    sentence_starts = torch.arange(len(beam.sentences), device=device) * beam.words.shape[1]
    rows = (origins + sentence_starts.unsqueeze(1))[keep]
    some_are_done = len(staying) < len(beam.sentences)
    beam.words = torch.cat([beam.words.flatten(0, 1)[rows], pieces[keep].unsqueeze(2)], dim=2)
    beam.totals = totals[keep]
    beam.state = decoder.reorder(beam.state, rows.flatten(), keep if some_are_done else None)
    if some_are_done:
        beam.memory = beam.memory.select(keep)
        beam.sentences = beam.sentences[keep.cpu()]
        beam.limits = beam.limits[keep.cpu()]
