"""What a word knows of the words around it: of the whole sentence on the source side, of those before it on the target side."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from polyglot.layers.recurrent import BidirectionalLayer, LayerStates, Stepper


class LstmContext(nn.Module):
    """c_1 … c_T of an LSTM: in both directions, or, where a word must not see what follows, from left to right."""

    class State(NamedTuple):
        stepper: Stepper
        recurrence: LayerStates

    def __init__(self, *, input_size: int, size: int, causal: bool) -> None:
        super().__init__()
        self.causal, self.input_size, self.size = causal, input_size, size
        if causal:
            self.forwards = nn.LSTM(input_size, size, batch_first=True)
        else:
            self.both = BidirectionalLayer("lstm", input_size=input_size, size=size)

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """embedded (B, S, E), mask (B, S) -> (B, S, C)"""
        return self.forwards(embedded)[0] if self.causal else self.both(embedded, mask)

    def start(self, rows: int, like: Tensor) -> State:
        """Before the first word of so many hypotheses, on the device of another tensor."""
        stepper = Stepper(self.forwards, word_size=self.input_size)
        return self.State(stepper, stepper.start(like.new_zeros(rows, self.size)))

    def step(self, words: Tensor, state: State) -> tuple[Tensor, State]:
        """words (N, E) -> (N, C) and the state after them"""
        context, recurrence = state.stepper(
            state.stepper.read(words), words[:, :0], state.recurrence
        )
        return context, state._replace(recurrence=recurrence)

    def reorder(self, state: State, rows: Tensor) -> State:
        return state._replace(
            recurrence=tuple(
                tuple(part.index_select(0, rows) for part in layer) for layer in state.recurrence
            )
        )


class CnnContext(nn.Module):
    """c_t = ReLU(convolution) of the words around t, or of word t and those before it."""

    def __init__(self, *, input_size: int, size: int, causal: bool, width: int) -> None:
        super().__init__()
        self.before = width - 1 if causal else width // 2
        self.after = width - 1 - self.before
        self.convolution = nn.Conv1d(input_size, size, width)

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """embedded (B, S, E), mask (B, S) -> (B, S, C)"""
        words = (embedded * mask.unsqueeze(-1)).transpose(1, 2)
        return (
            self.convolution(functional.pad(words, (self.before, self.after)))
            .relu()
            .transpose(1, 2)
        )

    def start(self, rows: int, like: Tensor) -> Tensor:
        """The last words of so many hypotheses before the first: (N, width - 1, E) zeros."""
        return like.new_zeros(rows, self.before, self.convolution.in_channels)

    def step(self, words: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """words (N, E) -> (N, C) and the last words after them"""
        window = torch.cat([state, words.unsqueeze(1)], dim=1)
        return self.convolution(window.transpose(1, 2)).relu().squeeze(2), window[:, 1:]

    def reorder(self, state: Tensor, rows: Tensor) -> Tensor:
        return state.index_select(0, rows)
