"""Beam search over any decoder with `start`, `step` and `reorder`; greedy search is a beam of 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from polyglot.decoding.base import Hypothesis, SearchConfig, StepDecoder
from polyglot.decoding.opennmt_beam_search import opennmt_search
from polyglot.decoding.topk import (
    append_tokens,
    compact_rows,
    hypothesis_rows,
    topk_continuations,
)
from polyglot.model.memory import Memory
from polyglot.tasks.batch import BOS, EOS, PAD
from polyglot.tasks.transfers import to_device, to_host_together


class CompleteHypotheses:
    """Complete hypotheses of one sentence so far, best first."""

    def __init__(self, config: SearchConfig) -> None:
        self.config = config
        self.hypotheses: list[Hypothesis] = []

    def add(self, tokens: list[int], log_probability: float) -> None:
        length = len(tokens) + 1  # with EOS
        score = log_probability / self.config.penalty(length)
        self.hypotheses.append(Hypothesis(score, log_probability, tuple(tokens)))
        self.hypotheses.sort(reverse=True)

    def is_done(self, best_open: float, limit: int) -> bool:
        """True if the search of the sentence stops.

        It stops when as many hypotheses are complete as the beam holds, even if an open one could
        still become better. It also stops when no open hypothesis can enter the n best: the best
        open hypothesis is worse even if it grows to the length limit with probability 1.
        best_open: log-probability of the best open hypothesis. limit: of the length.
        """
        if len(self.hypotheses) >= self.config.beam:
            return True
        if len(self.hypotheses) < self.config.n_best:
            return False
        best_possible = best_open / self.config.penalty(limit + 1)
        last_of_n_best = self.hypotheses[self.config.n_best - 1]
        return last_of_n_best.score >= best_possible


@dataclass
class Beam:
    """Open hypotheses of the sentences that are not done: B sentences, M hypotheses each.

    The search chooses hypotheses in main memory. Each step transfers the best continuations there
    together, and waits for the device only then.
    """

    memory: Memory
    state: Any
    sentences: Tensor
    """(B,) numbers of the sentences; in main memory, as the three tensors below."""
    limits: Tensor
    """(B,) length limits of the sentences."""
    tokens: Tensor
    """(B, M, length) tokens of the hypotheses, BOS first."""
    totals: Tensor
    """(B, M) log-probabilities."""

    @property
    def device(self) -> torch.device:
        return self.memory.states.device

    @property
    def prefix_length(self) -> int:
        """Number of tokens of every hypothesis after BOS."""
        return self.tokens.shape[2] - 1


@torch.no_grad()
def search(
    decoder: StepDecoder,
    memory: Memory,
    source_lengths: Tensor,
    config: SearchConfig,
) -> list[list[Hypothesis]]:
    """Return the n best hypotheses of each sentence, best first.

    memory (B, K, D), source_lengths (B,) in tokens. A sentence leaves the batch as soon as it is
    done, and its result does not depend on the other sentences.
    """
    if config.like == "opennmt":
        results = opennmt_search(decoder, memory, source_lengths, config)
        return [result[: config.n_best] for result in results]

    complete = [CompleteHypotheses(config) for _ in source_lengths]
    beam = _start(decoder, memory, config.limits(source_lengths))
    while len(beam.sentences):
        last_tokens = to_device(beam.tokens[:, :, -1].flatten(), beam.device)
        scores, beam.state = decoder.step(last_tokens, beam.state, beam.memory)
        at_limit = beam.limits <= beam.prefix_length  # only EOS may follow
        continuations = _continue(beam, scores, at_limit, complete, config.beam)
        _keep_open_sentences(decoder, beam, continuations, at_limit, complete)
    return [sentence.hypotheses[: config.n_best] for sentence in complete]


def _start(decoder: StepDecoder, memory: Memory, limits: Tensor) -> Beam:
    """Begin with one hypothesis for each sentence: BOS."""
    count = len(limits)
    return Beam(
        memory=memory,
        state=decoder.start(memory),
        sentences=torch.arange(count),
        limits=limits,
        tokens=torch.full((count, 1, 1), BOS),
        totals=torch.zeros(count, 1),
    )


def _continue(
    beam: Beam,
    scores: Tensor,
    at_limit: Tensor,
    complete: list[CompleteHypotheses],
    size: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Collect the hypotheses that end, and return the `size` best open continuations.

    scores (B·M, V) on the device, at_limit (B,) -> log-probabilities, origins and tokens, each
    (B, size), in main memory.
    """
    must_end = None
    if at_limit.any():
        must_end = to_device(at_limit, beam.device)
    # Of the 2·size continuations at most `size` end (one per hypothesis), so at least `size` stay
    # open.
    continuations = topk_continuations(
        scores,
        to_device(beam.totals, beam.device),
        count=2 * size,
        excluded=(PAD, BOS),
        must_end=must_end,
    )
    totals, origins, tokens = to_host_together(continuations)
    ends = tokens == EOS
    # An end counts only if it is among the best `size`.
    _collect(complete, beam, totals, origins, ends[:, :size])

    # Ended hypotheses do not continue. Only in a small vocabulary, where fewer continuations are
    # open than the beam holds, some of them fill the beam, with probability 0.
    totals = totals.masked_fill(ends, -torch.inf)
    open_first = torch.sort(ends.to(torch.int8), dim=1, stable=True).indices
    columns = open_first[:, :size]
    return (
        totals.gather(1, columns),
        origins.gather(1, columns),
        tokens.gather(1, columns),
    )


