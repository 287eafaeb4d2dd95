"""Divergence of the word distributions of two decoder passes, without all (N, V) scores at once."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from polyglot.layers import autocast
from polyglot.layers.linear import product_type

SLICE_ROWS = 512
"""Rows whose scores are in memory together."""


def projected_divergence(
    states: Tensor,
    other_states: Tensor,
    weight: Tensor,
    bias: Tensor,
    *,
    symmetric: bool,
) -> Tensor:
    """Sum over the rows of KL(p ‖ q), with p = softmax(W h + b) and q the same of the other states.

    states and other_states (N, D), weight (V, D), bias (V) -> a float32 scalar. symmetric: the mean
    of KL(p ‖ q) and KL(q ‖ p). The scores of a slice of rows are computed again for the gradients.
    """
    # Converted here, because the second computation of a slice is outside of autocast.
    dtype = product_type(states)
    states = states.to(dtype)
    other_states = other_states.to(dtype)
    weight = weight.to(dtype)
    bias = bias.to(dtype)
    total = states.new_zeros((), dtype=torch.float32)
    for start in range(0, len(states), SLICE_ROWS):
        total = total + checkpoint(
            _slice_divergence,
            states[start : start + SLICE_ROWS],
            other_states[start : start + SLICE_ROWS],
            weight,
            bias,
            symmetric,
            use_reentrant=False,
            preserve_rng_state=False,
        )
    return total


def _slice_divergence(
    states: Tensor,
    other_states: Tensor,
    weight: Tensor,
    bias: Tensor,
    symmetric: bool,
) -> Tensor:
    log_p = _log_probabilities(states, weight, bias)
    log_q = _log_probabilities(other_states, weight, bias)
    if symmetric:
        # (KL(p ‖ q) + KL(q ‖ p)) / 2 = Σ (p − q) (log p − log q) / 2
        return ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum() / 2
    return (log_p.exp() * (log_p - log_q)).sum()


def _log_probabilities(states: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    scores = functional.linear(states, weight, bias)
    with autocast.without_autocast(scores.device.type):
        return scores.float().log_softmax(dim=-1)
