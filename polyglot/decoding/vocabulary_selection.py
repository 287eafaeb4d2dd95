"""Search among few words: the output layer shrinks to those that a sentence, or its batch, is likely to need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from polyglot.decoding.base import Hypothesis, StepDecoder
from polyglot.model.memory import Memory
from polyglot.tasks.batch import SPECIAL_TOKENS


def likeliest(scores: Tensor, count: int) -> Tensor:
    """The numbers of the special tokens and of the `count` likeliest other words of each sentence, in ascending order.

    scores (B, V) -> (B, K + 4), or (B, V) where there are no more
    """
    scores = scores.clone()
    scores[:, : len(SPECIAL_TOKENS)] = torch.inf
    chosen = scores.topk(
        min(count + len(SPECIAL_TOKENS), scores.shape[1]), dim=1, sorted=False
    ).indices
    return chosen.sort(dim=1).values


def union(words: Tensor) -> Tensor:
    """Every word that one of the sentences has. words (B, K) -> (U,), in ascending order"""
    return words.unique()


class SelectedState(NamedTuple):
    """Where N hypotheses stand."""

    body: Any
    """what the decoder keeps of them"""
    words: Tensor
    """(B, K) of each sentence, or (U,) of all"""


class Selected:
    """A decoder whose vocabulary is the chosen words: search sees them numbered from 0, the special tokens first as everywhere."""

    def __init__(self, decoder: StepDecoder, words: Tensor) -> None:
        """words: (B, K) of each sentence or (U,) of all, ascending, the special tokens among them"""
        self.decoder, self.words = decoder, words

    def start(self, memory: Memory) -> SelectedState:
        return SelectedState(self.decoder.start(memory, words=self.words), self.words)

    def step(
        self, tokens: Tensor, state: SelectedState, memory: Memory
    ) -> tuple[Tensor, SelectedState]:
        """tokens (N,) as search numbers them -> scores (N, K) and the state after them"""
        words = state.words
        if words.dim() == 1:
            tokens = words[tokens]
        else:
            tokens = words.gather(1, tokens.view(len(words), -1)).flatten()
        scores, body = self.decoder.step(tokens, state.body, memory)
        return scores, state._replace(body=body)

    def reorder(
        self, state: SelectedState, rows: Tensor, sentences: Tensor | None
    ) -> SelectedState:
        words = (
            state.words
            if sentences is None or state.words.dim() == 1
            else state.words.index_select(0, sentences)
        )
        return SelectedState(self.decoder.reorder(state.body, rows, sentences), words)

    def written(self, found: Sequence[Sequence[Hypothesis]]) -> list[list[Hypothesis]]:
        """What search found, in the pieces of the whole vocabulary."""
        words = self.words.tolist()
        numbers = [words] * len(found) if self.words.dim() == 1 else words
        return [
            [replace(one, tokens=tuple(own[token] for token in one.tokens)) for one in hypotheses]
            for own, hypotheses in zip(numbers, found, strict=True)
        ]
