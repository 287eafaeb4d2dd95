"""Word embeddings of one language."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig
from polyglot.layers.dropout import Dropout
from polyglot.tasks.batch import BOS, PAD


class EmbeddingConfig(ComponentConfig):
    """Word embeddings of one language."""

    size: int = Field(512, ge=1, le=65536)
    """Embedding size E."""
    dropout: float = Field(0.3, ge=0, lt=1)
    """Dropout on the embeddings."""
    scale: bool = True
    """Multiply embeddings by √E, so that they enter at unit size and learn at the pace of the rest (Vaswani et al. 2017, section 3.4)."""
    tie_sides: bool = False
    """One table for the encoder and the decoder of a language."""
    tie_output: bool = False
    """The decoder's table is its output layer too; needs `decoder.size` equal to `embedding.size`."""


class Embedding(nn.Module):
    """Token ids to embedded words, around a table that others may share."""

    def __init__(self, config: EmbeddingConfig, table: nn.Embedding, *, language_token: bool = False) -> None:
        """language_token: the language has a vector of its own in the place of bos, by which a decoder of several knows what to write."""
        super().__init__()
        self.table = table
        self.language = nn.Parameter(torch.zeros(1, config.size)) if language_token else None
        self.scale = config.size**0.5 if config.scale else 1.0
        self.dropout = Dropout(config.dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        """tokens (...) -> (..., E)"""
        words = self.table(tokens)
        if self.language is not None:
            words = torch.where((tokens == BOS).unsqueeze(-1), self.language.to(words.dtype), words)
        return self.dropout(words * self.scale)


def embedding_table(vocabulary_size: int, size: int) -> nn.Embedding:
    """A (V, E) table whose pad row is 0; as an embedding it has no gradient."""
    return nn.Embedding(vocabulary_size, size, padding_idx=PAD)
