"""Ensemble of decoders that write one translation together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from polyglot.decoding.base import StepDecoder
from polyglot.model.memory import Memory

Average = Literal["log", "linear"]


@dataclass(frozen=True, slots=True)
class EnsembleMemory:
    """Memories of the members for the same sentences; the number of rows may differ."""

    members: tuple[Memory, ...]

    @property
    def states(self) -> Tensor:
        """(B, K, D) states of the first member."""
        return self.members[0].states

    def select(self, index: Tensor) -> EnsembleMemory:
        """Memories of the sentences with these numbers (N,)."""
        selected = [memory.select(index) for memory in self.members]
        return EnsembleMemory(tuple(selected))


class EnsembleDecoder:
    """Decoder with the mean of its members' probabilities; members share one vocabulary.

    `linear` is the arithmetic mean. `log` is the geometric mean, which search normalises to a sum
    of 1: a word that one member excludes is excluded.
    """

    def __init__(
        self,
        decoders: Sequence[StepDecoder],
        *,
        average: Average = "log",
    ) -> None:
        self.decoders = tuple(decoders)
        self.average = average

    def start(self, memory: EnsembleMemory, words: Tensor | None = None) -> tuple[Any, ...]:
        """words: the selected words, if the vocabulary is restricted."""
        options = {}
        if words is not None:
            options["words"] = words  # the members are then of the type `SelectingDecoder`
        states = []
        for decoder, member_memory in zip(self.decoders, memory.members, strict=True):
            states.append(decoder.start(member_memory, **options))
        return tuple(states)

    def step(
        self,
        tokens: Tensor,
        state: tuple[Any, ...],
        memory: EnsembleMemory,
    ) -> tuple[Tensor, tuple[Any, ...]]:
        """tokens (N,) -> log-probabilities (N, V) up to a constant, and the next states."""
        total = None
        states = []
        members = zip(self.decoders, state, memory.members, strict=True)
        for decoder, member_state, member_memory in members:
            scores, next_state = decoder.step(tokens, member_state, member_memory)
            scores = scores.float().log_softmax(dim=1)
            states.append(next_state)
            if total is None:
                total = scores
            elif self.average == "log":
                total = total + scores
            else:
                total = torch.logaddexp(total, scores)

        count = len(self.decoders)
        if self.average == "log":
            mean = total / count
        else:
            mean = total - math.log(count)
        return mean, tuple(states)

    def reorder(
        self,
        state: tuple[Any, ...],
        rows: Tensor,
        sentences: Tensor | None,
    ) -> tuple[Any, ...]:
        states = []
        for decoder, member_state in zip(self.decoders, state, strict=True):
            states.append(decoder.reorder(member_state, rows, sentences))
        return tuple(states)
