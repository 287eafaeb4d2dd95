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

from polyglot.decoding.base import Hypothesis, SearchConfig, StepDecoder
from polyglot.decoding.topk import (
    append_pieces,
    compact_rows,
    hypothesis_rows,
    topk_continuations,
)
from polyglot.model.memory import Memory
from polyglot.tasks.batch import BOS, EOS

ENDED = -1e10
"""Log-probability of an ended hypothesis: it continues only if no other hypothesis is left."""


class SentenceResult:
    """Complete hypotheses of one sentence."""

    def __init__(self, beam: int) -> None:
        self.beam = beam
        self.hypotheses: list[Hypothesis] = []
        self.best_has_ended = False

    @property
    def is_done(self) -> bool:
        return self.best_has_ended and len(self.hypotheses) >= self.beam

    def add_ends(
        self,
        ends: list[bool],
        totals: list[float],
        words: Tensor,
        penalty: float,
    ) -> None:
        """Add the hypotheses that end. words: (hypotheses, length) pieces, BOS first."""
        self.best_has_ended |= ends[0]
        for hypothesis, is_end in enumerate(ends):
            if is_end:
                total = totals[hypothesis]
                score = total / penalty
                pieces = words[hypothesis, 1:].tolist()
                translation = tuple(piece for piece in pieces if piece != EOS)
                self.hypotheses.append(Hypothesis(score, total, translation))

    def best_first(self) -> list[Hypothesis]:
        """Hypotheses by score; equal scores stay in the order in which they ended."""
        return sorted(self.hypotheses, key=lambda hypothesis: hypothesis.score, reverse=True)


@torch.no_grad()
def opennmt_search(
    decoder: StepDecoder,
    memory: Memory,
    source_lengths: Tensor,
    config: SearchConfig,
) -> list[list[Hypothesis]]:
    """Return the complete hypotheses of each sentence, best first.

    memory (B, K, D), source_lengths (B,).
    """
    device = memory.states.device
    limits = config.limits(source_lengths)
    results = [SentenceResult(config.beam) for _ in source_lengths]
    sentences = list(range(len(results)))
    state = decoder.start(memory)
    words = torch.full((len(sentences), 1, 1), BOS, device=device)  # (B, hypotheses, length)
    totals = torch.zeros(len(sentences), 1, device=device)
    while sentences:
        length = words.shape[2]
        last_words = words[:, :, -1].flatten()
        scores, state = decoder.step(last_words, state, memory)
        totals, origins, pieces = topk_continuations(scores, totals, count=config.beam)
        rows = hypothesis_rows(origins, words.shape[1])
        words = append_pieces(words, rows, pieces)

        at_limit = limits[sentences] <= length
        ends = pieces == EOS
        ends |= at_limit.to(device).unsqueeze(1)
        penalty = config.penalty(length + 1)
        sentence_results = [results[sentence] for sentence in sentences]
        _add_ends(sentence_results, ends, totals, words, penalty)
        totals = totals.masked_fill(ends, ENDED)

        staying = []
        for row, result in enumerate(sentence_results):
            if not result.is_done and not at_limit[row]:
                staying.append(row)
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


def _add_ends(
    results: list[SentenceResult],
    ends: Tensor,
    totals: Tensor,
    words: Tensor,
    penalty: float,
) -> None:
    """Add the hypotheses that end to the results of their sentences.

    ends, totals (B, hypotheses); words (B, hypotheses, length)
    """
    end_lists = ends.tolist()
    total_lists = totals.tolist()
    for row, result in enumerate(results):
        result.add_ends(end_lists[row], total_lists[row], words[row], penalty)
