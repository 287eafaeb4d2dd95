"""Noise on the sources of copies, which makes a copy a denoising task (Lample et al. 2018)."""

from __future__ import annotations

from dataclasses import replace

import torch
from pydantic import Field

from polyglot.core.registry import ComponentConfig
from polyglot.tasks.batch import PAD, UNK, Batch


class CopyNoise(ComponentConfig):
    """Noise on the pieces of the source of a copy; its target stays as it is."""

    drop: float = Field(0.0, ge=0, lt=1)
    """Probability that a piece is left out."""
    mask: float = Field(0.0, ge=0, le=1)
    """Probability that a piece is replaced by <unk>."""
    shuffle: int = Field(0, ge=0, le=1000)
    """Largest number of places that a piece moves; 0 keeps the order."""


def add_copy_noise(batch: Batch, noise: CopyNoise) -> Batch:
    """Return the batch of a copy with noise on its source; other batches stay as they are.

    The noise is drawn from PyTorch's random generator. At least one piece of a sentence stays.
    Source: Lample et al. 2018 (arXiv 1711.00043), section 2.3, where a piece is a word.
    """
    if not batch.task.pair.is_copy or noise == CopyNoise():
        return batch
    device = batch.source.device
    shape = batch.source.shape
    positions = torch.arange(shape[1], device=device)

    is_kept = batch.source_mask & (torch.rand(shape, device=device) >= noise.drop)
    some_are_kept = is_kept.any(dim=1, keepdim=True)
    is_kept = torch.where(some_are_kept, is_kept, batch.source_mask)
    lengths = is_kept.sum(dim=1, keepdim=True)
    mask = positions < lengths

    is_masked = batch.source_mask & (torch.rand(shape, device=device) < noise.mask)
    tokens = batch.source.masked_fill(is_masked, UNK)

    # Sorted by i + a number below k + 1, no piece moves by more than k places.
    keys = positions.float().expand(shape)
    if noise.shuffle:
        keys = keys + (noise.shuffle + 1) * torch.rand(shape, device=device)
    keys = keys.masked_fill(~is_kept, torch.inf)
    order = keys.argsort(dim=1, stable=True)
    tokens = tokens.gather(1, order).masked_fill(~mask, PAD)
    return replace(batch, source=tokens, source_mask=mask)
