"""Where a word stands: added to its states (sinusoidal, learned), or turned into the queries and keys of attention (rotary)."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor, nn

PositionKind = Literal["sinusoidal", "learned", "rotary"]


class Positions(nn.Module):
    """Adds the place of each word to its state; `rotary` leaves states alone, since attention itself turns by it.

    sinusoidal: Vaswani et al. 2017, section 3.5. learned: Gehring et al. 2017, section 3.1; what lies beyond the table counts as
    its last place.
    """

    def __init__(self, kind: PositionKind, *, size: int, longest: int) -> None:
        """longest: places of a learned table"""
        super().__init__()
        self.kind, self.size = kind, size
        if kind == "learned":
            self.embedding = nn.Parameter(torch.empty(longest, size))
            nn.init.normal_(self.embedding, std=size**-0.5)

    def forward(self, states: Tensor, first: int = 0) -> Tensor:
        """states (B, S, D), whose first word stands at place `first` -> (B, S, D)"""
        if self.kind == "rotary":
            return states
        last = first + states.shape[1]
        if self.kind == "sinusoidal":
            return states + sinusoids(last, self.size, states.device)[first:].to(states.dtype)
        places = torch.arange(first, last, device=states.device).clamp(max=len(self.embedding) - 1)
        return states + self.embedding[places]


def rotated(states: Tensor, first: int = 0) -> Tensor:
    """Turn each pair of numbers by an angle that grows with the place, so that products of queries and keys depend on distance alone.

    states (B, H, S, d) with even d, whose first word stands at place `first` -> (B, H, S, d)  (Su et al. 2021, section 3.4.2)
    """
    last = first + states.shape[2]
    table = sinusoids(last, states.shape[3], states.device)[first:].to(states.dtype)
    sine, cosine = table[:, 0::2], table[:, 1::2]
    even, odd = states[..., 0::2], states[..., 1::2]
    return torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], dim=-1).flatten(-2)


def sinusoids(length: int, size: int, device: torch.device) -> Tensor:
    """sin and cos of place / 10000^(2i/D) at columns 2i and 2i + 1, in float32: (length, D)"""
    return _table(1 << (length - 1).bit_length(), size, device)[:length]


@lru_cache(maxsize=64)
def _table(length: int, size: int, device: torch.device) -> Tensor:
    """A power of two of places, made once for all that need fewer."""
    with (
        torch.inference_mode(False),
        torch.no_grad(),
    ):  # what translation made first, training may use
        rates = 10000.0 ** (-torch.arange(0, size, 2, device=device).float() / size)
        angles = torch.arange(length, device=device).unsqueeze(1) * rates
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :size]
