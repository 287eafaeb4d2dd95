"""In which order the sentences of a task come, and with whom: a pure function of seed, task and epoch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Literal

import numpy
from numpy.typing import NDArray
from pydantic import Field

from polyglot.core.registry import ComponentConfig
from polyglot.data.dataset import TaskDataset
from polyglot.tasks.batch import Batch


class BatchingConfig(ComponentConfig):
    """How sentences are put together."""

    size: int = Field(default=64, ge=1)
    """Sentences of a batch, or its tokens."""

    by: Literal["sentences", "tokens"] = "sentences"
    """`tokens` counts padding too: sentences times the longest side (source, or target with its end token) is at most `size`;
    a sentence that is longer than that alone makes a batch of its own."""

    pool: int = Field(default=500, ge=1)
    """So many batches are cut from sentences sorted by length together: more means less padding and less mixing."""

    buffer: int = Field(default=32768, ge=1)
    """So many sentence pairs of streamed text are in memory together, of each task; they are shuffled, and batches cut from them."""


def epoch_batches(
    source_lengths: NDArray[numpy.int32],
    target_lengths: NDArray[numpy.int32],
    config: BatchingConfig,
    *,
    seed: int,
    task_name: str,
    epoch: int,
) -> list[NDArray[numpy.int64]]:
    """Indices of the batches of one epoch; every sentence is in exactly one of them.

    Shuffle, take a pool, sort it by target and source length, cut it into batches; shuffle the batches of all pools.
    """
    task = int.from_bytes(hashlib.sha256(task_name.encode()).digest()[:8], "little")
    random = numpy.random.Generator(
        numpy.random.Philox(numpy.random.SeedSequence([seed, task, epoch]))
    )
    order = random.permutation(len(source_lengths))
    widths = numpy.maximum(source_lengths, target_lengths + 1)  # (N,) with eos
    size = config.pool * _usual_sentences(widths, config)
    pools = (order[start : start + size] for start in range(0, len(order), size))
    batches = [
        batch
        for pool in pools
        for batch in _cut(_by_length(pool, source_lengths, target_lengths), widths, config)
    ]
    return [batches[number] for number in random.permutation(len(batches))]


def ordered_indices(dataset: TaskDataset, config: BatchingConfig) -> list[NDArray[numpy.int64]]:
    """Indices of the batches of a single pass sorted by length, the same every time."""
    order = _by_length(numpy.arange(len(dataset)), dataset.source_lengths, dataset.target_lengths)
    return _cut(order, numpy.maximum(dataset.source_lengths, dataset.target_lengths + 1), config)


def ordered_batches(dataset: TaskDataset, config: BatchingConfig) -> Iterator[Batch]:
    """A single pass for validation: every sentence once, sorted by length."""
    return map(dataset.batch, ordered_indices(dataset, config))


class BatchStream:
    """Batches of one task without end. With the seed, its two numbers are its whole state: a jump costs one shuffle, no reading."""

    def __init__(self, dataset: TaskDataset, config: BatchingConfig, *, seed: int) -> None:
        self.dataset = dataset
        self.config = config
        self.seed = seed
        self._begin(0)

    @property
    def position(self) -> dict[str, int]:
        """Epoch and batches of it that were taken, both from 0."""
        return {"epoch": self._epoch, "index": self._index}

    def seek(self, position: dict[str, int]) -> bool:
        """Go on as if every batch before that position had been taken; one in text that was streamed then is none here.

        Returns False: nothing that was taken is taken again.
        """
        if "epoch" not in position:
            return False
        if position["epoch"] != self._epoch:
            self._begin(position["epoch"])
        self._index = position["index"]
        return False

    @property
    def fingerprint(self) -> str:
        """Of the text that a position is in."""
        return self.dataset.fingerprint

    def batch(self, taken: NDArray[numpy.int64]) -> Batch:
        """What was taken, gathered and padded."""
        return self.dataset.batch(taken)

    def names(self, taken: NDArray[numpy.int64]) -> list[str]:
        """Where each of its pairs stands, for messages."""
        return self.dataset.names(taken)

    def take(self, *, is_local: bool = True) -> NDArray[numpy.int64]:
        """What the next batch is made of. own: whether it is for this process; those of others are passed over."""
        if self._index >= len(
            self._batches
        ):  # beyond the end: a position from before the batches became larger
            self._begin(self._epoch + 1)
        indices = self._batches[self._index]
        self._index += 1
        return indices

    def _begin(self, epoch: int) -> None:
        lengths = self.dataset.source_lengths, self.dataset.target_lengths
        self._batches = epoch_batches(
            *lengths, self.config, seed=self.seed, task_name=self.dataset.task.name, epoch=epoch
        )
        self._epoch, self._index = epoch, 0


def _by_length(
    indices: NDArray[numpy.int64],
    source_lengths: NDArray[numpy.int32],
    target_lengths: NDArray[numpy.int32],
) -> NDArray[numpy.int64]:
    """Sorted by target, then source length; who has both in common stays in the order given.

    Source lengths rise and fall in turns from one target length to the next, so that a batch across two of them has no gap.
    """
    source, target = source_lengths[indices], target_lengths[indices]
    return indices[numpy.lexsort((numpy.where(target % 2, source, -source), target))]


def _usual_sentences(widths: NDArray[numpy.int32], config: BatchingConfig) -> int:
    """Sentences that a batch holds on average, about."""
    if config.by == "sentences" or not len(widths):
        return config.size
    return max(1, int(config.size // widths.mean()))


def _cut(
    order: NDArray[numpy.int64], widths: NDArray[numpy.int32], config: BatchingConfig
) -> list[NDArray[numpy.int64]]:
    """Neighbours together, as many as fit."""
    batches, start = [], 0
    while start < len(order):
        end = start + config.size
        if config.by == "tokens":
            ahead = widths[order[start:end]]
            padded = numpy.maximum.accumulate(ahead) * numpy.arange(
                1, len(ahead) + 1
            )  # never falls
            end = start + max(1, int(numpy.searchsorted(padded, config.size, side="right")))
        batches.append(order[start:end])
        start = end
    return batches
