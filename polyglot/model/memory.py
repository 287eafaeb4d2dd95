"""Memory: the tensors that a decoder attends to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from polyglot.layers.masks import masked_mean
from polyglot.tasks.transfers import to_device, to_host


@dataclass(frozen=True, slots=True)
class Memory:
    """K bridge rows of each sentence, or without a bridge the encoder states (then K = S)."""

    states: Tensor
    """(B, K, D)"""
    mask: Tensor | None = None
    """(B, K), or None if every row is real."""
    weights: Tensor | None = None
    """(B, K, S): weights of the source positions in each row, if the bridge has them."""
    final_states: tuple[Tensor, ...] | None = None
    """(h,) or (h, c), each (B, layers, D): final states that a recurrent encoder passes to the
    decoder; they bypass the bridge."""
    visible: Tensor | None = None
    """(B, K): rows that the attention of a decoder sees; None if it sees every real row."""
    context: Tensor | None = None
    """(B, C): context of the source words from a context gate of the encoder; it bypasses the
    bridge."""

    @property
    def attention_mask(self) -> Tensor | None:
        """Mask (B, K) of the rows that the attention of a decoder sees, or None for all rows."""
        return self.mask if self.visible is None else self.visible

    def mean(self) -> Tensor:
        """Mean of the real rows (B, D); by default, decoders start from it."""
        return masked_mean(self.states, self.mask)

    def select(self, index: Tensor) -> Memory:
        """Return the memory of the sentences with these indices (N,)."""
        final_states = None
        if self.final_states is not None:
            final_states = tuple(part.index_select(0, index) for part in self.final_states)
        return Memory(
            self.states.index_select(0, index),
            mask=None if self.mask is None else self.mask.index_select(0, index),
            weights=None if self.weights is None else self.weights.index_select(0, index),
            final_states=final_states,
            visible=None if self.visible is None else self.visible.index_select(0, index),
            context=None if self.context is None else self.context.index_select(0, index),
        )

    def split(self) -> list[Memory]:
        """Split into single sentences (1, K, D), without padding rows, which are the last rows.

        The weights are dropped.
        """
        if self.mask is None:
            counts = [self.states.shape[1]] * len(self.states)
        else:
            counts = to_host(self.mask.sum(dim=1)).tolist()

        memories = []
        for row, count in enumerate(counts):
            sentence = slice(row, row + 1)
            final_states = None
            if self.final_states is not None:
                final_states = tuple(part[sentence] for part in self.final_states)
            if self.visible is None:
                visible = None
            else:
                visible = self.visible[sentence, :count]
            states = self.states[sentence, :count]
            memory = Memory(
                states,
                final_states=final_states,
                visible=visible,
                context=None if self.context is None else self.context[sentence],
            )
            memories.append(memory)
        return memories

    @classmethod
    def join(cls, sentences: Sequence[Memory]) -> Memory:
        """Join the memories of single sentences into one batch; the inverse of `split`."""
        counts = torch.tensor([sentence.states.shape[1] for sentence in sentences])
        rows = [sentence.states.squeeze(0) for sentence in sentences]
        states = pad_sequence(rows, batch_first=True)
        mask = torch.arange(states.shape[1]) < counts.unsqueeze(1)

        final_states = None
        if all(sentence.final_states is not None for sentence in sentences):
            by_part = zip(*(sentence.final_states for sentence in sentences))
            final_states = tuple(torch.cat(parts) for parts in by_part)

        visible = None
        if all(sentence.visible is not None for sentence in sentences):
            visible_rows = [sentence.visible.squeeze(0) for sentence in sentences]
            visible = pad_sequence(visible_rows, batch_first=True)

        context = None
        if all(sentence.context is not None for sentence in sentences):
            context = torch.cat([sentence.context for sentence in sentences])

        return cls(
            states,
            mask=None if mask.all() else to_device(mask, states.device),
            final_states=final_states,
            visible=visible,
            context=context,
        )
