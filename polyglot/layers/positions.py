"""Position encodings: added to states (sinusoidal, learned), or rotation of queries and keys."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor, nn

PositionKind = Literal["sinusoidal", "learned", "rotary"]


class Positions(nn.Module):
    """Add the position encoding to states; `rotary` changes no states, only queries and keys.

    sinusoidal: Vaswani et al. 2017, section 3.5. learned: Gehring et al. 2017, section 3.1;
    positions beyond the table use its last row.
    """

    def __init__(self, kind: PositionKind, *, size: int, longest: int = 0) -> None:
        """longest: rows of the table of learned positions; sinusoidal ones need none."""
        super().__init__()
        self.kind = kind
        self.size = size
        if kind == "learned":
            self.embedding = nn.Parameter(torch.empty(longest, size))
            nn.init.normal_(self.embedding, std=size**-0.5)

    def forward(self, states: Tensor, first: int = 0) -> Tensor:
        """states (B, S, D), the first word at position `first` -> (B, S, D)"""
        if self.kind == "rotary":
            return states
        last = first + states.shape[1]
        if self.kind == "sinusoidal":
            table = sinusoids(last, self.size, states.device)
            return states + table[first:].to(states.dtype)
        last_row = len(self.embedding) - 1
        positions = torch.arange(first, last, device=states.device)
        rows = positions.clamp(max=last_row)
        return states + self.embedding[rows]


def rotate(states: Tensor, first: int = 0) -> Tensor:
    """Rotate each pair of numbers by an angle proportional to the position.

    Products of queries and keys then depend only on their distance. states (B, H, S, d) with even
    d, the first word at position `first` -> (B, H, S, d). Source: Su et al. 2021, section 3.4.2.
    """
    last = first + states.shape[2]
    table = sinusoids(last, states.shape[3], states.device)
    table = table[first:].to(states.dtype)
    sine = table[:, 0::2]
    cosine = table[:, 1::2]

    even = states[..., 0::2]
    odd = states[..., 1::2]
    rotated_even = even * cosine - odd * sine
    rotated_odd = even * sine + odd * cosine
    return torch.stack([rotated_even, rotated_odd], dim=-1).flatten(-2)


def sinusoids(length: int, size: int, device: torch.device) -> Tensor:
    """sin and cos of position / 10000^(2i/D) at columns 2i and 2i + 1, in float32: (length, D)"""
    bits = (length - 1).bit_length()
    power_of_two = 1 << bits
    return _table(power_of_two, size, device)[:length]


@lru_cache(maxsize=64)
def _table(length: int, size: int, device: torch.device) -> Tensor:
    """Sinusoids for `length` positions, a power of two; kept for all shorter lengths."""
    # Training may use a table that was made during translation.
    with torch.inference_mode(False), torch.no_grad():
        columns = torch.arange(0, size, 2, device=device)
        rates = 10000.0 ** (-columns.float() / size)
        positions = torch.arange(length, device=device)
        angles = positions.unsqueeze(1) * rates
        sines = angles.sin()
        cosines = angles.cos()
        table = torch.stack([sines, cosines], dim=-1).flatten(1)
        return table[:, :size]
