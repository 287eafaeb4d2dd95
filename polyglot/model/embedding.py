"""Word embeddings of one language."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from polyglot.core.registry import ComponentConfig
from polyglot.core.setting_types import DropoutRate, Size
from polyglot.layers.dropout import Dropout
from polyglot.tasks.batch import BOS, PAD


class EmbeddingConfig(ComponentConfig):
    """Word embeddings of one language."""

    size: Size = 512
    """Embedding size E."""
    dropout: DropoutRate = 0.3
    """Dropout on the embeddings."""
    scale: bool = True
    """Multiply embeddings by √E, so that each entry has about unit variance and they learn as fast
    as other parameters (Vaswani et al. 2017, section 3.4)."""
    tie_sides: bool = False
    """Share one table between the encoder and the decoder of a language."""
    tie_output: bool = False
    """Use the decoder's table as its output layer too; needs `decoder.size` (or
    `decoder.output_size`, if set) equal to `embedding.size`."""


class Embedding(nn.Module):
    """Embed token ids with a table that other components may share."""

    def __init__(
        self,
        config: EmbeddingConfig,
        table: nn.Embedding,
        *,
        language_token: bool = False,
    ) -> None:
        """language_token: replace bos by a vector of this language.

        A decoder that several languages share gets the target language from this vector.
        """
        super().__init__()
        self.table = table
        if language_token:
            self.language = nn.Parameter(torch.zeros(1, config.size))
        else:
            self.language = None
        self.scale = config.size**0.5 if config.scale else 1.0
        self.dropout = Dropout(config.dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        """tokens (...) -> (..., E)"""
        words = self.table(tokens)
        if self.language is not None:
            is_bos = (tokens == BOS).unsqueeze(-1)
            words = torch.where(is_bos, self.language.to(words.dtype), words)
        return self.dropout(words * self.scale)


def embedding_table(vocabulary_size: int, size: int) -> nn.Embedding:
    """Return a (V, E) table.

    The row of pad is 0 and gets no gradient from look-ups (only as an output layer).
    """
    return nn.Embedding(vocabulary_size, size, padding_idx=PAD)
