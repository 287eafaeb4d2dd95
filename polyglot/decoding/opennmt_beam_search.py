"""Beam search of OpenNMT-py 3.0.4, for identical translations of converted models.

It differs from `polyglot.decoding.beam_search.search` in three points
(`onmt/translate/beam_search.py`):

- It keeps the best continuations of a beam, ends among them. So fewer hypotheses than the beam
  continue for one step.
- It divides a hypothesis of l pieces by (l + 1)^α.
- A sentence is done when the best continuation was an end once, and a whole beam is complete.
"""

from __future__ import annotations

import torch
from torch import Tensor

from polyglot.decoding.base import SearchConfig, StepDecoder
from polyglot.decoding.topk import compact_rows, topk_continuations
from polyglot.model.memory import Memory
from polyglot.tasks.batch import BOS, EOS

ENDED = -1e10
"""Log-probability of an ended hypothesis: it continues only if no other hypothesis is left."""


class SentenceResult:
    """Complete hypotheses of one sentence as (score, log-probability, pieces)."""

    def __init__(self, beam: int) -> None:
        self.beam = beam
        self.hypotheses: list[tuple[float, float, tuple[int, ...]]] = []
        self.best_has_ended = False

    @property
    def is_done(self) -> bool:
        return self.best_has_ended and len(self.hypotheses) >= self.beam

    def add_ends(
        self, ends: list[bool], totals: list[float], words: Tensor, penalty: float
    ) -> None:
        """Add the hypotheses that end. words: (hypotheses, length) pieces, BOS first."""
        self.best_has_ended |= ends[0]
        for hypothesis, (is_end, total) in enumerate(zip(ends, totals)):
            if is_end:
                pieces = words[hypothesis, 1:].tolist()
                translation = tuple(piece for piece in pieces if piece != EOS)
                self.hypotheses.append((total / penalty, total, translation))

    def best_first(self) -> list[tuple[float, float, tuple[int, ...]]]:
        return sorted(self.hypotheses, key=lambda hypothesis: hypothesis[0], reverse=True)


@torch.no_grad()
def opennmt_search(
    decoder: StepDecoder, memory: Memory, source_lengths: Tensor, config: SearchConfig
) -> list[list[tuple[float, float, tuple[int, ...]]]]:
    """Return (score, log-probability, pieces) of the complete hypotheses of each sentence.

    memory (B, K, D), source_lengths (B,). Hypotheses come best first.
    """
    device = memory.states.device
    results = [SentenceResult(config.beam) for _ in source_lengths]
    sentences = list(range(len(results)))
    limits = config.limits(source_lengths)
    state = decoder.start(memory)
    words = torch.full((len(sentences), 1, 1), BOS, device=device)  # (B, hypotheses, length)
    totals = torch.zeros(len(sentences), 1, device=device)
    while sentences:
        scores, state = decoder.step(words[:, :, -1].flatten(), state, memory)
        length = words.shape[2]
        totals, origins, pieces = topk_continuations(scores, totals, count=config.beam)
        sentence_starts = torch.arange(len(sentences), device=device) * words.shape[1]
        rows = origins + sentence_starts.unsqueeze(1)
        words = torch.cat([words.flatten(0, 1)[rows], pieces.unsqueeze(2)], dim=2)

        at_limit = limits[sentences] <= length
        ends = (pieces == EOS) | at_limit.to(device).unsqueeze(1)
        penalty = config.penalty(length + 1)
        staying = []
        ends_and_totals = zip(sentences, ends.tolist(), totals.tolist())
        for row, (sentence, row_ends, row_totals) in enumerate(ends_and_totals):
            results[sentence].add_ends(row_ends, row_totals, words[row], penalty)
            if not results[sentence].is_done and not at_limit[row]:
                staying.append(row)
        totals = totals.masked_fill(ends, ENDED)

        keep = None
        if len(staying) < len(sentences):
            order = compact_rows(staying)
            keep = torch.tensor(order, dtype=torch.long, device=device)
            words = words[keep]
            totals = totals[keep]
            rows = rows[keep]
            memory = memory.select(keep)
            sentences = [sentences[row] for row in order]
        state = decoder.reorder(state, rows.flatten(), keep)
    return [result.best_first() for result in results]
