"""Attention of decoder states over the memory: Luong's `dot` and `general`, Bahdanau's `mlp`."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from polyglot.layers.accumulated_linear import AccumulatedLinear
from polyglot.layers.linear import Linear, linear
from polyglot.layers.masks import masked_softmax

KINDS = ("dot", "general", "mlp")
KEPT_NUMBERS = 2**20
"""Numbers of a hidden layer of `mlp` that the backward pass may keep: 4 MiB in float32."""
SLICE_NUMBERS = 2**23
"""A larger hidden layer is computed in slices of this number of numbers: 32 MiB in float32."""


class Attention(nn.Module):
    """Attention over a memory: context vectors and attention weights.

    dot: q·m; general: q·W·m (Luong et al. 2015, section 3.1); mlp: v·tanh(W q + U m) (Bahdanau et
    al. 2015, appendix A.1.2). A sentence can have any number of queries: target positions in
    training, hypotheses in beam search.
    """

    def __init__(self, kind: str, *, query_size: int, memory_size: int) -> None:
        super().__init__()
        assert kind in KINDS, kind
        assert kind != "dot" or query_size == memory_size, "dot attention needs equal sizes"
        self.kind = kind
        if kind == "general":
            self.query = Linear(query_size, memory_size, bias=False)
        elif kind == "mlp":
            self.query = Linear(query_size, memory_size, bias=False)
            self.key = Linear(memory_size, memory_size)
            self.energy = Linear(memory_size, 1, bias=False)

    def keys(self, memory: Tensor) -> Tensor:
        """Project the memory once: (B, K, D) -> (B, K, Q), or (B, K, D) for `mlp`."""
        if self.kind == "mlp":
            return self.key(memory)
        if self.kind == "general":
            # q·W·m: W is applied to the memory, once for all queries.
            return linear(memory, self.query.weight.t())
        return memory

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        """Return contexts (B, T, ·) and weights (B, T, K).

        queries (B, T, Q), keys and values (B, K, ·) of the memory, mask (B, K) or None.
        """
        if self.kind == "mlp":
            scores = self.energies(queries, keys)
        else:
            scores = queries @ keys.mT
        weights = masked_softmax(scores, None if mask is None else mask.unsqueeze(1))
        return weights @ values, weights

    def energies(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Scores of `mlp` before the softmax: queries (B, T, Q), keys (B, K, D) -> (B, T, K).

        A large hidden layer (B, T, K, D) is not kept: it is computed a few positions at a time, and
        once more in the backward pass.
        """
        numbers_of_position = keys.numel()
        is_small = queries.shape[1] * numbers_of_position <= KEPT_NUMBERS
        if is_small or not torch.is_grad_enabled():
            return self._energies(queries, keys)

        positions = max(1, SLICE_NUMBERS // numbers_of_position)
        scores = []
        for part in queries.split(positions, dim=1):
            scores.append(
                checkpoint(
                    self._energies, part, keys, use_reentrant=False, preserve_rng_state=False
                )
            )
        return torch.cat(scores, dim=1)

    def _energies(self, queries: Tensor, keys: Tensor) -> Tensor:
        hidden = torch.tanh(self.query(queries).unsqueeze(2) + keys.unsqueeze(1))
        return self.energy(hidden).squeeze(-1)


class AttentionSteps:
    """Attention for one position at a time; the memory gets its gradient after the last one."""

    def __init__(self, attention: Attention, keys: Tensor, values: Tensor) -> None:
        """keys and values (B, K, ·) of the memory"""
        self.attention = attention
        self.keys = keys
        self.values = values
        if attention.kind == "mlp":
            self.scores = partial(attention.energies, keys=keys)
        else:
            self.scores = AccumulatedLinear(keys)
        self.contexts = AccumulatedLinear(values.mT)

    def __call__(self, queries: Tensor, mask: Tensor | None) -> Tensor:
        """queries (B·M, Q), M for each sentence, mask (B, K) or None -> contexts (B·M, ·)"""
        queries = queries.unflatten(0, (len(self.keys), -1))
        weights = masked_softmax(self.scores(queries), None if mask is None else mask.unsqueeze(1))
        return self.contexts(weights).flatten(0, 1)

    def select(self, sentences: Tensor) -> AttentionSteps:
        """Keep these sentences (B')."""
        return AttentionSteps(
            self.attention,
            self.keys.index_select(0, sentences),
            self.values.index_select(0, sentences),
        )
