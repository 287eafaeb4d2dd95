"""Beam search over anything that can start, step and reorder; greedy is a beam of one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from pydantic import Field
from torch import Tensor

from polyglot.tasks.batch import BOS, EOS, PAD
from polyglot.decoding.continuations import likeliest, without_gaps
from polyglot.decoding.opennmt import opennmt_search
from polyglot.core.errors import ConfigError
from polyglot.model.memory import Memory
from polyglot.core.registry import ComponentConfig


class SearchConfig(ComponentConfig):
    """How translations are searched for."""

    beam: int = Field(5, ge=1, le=1000)
    """Hypotheses kept for each sentence; 1 is greedy."""
    length_penalty: float = Field(1.0, ge=0, le=10)
    """α: log-probabilities are divided by a penalty that grows with the length; 0 compares them as they are."""
    length_normalisation: Literal["power", "gnmt"] = "power"
    """The penalty of length l: `power` is l^α, `gnmt` is ((5 + l) / 6)^α (Wu et al. 2016, section 7)."""
    max_length_ratio: float = Field(2.0, ge=0, le=100)
    """A translation has at most this many pieces for each source piece …"""
    max_length_extra: int = Field(20, ge=1, le=10_000)
    """… and this many more …"""
    max_length: int = Field(1000, ge=1, le=100_000)
    """… but never more than this, however long the source is."""
    n_best: int = Field(1, ge=1)
    """Hypotheses returned for each sentence, at most `beam`."""
    select: int | None = Field(None, ge=1, le=1_000_000)
    """Search among so many words, the likeliest ones for the sentence, besides the special tokens; null searches among all."""
    select_by: Literal["prediction", "shortlist"] = "prediction"
    """What says which words are likely: the decoder's `word_prediction` from its initial state, or what `polyglot shortlist` counted."""
    select_for: Literal["sentence", "batch"] = "sentence"
    """Each sentence has words of its own, or those of all that are translated together; then a translation depends on its neighbours."""
    like: Literal["opennmt"] | None = None
    """Search as another program does, for the same translations to the letter; for models that were taken over from it."""

    @property
    def idle(self) -> set[str]:
        """The settings that say how words are selected, where none are."""
        return {"select_by", "select_for"} if self.select is None else set()

    def in_force(self) -> dict[str, Any]:
        """The settings that a search was made with: those of a selection only where there is one."""
        return self.model_dump(exclude=self.idle, exclude_none=True)

    def check_use(self, given: Collection[str]) -> None:
        """Raises ConfigError where settings that somebody gave have nothing to say."""
        if idle := sorted(self.idle & set(given)):
            raise ConfigError(f"search.{', search.'.join(idle)}: no words are selected; say among how many to search, as `select`")

    def limits(self, source_lengths: Tensor) -> Tensor:
        """The most pieces (B,) of a translation, for sources of so many pieces (B,)."""
        return ((source_lengths.cpu() * self.max_length_ratio).long() + self.max_length_extra).clamp(max=self.max_length)

    def penalty(self, length: int) -> float:
        """What a hypothesis of that many pieces, eos included, is divided by."""
        base = length if self.length_normalisation == "power" else (5 + length) / 6
        return base**self.length_penalty


class StepDecoder(Protocol):
    """What search knows of a decoder."""

    def start(self, memory: Memory) -> Any: ...

    def step(self, tokens: Tensor, state: Any, memory: Memory) -> tuple[Tensor, Any]: ...

    def reorder(self, state: Any, rows: Tensor, sentences: Tensor | None) -> Any: ...


@dataclass(frozen=True, slots=True, order=True)
class Hypothesis:
    """One translation of one sentence."""

    score: float
    """log-probability divided by the length penalty: what hypotheses are ranked by"""
    log_probability: float
    tokens: tuple[int, ...]
    """without bos and eos"""


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
        return self.hypotheses[self.config.n_best - 1].score >= best_live / self.config.penalty(limit + 1)


@torch.no_grad()
def search(decoder: StepDecoder, memory: Memory, source_lengths: Tensor, config: SearchConfig) -> list[list[Hypothesis]]:
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
        totals, origins, pieces = likeliest(scores, totals, count=2 * beam, never=(PAD, BOS), must_end=must_end)
        ends = pieces == EOS
        _collect(finished, alive, words, totals, origins, ends[:, :beam])
        totals = totals.masked_fill(ends, -torch.inf)  # where a small vocabulary offers fewer open ones than the beam holds
        open_first = torch.sort(ends.to(torch.int8), dim=1, stable=True).indices[:, :beam]
        totals, origins, pieces = (part.gather(1, open_first) for part in (totals, origins, pieces))
        best, longest = totals[:, 0].tolist(), limits.tolist()
        going_on = [
            row
            for row, sentence in enumerate(alive.tolist())
            if not at_limit[row] and not finished[sentence].enough(best[row], longest[row])
        ]
        keep = torch.tensor(without_gaps(going_on), dtype=torch.long, device=device)
        rows = (origins + torch.arange(len(alive), device=device).unsqueeze(1) * words.shape[1])[keep]
        words = torch.cat([words.flatten(0, 1)[rows], pieces[keep].unsqueeze(2)], dim=2)
        totals = totals[keep]
        left = None if len(going_on) == len(alive) else keep
        state = decoder.reorder(state, rows.flatten(), left)
        if left is not None:
            memory, alive, limits = memory.select(keep), alive[keep.cpu()], limits[keep.cpu()]
    return [each.hypotheses[: config.n_best] for each in finished]


def _collect(finished: list[Finished], alive: Tensor, words: Tensor, totals: Tensor, origins: Tensor, ends: Tensor) -> None:
    """Take over the hypotheses that ended."""
    rows, columns = (index.tolist() for index in (ends & totals[:, : ends.shape[1]].isfinite()).nonzero(as_tuple=True))
    if not rows:
        return
    chosen = words[rows, origins[rows, columns], 1:].tolist()
    for row, tokens, total in zip(rows, chosen, totals[rows, columns].tolist()):
        finished[alive[row]].add(tokens, total)
