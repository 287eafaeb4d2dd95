"""Beam search over anything that can start, step and reorder; greedy is a beam of one."""

from __future__ import annotations

import torch
from torch import Tensor

from polyglot.decoding.base import Hypothesis, SearchConfig, StepDecoder
from polyglot.decoding.opennmt_beam_search import opennmt_search
from polyglot.decoding.topk import likeliest, without_gaps
from polyglot.model.memory import Memory
from polyglot.tasks.batch import BOS, EOS, PAD


class Finished:
    """The best complete hypotheses of one sentence so far."""

    def __init__(self, config: SearchConfig) -> None:
        self.config = config
        self.hypotheses: list[Hypothesis] = []

    def add(self, tokens: list[int], log_probability: float) -> None:
        score = log_probability / self.config.penalty(len(tokens) + 1)
        self.hypotheses.append(Hypothesis(score, log_probability, tuple(tokens)))
        self.hypotheses.sort(reverse=True)

    def enough(self, best_live: float, limit: int) -> bool:
        """Whether a whole beam is complete, or what is still open cannot enter the n best even if it grew to its limit at no cost."""
        if len(self.hypotheses) >= self.config.beam:
            return True
        if len(self.hypotheses) < self.config.n_best:
            return False
        return self.hypotheses[self.config.n_best - 1].score >= best_live / self.config.penalty(
            limit + 1
        )


@torch.no_grad()
def search(
    decoder: StepDecoder, memory: Memory, source_lengths: Tensor, config: SearchConfig
) -> list[list[Hypothesis]]:
    """The n best hypotheses of each sentence, best first.

    memory (B, K, D), source_lengths (B,) in pieces. Sentences that are done leave the batch at once, and what happens to a
    sentence does not depend on the others.
    """
    if config.like == "opennmt":
        found = opennmt_search(decoder, memory, source_lengths, config)
        return [[Hypothesis(*one) for one in hypotheses[: config.n_best]] for hypotheses in found]
    device, beam = memory.states.device, config.beam
    finished = [Finished(config) for _ in source_lengths]
    alive = torch.arange(len(source_lengths))  # which sentence each group of rows is
    limits = config.limits(source_lengths)
    state = decoder.start(memory)
    words = torch.full((len(alive), 1, 1), BOS, device=device)  # (B, hypotheses, length)
    totals = torch.zeros(len(alive), 1, device=device)
    while len(alive):
        scores, state = decoder.step(words[:, :, -1].flatten(), state, memory)
        length = words.shape[2]  # bos counts for the eos to come
        at_limit = limits < length
        must_end = at_limit.to(device) if at_limit.any() else None
        # Of twice the beam at most half are ends, so that `beam` stay open.
        totals, origins, pieces = likeliest(
            scores, totals, count=2 * beam, never=(PAD, BOS), must_end=must_end
        )
        ends = pieces == EOS
        _collect(finished, alive, words, totals, origins, ends[:, :beam])
        totals = totals.masked_fill(
            ends, -torch.inf
        )  # where a small vocabulary offers fewer open ones than the beam holds
        open_first = torch.sort(ends.to(torch.int8), dim=1, stable=True).indices[:, :beam]
        totals, origins, pieces = (part.gather(1, open_first) for part in (totals, origins, pieces))
        best, longest = totals[:, 0].tolist(), limits.tolist()
        going_on = [
            row
            for row, sentence in enumerate(alive.tolist())
            if not at_limit[row] and not finished[sentence].enough(best[row], longest[row])
        ]
        keep = torch.tensor(without_gaps(going_on), dtype=torch.long, device=device)
        rows = (origins + torch.arange(len(alive), device=device).unsqueeze(1) * words.shape[1])[
            keep
        ]
        words = torch.cat([words.flatten(0, 1)[rows], pieces[keep].unsqueeze(2)], dim=2)
        totals = totals[keep]
        left = None if len(going_on) == len(alive) else keep
        state = decoder.reorder(state, rows.flatten(), left)
        if left is not None:
            memory, alive, limits = memory.select(keep), alive[keep.cpu()], limits[keep.cpu()]
    return [each.hypotheses[: config.n_best] for each in finished]


def _collect(
    finished: list[Finished],
    alive: Tensor,
    words: Tensor,
    totals: Tensor,
    origins: Tensor,
    ends: Tensor,
) -> None:
    """Take over the hypotheses that ended."""
    rows, columns = (
        index.tolist()
        for index in (ends & totals[:, : ends.shape[1]].isfinite()).nonzero(as_tuple=True)
    )
    if not rows:
        return
    chosen = words[rows, origins[rows, columns], 1:].tolist()
    for row, tokens, total in zip(rows, chosen, totals[rows, columns].tolist()):
        finished[alive[row]].add(tokens, total)
