"""What OpenNMT-py 3.0.4's encoders and decoders need around them here: embeddings that are embedded already, and lengths for masks."""

from __future__ import annotations

import threading
import warnings
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from polyglot.core.errors import ConfigError
from polyglot.core.registry import ComponentConfig
from polyglot.layers.transformer import heads_problem

ALONE = threading.Lock()
"""Held during a step of their decoders: these keep their state inside, and batches may be translated side by side."""


def available() -> bool:
    """Whether OpenNMT-py is installed."""
    return find_spec("onmt") is not None


def opennmt(module: str) -> ModuleType:
    """One of its modules, imported only now: it takes seconds. Raises ConfigError when it is not installed."""
    if not available():
        raise ConfigError(
            "the types onmt_* need OpenNMT-py 3.0.4, which is not installed: pip install 'polyglot-nmt[opennmt]'"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it imports
        return import_module(f"onmt.{module}")


class TransformerConfig(ComponentConfig):
    """The settings of their Transformer encoder and decoder."""

    size: int = Field(512, ge=1, le=65536)
    """State size D."""
    layers: int = Field(6, ge=1, le=256)
    """How many layers are stacked."""
    heads: int = Field(8, ge=1, le=1024)
    """Attention heads; they divide the size."""
    feed_forward: int = Field(2048, ge=1, le=1048576)
    """Size of the hidden layer of the feed-forward networks: its `transformer_ff`."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on what each block adds, and inside the feed-forward networks."""
    attention_dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout on the attention weights."""

    @model_validator(mode="after")
    def _heads_fit(self) -> TransformerConfig:
        if problem := heads_problem(self.size, self.heads):
            raise ValueError(problem)
        return self


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
