"""Attention of decoder states over the memory: Luong's `dot` and `general`, Bahdanau's `mlp`."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from polyglot.layers.accumulated_linear import DeferredLinear
from polyglot.layers.linear import Linear, linear
from polyglot.layers.masks import masked_softmax

KINDS = ("dot", "general", "mlp")


class Attention(nn.Module):
    """Context vectors for queries over a memory, and the weights they were mixed with.

    dot: q·m; general: q·W·m (Luong et al. 2015, section 3.1); mlp: v·tanh(W q + U m) (Bahdanau et al. 2015, appendix A.1.2).
    Any number of queries a sentence: target positions in training, hypotheses in beam search.
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
        """What queries are compared with, computed once a sentence. memory (B, K, D) -> (B, K, Q), or (B, K, D) for `mlp`"""
        if self.kind == "mlp":
            return self.key(memory)
        return linear(memory, self.query.weight.t()) if self.kind == "general" else memory

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """queries (B, T, Q), keys and values (B, K, ·) of the memory, mask (B, K) or None -> contexts (B, T, ·), weights (B, T, K)"""
        scores = self.energies(queries, keys) if self.kind == "mlp" else queries @ keys.mT
        weights = masked_softmax(scores, None if mask is None else mask.unsqueeze(1))
        return weights @ values, weights

    def energies(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Scores of `mlp`, before the softmax. As `forward` -> (B, T, K)"""
        return self.energy(
            torch.tanh(self.query(queries).unsqueeze(2) + keys.unsqueeze(1))
        ).squeeze(-1)


class AttentionSteps:
    """The same attention for one position after the other: the memory gets its gradient when all are done."""

    def __init__(self, attention: Attention, keys: Tensor, values: Tensor) -> None:
        """keys and values (B, K, ·) of the memory"""
        self.attention, self.keys, self.values = attention, keys, values
        self.scores = (
            partial(attention.energies, keys=keys)
            if attention.kind == "mlp"
            else DeferredLinear(keys)
        )
        self.mixed = DeferredLinear(values.mT)

    def __call__(self, queries: Tensor, mask: Tensor | None) -> Tensor:
        """queries (B·M, Q), those of a sentence side by side, mask (B, K) or None -> contexts (B·M, ·)"""
        queries = queries.unflatten(0, (len(self.keys), -1))
        weights = masked_softmax(self.scores(queries), None if mask is None else mask.unsqueeze(1))
        return self.mixed(weights).flatten(0, 1)

    def select(self, sentences: Tensor) -> AttentionSteps:
        """Those of the sentences that stay. sentences (B')"""
        return AttentionSteps(
            self.attention,
            self.keys.index_select(0, sentences),
            self.values.index_select(0, sentences),
        )
