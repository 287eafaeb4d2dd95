"""Context of each word, from which the role layer (`model/options/roles.py`) computes its roles.

It is the whole sentence on the source side, and the prefix on the target side.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from polyglot.layers.recurrent import BidirectionalLayer, LayerStates, RecurrentSteps, run_layer


class LstmContext(nn.Module):
    """Contexts c_1 … c_T of a bidirectional LSTM, or of one from left to right if `causal`."""

    class State(NamedTuple):
        stepper: RecurrentSteps
        recurrence: LayerStates

    def __init__(self, *, input_size: int, size: int, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.input_size = input_size
        self.size = size
        if causal:
            self.forwards = nn.LSTM(input_size, size, batch_first=True)
        else:
            self.both = BidirectionalLayer("lstm", input_size=input_size, size=size)

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """embedded (B, S, E), mask (B, S) -> (B, S, C)"""
        if self.causal:
            return run_layer(self.forwards, embedded)
        return self.both(embedded, mask)

    def before_first(self, embedded: Tensor) -> Tensor:
        """Context before the first word (B, 1, C): the initial state of the LSTM."""
        return embedded.new_zeros(len(embedded), 1, self.size)

    def start(self, rows: int, like: Tensor) -> State:
        """State before the first word, on the device of the tensor `like`; rows: hypotheses N."""
        stepper = RecurrentSteps(self.forwards, word_size=self.input_size)
        zeros = like.new_zeros(rows, self.size)
        return self.State(stepper, stepper.start(zeros))

    def step(self, words: Tensor, state: State) -> tuple[Tensor, State]:
        """words (N, E) -> contexts (N, C) and the next state"""
        no_other_inputs = words[:, :0]
        projected = state.stepper.project_words(words)
        context, recurrence = state.stepper(projected, no_other_inputs, state.recurrence)
        return context, state._replace(recurrence=recurrence)

    def reorder(self, state: State, rows: Tensor) -> State:
        recurrence = []
        for layer in state.recurrence:
            parts = [part.index_select(0, rows) for part in layer]
            recurrence.append(tuple(parts))
        return state._replace(recurrence=tuple(recurrence))


class CnnContext(nn.Module):
    """Contexts c_t = ReLU(convolution) of the words around t, or of words up to t if `causal`."""

    def __init__(self, *, input_size: int, size: int, causal: bool, width: int) -> None:
        super().__init__()
        self.before = width - 1 if causal else width // 2
        self.after = width - 1 - self.before
        self.convolution = nn.Conv1d(input_size, size, width)

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """embedded (B, S, E), mask (B, S) -> (B, S, C)"""
        words = embedded * mask.unsqueeze(-1)
        channels = words.transpose(1, 2)  # (B, E, S)
        padded = functional.pad(channels, (self.before, self.after))
        contexts = self.convolution(padded).relu()
        return contexts.transpose(1, 2)

    def before_first(self, embedded: Tensor) -> Tensor:
        """Context before the first word (B, 1, C): the convolution of no words."""
        bias = self.convolution.bias.relu()
        return bias.to(embedded.dtype).expand(len(embedded), 1, -1)

    def start(self, rows: int, like: Tensor) -> Tensor:
        """Window of words before the first word: zeros (N, width - 1, E)."""
        return like.new_zeros(rows, self.before, self.convolution.in_channels)

    def step(self, words: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """words (N, E) -> contexts (N, C) and the next window"""
        window = torch.cat([state, words.unsqueeze(1)], dim=1)
        contexts = self.convolution(window.transpose(1, 2)).relu()
        next_window = window[:, 1:]
        return contexts.squeeze(2), next_window

    def reorder(self, state: Tensor, rows: Tensor) -> Tensor:
        return state.index_select(0, rows)
