"""Adapters around the encoders and decoders of OpenNMT-py 3.0.4."""

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
from polyglot.core.setting_types import DropoutRate, HeadCount, LayerCount, Size
from polyglot.layers.transformer import heads_error

DECODER_LOCK = threading.Lock()
"""Lock for a decoding step: a decoder of OpenNMT-py holds the state of the batch that it decodes,
and several batches may be decoded in parallel threads."""


def is_installed() -> bool:
    """True if OpenNMT-py is installed."""
    return find_spec("onmt") is not None


def import_opennmt(module: str) -> ModuleType:
    """Import a module of OpenNMT-py (takes seconds). Raises ConfigError if it is not installed."""
    if not is_installed():
        raise ConfigError(
            "the types onmt_* need OpenNMT-py 3.0.4, which is not installed: "
            "pip install 'polyglot-nmt[opennmt]'"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of its own imports
        return import_module(f"onmt.{module}")


class TransformerConfig(ComponentConfig):
    """Settings of the Transformer encoder and decoder of OpenNMT-py."""

    size: Size = 512
    """State size D."""
    layers: LayerCount = 6
    """Number of stacked layers."""
    heads: HeadCount = 8
    """Attention heads; they divide the size."""
    feed_forward: int = Field(2048, ge=1, le=1048576)
    """Size of the hidden layer of the feed-forward networks; `transformer_ff` in OpenNMT-py."""
    dropout: DropoutRate = 0.1
    """Dropout on the output of each block, and inside the feed-forward networks."""
    attention_dropout: DropoutRate = 0.1
    """Dropout on the attention weights."""

    @model_validator(mode="after")
    def _heads_fit(self) -> TransformerConfig:
        error = heads_error(self.size, self.heads)
        if error:
            raise ValueError(error)
        return self


class PassThroughEmbedding(nn.Module):
    """Replacement of OpenNMT-py's embeddings: words are embedded already, with positions."""

    word_padding_idx = torch.nan
    """Number of the word that marks target padding. No word is equal to NaN, so none is masked; no
    mask is needed, since padding is last and attention is causal."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.embedding_size = size

    def forward(self, embedded: Tensor, step: int | None = None) -> Tensor:
        return embedded


def real_lengths(states: Tensor, mask: Tensor | None) -> Tensor:
    """Real rows of each sentence, at least 1. states (B, S, D), mask (B, S) or None -> (B,)"""
    if mask is None:
        return torch.full((len(states),), states.shape[1], device=states.device)
    return mask.sum(dim=1).clamp(min=1)
