"""What OpenNMT-py 3.0.4's encoders and decoders need around them here: embeddings that are embedded already, and lengths for masks."""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import torch
from torch import Tensor, nn

from polyglot.errors import ConfigError


def available() -> bool:
    """Whether OpenNMT-py is installed."""
    return find_spec("onmt") is not None


def opennmt(module: str) -> ModuleType:
    """One of its modules, imported only now: it takes seconds. Raises ConfigError when it is not installed."""
    if not available():
        raise ConfigError("the types onmt_* need OpenNMT-py 3.0.4, which is not installed: pip install 'polyglot-nmt[opennmt]'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it imports
        return import_module(f"onmt.{module}")


class Embedded(nn.Module):
    """Stands where OpenNMT-py has embeddings; words come embedded, with their positions."""

    word_padding_idx = torch.nan
    """What padding of targets is recognised by: nothing is, since padding comes last and no word looks ahead."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.embedding_size = size

    def forward(self, embedded: Tensor, step: int | None = None) -> Tensor:
        return embedded


def lengths(states: Tensor, mask: Tensor | None) -> Tensor:
    """How many rows of each sentence are real; of none, one, which is zero. states (B, S, D), mask (B, S) or None -> (B,)"""
    if mask is None:
        return torch.full((len(states),), states.shape[1], device=states.device)
    return mask.sum(dim=1).clamp(min=1)