def _collect(
    complete: list[CompleteHypotheses],
    beam: Beam,
    totals: Tensor,
    origins: Tensor,
    ends: Tensor,
) -> None:
    """Add the hypotheses that end to the complete ones of their sentences.

    totals, origins: (B, continuations), best first. ends: (B, size) True where one of the best
    continuations, as many as the beam holds, is EOS; worse ones cannot end.
    """
    end_totals = totals[:, : ends.shape[1]]
    # A hypothesis that only fills the beam has probability 0, and so have its continuations.
    is_complete = ends & end_totals.isfinite()
    row_index, column_index = is_complete.nonzero(as_tuple=True)
    rows = row_index.tolist()
    columns = column_index.tolist()
    if not rows:
        return

    hypotheses = origins[rows, columns]
    prefixes = beam.tokens[rows, hypotheses, 1:].tolist()
    log_probabilities = totals[rows, columns].tolist()
    for row, tokens, log_probability in zip(rows, prefixes, log_probabilities):
        sentence = beam.sentences[row]
        complete[sentence].add(tokens, log_probability)


def _keep_open_sentences(
    decoder: StepDecoder,
    beam: Beam,
    continuations: tuple[Tensor, Tensor, Tensor],
    at_limit: Tensor,
    complete: list[CompleteHypotheses],
) -> None:
    """Append the new tokens, and remove the sentences that are done from the beam."""
    totals, origins, tokens = continuations
    staying = _open_rows(beam, totals[:, 0], at_limit, complete)
    keep = torch.tensor(compact_rows(staying), dtype=torch.long)
    rows = hypothesis_rows(origins, beam.tokens.shape[1])
    rows = rows[keep]
    beam.tokens = append_tokens(beam.tokens, rows, tokens[keep])
    beam.totals = totals[keep]

    device_rows = to_device(rows.flatten(), beam.device)
    some_are_done = len(staying) < len(beam.sentences)
    if not some_are_done:
        beam.state = decoder.reorder(beam.state, device_rows, None)
        return
    device_keep = to_device(keep, beam.device)
    beam.state = decoder.reorder(beam.state, device_rows, device_keep)
    beam.memory = beam.memory.select(device_keep)
    beam.sentences = beam.sentences[keep]
    beam.limits = beam.limits[keep]


def _open_rows(
    beam: Beam,
    best: Tensor,
    at_limit: Tensor,
    complete: list[CompleteHypotheses],
) -> list[int]:
    """Rows of the sentences that are not done. best: (B,) best open log-probabilities."""
    best_open = best.tolist()
    limits = beam.limits.tolist()
    rows = []
    for row, sentence in enumerate(beam.sentences.tolist()):
        if at_limit[row]:
            continue
        if not complete[sentence].is_done(best_open[row], limits[row]):
            rows.append(row)
    return rows
