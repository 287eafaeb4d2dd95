"""Which target words go with which source words, counted from training text: what can choose output words without a model's help."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save
from torch import Tensor

from polyglot.core.errors import CheckpointError

COMMON = 1e-3
"""Weight of how common a word is, beside what the source says: it only orders what no source word speaks for."""


class Shortlist:
    """p(target word given source word) for the likeliest target words of each source word."""

    def __init__(
        self,
        starts: NDArray[numpy.int64],
        words: NDArray[numpy.int32],
        values: NDArray[numpy.float32],
        common: NDArray[numpy.float32],
    ) -> None:
        """starts (V_s + 2,): where each source word's part begins, the last one that of no word at all.

        words and values (M,), common (V_t,).
        """
        self.starts, self.words, self.values, self.common = starts, words, values, common

    @classmethod
    def learn(
        cls,
        sources: Sequence[NDArray[numpy.int32]],
        targets: Sequence[NDArray[numpy.int32]],
        sizes: tuple[int, int],
        *,
        best: int = 100,
        iterations: int = 5,
    ) -> Shortlist:
        """By IBM model 1, with a source word for what has none (Brown et al. 1993, section 4.2). sizes: V_s and V_t."""
        nobody, size = sizes
        lengths = numpy.array([len(one) for one in targets])
        first = numpy.concatenate(
            [[0], numpy.cumsum(lengths)]
        )  # position of each sentence's first target word
        keys = [
            (numpy.append(source, nobody)[:, None].astype(numpy.int64) * size + target).ravel()
            for source, target in zip(sources, targets)
        ]
        places = [
            numpy.tile(numpy.arange(start, start + len(target)), len(source) + 1)
            for start, source, target in zip(first, sources, targets)
        ]
        if not keys or not first[-1]:
            return cls(
                numpy.zeros(nobody + 2, numpy.int64),
                numpy.zeros(0, numpy.int32),
                numpy.zeros(0, numpy.float32),
                numpy.full(size, 1 / size, numpy.float32),
            )
        pairs, link = numpy.unique(numpy.concatenate(keys), return_inverse=True)
        place, source_of = numpy.concatenate(places), pairs // size
        values = numpy.ones(len(pairs))
        for _ in range(iterations):
            shares = values[link]
            shares /= numpy.bincount(place, weights=shares)[place]
            values = numpy.bincount(link, weights=shares, minlength=len(pairs))
            values /= numpy.bincount(source_of, weights=values, minlength=nobody + 1)[source_of]
        order = numpy.lexsort((-values, source_of))
        rank = numpy.arange(len(order)) - numpy.searchsorted(source_of[order], source_of[order])
        kept = order[rank < best]
        starts = numpy.searchsorted(source_of[kept], numpy.arange(nobody + 2))
        common = numpy.bincount(numpy.concatenate(targets), minlength=size) / first[-1]
        return cls(
            starts,
            (pairs % size)[kept].astype(numpy.int32),
            values[kept].astype(numpy.float32),
            common.astype(numpy.float32),
        )

    @classmethod
    def load(cls, path: Path) -> Shortlist:
        """Raises CheckpointError for a file that is none."""
        try:
            return cls(**load_file(path))
        except OSError as error:
            raise CheckpointError(
                f"{path}: the shortlist cannot be read: {error.strerror or error}"
            ) from None
        except (SafetensorError, TypeError):
            raise CheckpointError(
                f"{path}: no shortlist; `polyglot shortlist` writes one"
            ) from None

    def to_bytes(self) -> bytes:
        return save(
            {
                "starts": self.starts,
                "words": self.words,
                "values": self.values,
                "common": self.common,
            }
        )

    def scores(self, sentences: Sequence[Sequence[int]]) -> Tensor:
        """How much the source words speak for each target word, with what is common to order the rest: (B, V_t)"""
        scores = numpy.tile(COMMON * self.common, (len(sentences), 1))
        nobody = len(self.starts) - 2
        for row, sentence in zip(scores, sentences):
            for word in {*map(int, sentence), nobody}:
                part = slice(self.starts[word], self.starts[word + 1])
                row[self.words[part]] += self.values[part]
        return torch.from_numpy(scores)
