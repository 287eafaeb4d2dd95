"""Several decoders that write one translation together."""

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
class Memories:
    """What each member attends to, of the same sentences; the number of rows may differ."""

    members: tuple[Memory, ...]

    @property
    def states(self) -> Tensor:
        """(B, K, D) of the first."""
        return self.members[0].states

    def select(self, index: Tensor) -> Memories:
        """Those of some of the sentences. index (N,)"""
        return Memories(tuple(memory.select(index) for memory in self.members))


class Ensemble:
    """A decoder for search whose next word has the mean of its members' probabilities; their words have the same numbers.

    `linear` is the mean itself, `log` the geometric one, brought to a sum of 1 by search: a word that one member excludes is excluded.
    """

    def __init__(self, decoders: Sequence[StepDecoder], *, average: Average = "log") -> None:
        self.decoders, self.average = tuple(decoders), average

    def start(self, memory: Memories, words: Tensor | None = None) -> tuple[Any, ...]:
        """words: the only ones that can be written, where they are chosen"""
        chosen = {} if words is None else {"words": words}
        return tuple(
            decoder.start(own, **chosen)
            for decoder, own in zip(self.decoders, memory.members, strict=True)
        )

    def step(
        self, tokens: Tensor, state: tuple[Any, ...], memory: Memories
    ) -> tuple[Tensor, tuple[Any, ...]]:
        """tokens (N,) -> log-probabilities (N, V) of the next word, up to a constant, and the states after it"""
        total, states = None, []
        for decoder, own, rows in zip(self.decoders, state, memory.members, strict=True):
            scores, after = decoder.step(tokens, own, rows)
            scores = scores.float().log_softmax(dim=1)
            states.append(after)
            if total is None:
                total = scores
            else:
                total = total + scores if self.average == "log" else torch.logaddexp(total, scores)
        count = len(self.decoders)
        return total / count if self.average == "log" else total - math.log(count), tuple(states)

    def reorder(
        self, state: tuple[Any, ...], rows: Tensor, sentences: Tensor | None
    ) -> tuple[Any, ...]:
        return tuple(
            decoder.reorder(own, rows, sentences)
            for decoder, own in zip(self.decoders, state, strict=True)
        )
