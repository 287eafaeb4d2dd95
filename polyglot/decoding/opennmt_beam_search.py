"""Beam search of OpenNMT-py 3.0.4, for identical translations of converted models.

It differs from `polyglot.decoding.beam_search.search` in five points
(`onmt/translate/beam_search.py`):

- PAD and BOS may be chosen.
- At the length limit, open hypotheses end as they are; `search` lets only EOS follow, and adds its
  log-probability.
- Ended hypotheses also take places in the beam, so in the next step fewer hypotheses are open.
- It divides the log-probability of a hypothesis of l tokens, EOS included, by (l + 1)^α, not by
  l^α.
- A sentence is done when at some step the best continuation was EOS, and a whole beam is
  complete.
"""

from __future__ import annotations

import torch
from torch import Tensor

from polyglot.decoding.base import Hypothesis, SearchConfig, StepDecoder
from polyglot.decoding.topk import (
    append_tokens,
    compact_rows,
    hypothesis_rows,
    topk_continuations,
)
from polyglot.model.memory import Memory
from polyglot.tasks.batch import BOS, EOS
from polyglot.tasks.transfers import to_device, to_host_together

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
        prefixes: Tensor,
        penalty: float,
    ) -> None:
        """Add the hypotheses that end. prefixes: (hypotheses, length) tokens, BOS first."""
        self.best_has_ended |= ends[0]
        for hypothesis, is_end in enumerate(ends):
            if is_end:
                total = totals[hypothesis]
                score = total / penalty
                tokens = prefixes[hypothesis, 1:].tolist()
                translation = tuple(token for token in tokens if token != EOS)
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
    # Hypotheses are in main memory, as in `beam_search`.
    prefixes = torch.full((len(sentences), 1, 1), BOS)  # (B, hypotheses, length)
    totals = torch.zeros(len(sentences), 1)
    while sentences:
        token_count = prefixes.shape[2]  # after BOS, with the new token of this step
        last_tokens = to_device(prefixes[:, :, -1].flatten(), device)
        scores, state = decoder.step(last_tokens, state, memory)
        device_totals = to_device(totals, device)
        continuations = topk_continuations(scores, device_totals, count=config.beam)
        totals, origins, tokens = to_host_together(continuations)
        rows = hypothesis_rows(origins, prefixes.shape[1])
        prefixes = append_tokens(prefixes, rows, tokens)

        at_limit = limits[sentences] <= token_count
        ends = tokens == EOS
        ends |= at_limit.unsqueeze(1)
        penalty = config.penalty(token_count + 1)
        sentence_results = [results[sentence] for sentence in sentences]
        _add_ends(sentence_results, ends, totals, prefixes, penalty)
        totals = totals.masked_fill(ends, ENDED)

        staying = []
        for row, result in enumerate(sentence_results):
            if not result.is_done and not at_limit[row]:
                staying.append(row)
        keep = None
        if len(staying) < len(sentences):
            order = compact_rows(staying)
            host_keep = torch.tensor(order, dtype=torch.long)
            prefixes = prefixes[host_keep]
            totals = totals[host_keep]
            rows = rows[host_keep]
            keep = to_device(host_keep, device)
            memory = memory.select(keep)
            sentences = [sentences[row] for row in order]
        state = decoder.reorder(state, to_device(rows.flatten(), device), keep)
    return [result.best_first() for result in results]


def _add_ends(
    results: list[SentenceResult],
    ends: Tensor,
    totals: Tensor,
    prefixes: Tensor,
    penalty: float,
) -> None:
    """Add the hypotheses that end to the results of their sentences.

    ends, totals (B, hypotheses); prefixes (B, hypotheses, length)
    """
    end_lists = ends.tolist()
    total_lists = totals.tolist()
    for row, result in enumerate(results):
        result.add_ends(end_lists[row], total_lists[row], prefixes[row], penalty)
