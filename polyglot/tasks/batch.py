"""The tensors of one step of one task. B sentences, S source positions, T target positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy
import torch
from torch import Tensor

from polyglot.tasks.pairs import Task

PAD, BOS, EOS, UNK = 0, 1, 2, 3  # the same four in every vocabulary
SPECIAL_TOKENS = ("<pad>", "<s>", "</s>", "<unk>")


@dataclass(frozen=True, slots=True)
class Batch:
    """Source and target of one task; masks are True on real tokens."""

    task: Task
    source: Tensor
    """(B, S) token ids"""
    source_mask: Tensor
    """(B, S)"""
    target_in: Tensor
    """(B, T) begins with bos"""
    target_out: Tensor
    """(B, T) ends with eos"""
    target_mask: Tensor
    """(B, T)"""
    target_tokens: int
    """Real tokens of target_out, known without asking the device."""

    @classmethod
    def from_sentences(
        cls, task: Task, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> Batch:
        """Pad the sentences of one task; neither side holds special tokens yet."""
        source, source_mask = pad(sources)
        bos, eos = numpy.array([BOS]), numpy.array([EOS])
        target_in, target_mask = pad([numpy.concatenate([bos, target]) for target in targets])
        target_out, _ = pad([numpy.concatenate([target, eos]) for target in targets])
        return cls(
            task,
            source,
            source_mask,
            target_in,
            target_out,
            target_mask,
            sum(map(len, targets)) + len(targets),
        )

    @property
    def sentences(self) -> int:
        """B"""
        return len(self.source)

    def to(self, device: torch.device) -> Batch:
        """The same batch on another device, copied without waiting."""
        if self.source.device == device:
            return self
        moved = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(
            self,
            **{
                k: v.to(device, non_blocking=True)
                for k, v in moved.items()
                if isinstance(v, Tensor)
            },
        )


def pad(sentences: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Ragged token ids to (B, S) ids filled with pad, and their (B, S) mask; S is at least 1."""
    lengths = numpy.fromiter(map(len, sentences), dtype=numpy.int64, count=len(sentences))
    mask = numpy.arange(max(1, lengths.max(initial=0))) < lengths[:, None]
    ids = numpy.full(mask.shape, PAD, dtype=numpy.int64)
    ids[mask] = numpy.concatenate(
        [numpy.asarray(sentence, dtype=numpy.int64) for sentence in sentences]
    )
    return torch.from_numpy(ids), torch.from_numpy(mask)
