"""Beam search as OpenNMT-py 3.0.4 does it, so that a model that was taken over translates to the letter as it did there.

It differs from `search` in three things. The beam likeliest continuations are kept, ends among them, so that what goes on is fewer
than the beam for a step; a hypothesis of l pieces is divided by (l + 1)^α; and a sentence is done when the likeliest continuation was
an end once and as many hypotheses as the beam are complete (`onmt/translate/beam_search.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from polyglot.decoding.topk import likeliest, without_gaps
from polyglot.model.memory import Memory
from polyglot.tasks.batch import BOS, EOS

if TYPE_CHECKING:
    from polyglot.decoding.base import SearchConfig, StepDecoder

ENDED = -1e10
"""The log-probability of what has ended: it goes on only where nothing else is left."""


@torch.no_grad()
def opennmt_search(
    decoder: StepDecoder, memory: Memory, source_lengths: Tensor, config: SearchConfig
) -> list[list[tuple[float, float, tuple[int, ...]]]]:
    """memory (B, K, D), source_lengths (B,) -> score, log-probability and pieces of each sentence's complete hypotheses, best first"""
    device, beam = memory.states.device, config.beam
    complete: list[list[tuple[float, float, tuple[int, ...]]]] = [[] for _ in source_lengths]
    alive, top_ended = list(range(len(complete))), [False] * len(complete)
    limits = config.limits(source_lengths)
    state = decoder.start(memory)
    words = torch.full((len(alive), 1, 1), BOS, device=device)  # (B, hypotheses, length)
    totals = torch.zeros(len(alive), 1, device=device)
    while alive:
        scores, state = decoder.step(words[:, :, -1].flatten(), state, memory)
        length = words.shape[2]
        totals, origins, pieces = likeliest(scores, totals, count=beam)
        rows = origins + torch.arange(len(alive), device=device).unsqueeze(1) * words.shape[1]
        words = torch.cat([words.flatten(0, 1)[rows], pieces.unsqueeze(2)], dim=2)
        at_limit = limits[alive] <= length
        ends = (pieces == EOS) | at_limit.to(device).unsqueeze(1)
        penalty = config.penalty(length + 1)
        going_on = []
        for row, (sentence, ended, values) in enumerate(zip(alive, ends.tolist(), totals.tolist())):
            top_ended[sentence] |= ended[0]
            for column, total in enumerate(values):
                if ended[column]:
                    found = [piece for piece in words[row, column, 1:].tolist() if piece != EOS]
                    complete[sentence].append((total / penalty, total, tuple(found)))
            if not (top_ended[sentence] and len(complete[sentence]) >= beam) and not at_limit[row]:
                going_on.append(row)
        totals = totals.masked_fill(ends, ENDED)
        going_on = without_gaps(going_on)
        left = (
            None
            if len(going_on) == len(alive)
            else torch.tensor(going_on, dtype=torch.long, device=device)
        )
        if left is not None:
            words, totals, rows, alive, memory = (
                words[left],
                totals[left],
                rows[left],
                [alive[row] for row in going_on],
                memory.select(left),
            )
        state = decoder.reorder(state, rows.flatten(), left)
    return [sorted(hypotheses, key=lambda one: one[0], reverse=True) for hypotheses in complete]
