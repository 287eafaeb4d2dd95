"""Choices that gradients can pass: the Concrete distribution (Maddison et al. 2017), also known as Gumbel-softmax (Jang et al. 2017)."""

from __future__ import annotations

import torch
from torch import Tensor

from polyglot.layers.masks import masked_softmax


def concrete(
    potentials: Tensor, temperature: Tensor | float, mask: Tensor | None = None, *, noisy: bool
) -> Tensor:
    """softmax((λ + g) / τ) over the last dimension, g Gumbel noise or, unless noisy, 0; what the mask leaves out is exactly 0.

    potentials λ (..., C), mask broadcastable to it or None -> (..., C) in float32, for any τ above 0: near it one choice has all.
    """
    scores = potentials.float()
    if noisy:
        scores = scores + gumbel(scores)
    real = scores if mask is None else scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    scores = scores - real.detach().amax(
        dim=-1, keepdim=True
    )  # before the division, which would overflow
    return masked_softmax(scores / temperature, mask)


def gumbel(like: Tensor) -> Tensor:
    """−log(−log u) for uniform u: noise of the shape of a tensor, from PyTorch's generator of its device."""
    return -torch.empty_like(like).exponential_().clamp_(min=torch.finfo(like.dtype).tiny).log()
