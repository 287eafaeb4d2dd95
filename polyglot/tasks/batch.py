"""Batches: the tensors of one task. B sentences, S source positions, T target positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy
import torch
from torch import Tensor

from polyglot.tasks.pairs import Task
from polyglot.tasks.transfers import to_device

# Token ids that are the same in every vocabulary.
PAD = 0
BOS = 1
EOS = 2
UNK = 3
SPECIAL_TOKENS = ("<pad>", "<s>", "</s>", "<unk>")


@dataclass(frozen=True, slots=True)
class Batch:
    """Source and target tokens of one task; masks are True on real tokens."""

    task: Task
    source: Tensor
    """(B, S) token ids"""
    source_mask: Tensor
    """(B, S)"""
    target_in: Tensor
    """(B, T), begins with bos"""
    target_out: Tensor
    """(B, T), ends with eos"""
    target_mask: Tensor
    """(B, T)"""
    target_tokens: int
    """Number of real tokens in `target_out`, available without synchronising the device."""

    @classmethod
    def from_sentences(
        cls,
        task: Task,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
    ) -> Batch:
        """Pad the sentences of one task, given as token ids without special tokens."""
        bos = numpy.array([BOS])
        eos = numpy.array([EOS])
        inputs = [numpy.concatenate([bos, target]) for target in targets]
        outputs = [numpy.concatenate([target, eos]) for target in targets]
        source, source_mask = pad(sources)
        target_in, target_mask = pad(inputs)
        target_out, _ = pad(outputs)
        return cls(
            task,
            source=source,
            source_mask=source_mask,
            target_in=target_in,
            target_out=target_out,
            target_mask=target_mask,
            target_tokens=sum(map(len, outputs)),
        )

    @property
    def sentences(self) -> int:
        """Number of sentences, B."""
        return len(self.source)

    def to(self, device: torch.device) -> Batch:
        """Copy the batch to another device without waiting for it."""
        if self.source.device == device:
            return self
        moved = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Tensor):
                moved[field.name] = to_device(value, device)
        return replace(self, **moved)


def pad(sentences: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Pad lists of token ids.

    Returns ids (B, S), filled with PAD, and their mask (B, S); S is at least 1.
    """
    lengths = numpy.fromiter(map(len, sentences), dtype=numpy.int64, count=len(sentences))
    longest = lengths.max(initial=1)
    positions = numpy.arange(longest)
    mask = positions < lengths[:, None]

    ids = numpy.full(mask.shape, PAD, dtype=numpy.int64)
    arrays = [numpy.asarray(sentence, dtype=numpy.int64) for sentence in sentences]
    ids[mask] = numpy.concatenate(arrays)
    return torch.from_numpy(ids), torch.from_numpy(mask)
