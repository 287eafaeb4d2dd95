"""Concrete distribution (Maddison et al. 2017), or Gumbel-softmax (Jang et al. 2017)."""

from __future__ import annotations

import torch
from torch import Tensor

from polyglot.layers.masks import masked_softmax


def concrete(
    potentials: Tensor,
    temperature: Tensor | float,
    mask: Tensor | None = None,
    *,
    noisy: bool,
) -> Tensor:
    """softmax((λ + g) / τ) over the last dimension; g is Gumbel noise if `noisy`, otherwise 0.

    potentials λ (..., C), mask broadcastable to it or None -> (..., C), at least in float32;
    exactly 0 where the mask is False. τ > 0; near 0 one choice has all of the weight.
    """
    scores = potentials.to(torch.promote_types(potentials.dtype, torch.float32))
    if noisy:
        scores = scores + gumbel_noise(scores)
    if mask is None:
        real = scores
    else:
        real = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    # The maximum is subtracted before the division, which would overflow.
    scores = scores - real.detach().amax(dim=-1, keepdim=True)
    return masked_softmax(scores / temperature, mask)


def gumbel_noise(like: Tensor) -> Tensor:
    """Gumbel noise −log(−log u) for uniform u, in the shape of a tensor."""
    return -torch.empty_like(like).exponential_().clamp_(min=torch.finfo(like.dtype).tiny).log()
