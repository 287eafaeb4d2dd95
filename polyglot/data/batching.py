"""Batches of one task; their order is a pure function of seed, task and epoch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Literal

import numpy
from pydantic import Field

from polyglot.core.registry import ComponentConfig
from polyglot.data.arrays import Indices, Lengths
from polyglot.data.dataset import TaskDataset
from polyglot.tasks.batch import Batch


class BatchingConfig(ComponentConfig):
    """Size of the batches, and number of sentences that are shuffled together."""

    size: int = Field(default=64, ge=1, le=10_000_000)
    """Sentences of a batch, or its tokens."""

    by: Literal["sentences", "tokens"] = "sentences"
    """`tokens` counts padding too: the number of sentences times the longest side (source,
    or target with its end token) is at most `size`. A sentence that is longer is a batch alone."""

    pool: int = Field(default=500, ge=1, le=1_000_000)
    """Number of batches that are cut from sentences sorted together by length: a larger number
    means less padding and less mixing."""

    buffer: int = Field(default=32768, ge=1, le=100_000_000)
    """Number of sentence pairs of streamed text in memory, for each task; they are shuffled and cut
    into batches."""


def epoch_batches(
    source_lengths: Lengths,
    target_lengths: Lengths,
    config: BatchingConfig,
    *,
    seed: int,
    task_name: str,
    epoch: int,
) -> list[Indices]:
    """Indices of the batches of one epoch; every sentence is in exactly one of them.

    All sentences are shuffled and divided into pools. Each pool is sorted by length and cut into
    batches. Then the batches of all pools are shuffled.
    """
    random = _epoch_random(seed, task_name, epoch)
    order = random.permutation(len(source_lengths))
    widths = _widths(source_lengths, target_lengths)
    pool_size = config.pool * _mean_batch_size(widths, config)

    batches: list[Indices] = []
    for start in range(0, len(order), pool_size):
        pool = order[start : start + pool_size]
        sorted_pool = _sort_by_length(pool, source_lengths, target_lengths)
        batches += _cut(sorted_pool, widths, config)
    return [batches[number] for number in random.permutation(len(batches))]


def ordered_indices(dataset: TaskDataset, config: BatchingConfig) -> list[Indices]:
    """Indices of the batches of a single pass, sorted by length; always the same."""
    source_lengths = dataset.source_lengths
    target_lengths = dataset.target_lengths
    widths = _widths(source_lengths, target_lengths)

    indices = numpy.arange(len(dataset))
    order = _sort_by_length(indices, source_lengths, target_lengths)
    return _cut(order, widths, config)


def ordered_batches(dataset: TaskDataset, config: BatchingConfig) -> Iterator[Batch]:
    """Yield the batches of a single pass for validation: every sentence once, sorted by length."""
    for indices in ordered_indices(dataset, config):
        yield dataset.batch(indices)


class BatchStream:
    """Endless stream of batches of one task.

    Seed, epoch and number of the batch are its whole state: a jump costs one shuffle, and no text
    is read.
    """

    def __init__(self, dataset: TaskDataset, config: BatchingConfig, *, seed: int) -> None:
        self.dataset = dataset
        self.config = config
        self.seed = seed
        self._start_epoch(0)

    @property
    def position(self) -> dict[str, int]:
        """Epoch, and number of its batches that were taken; both from 0."""
        return {"epoch": self._epoch, "index": self._index}

    def seek(self, position: dict[str, int]) -> bool:
        """Continue as if every batch before the position had been taken.

        A position in streamed text is ignored. Always returns False: no batch is taken twice.
        """
        if "epoch" not in position:
            return False
        if position["epoch"] != self._epoch:
            self._start_epoch(position["epoch"])
        self._index = position["index"]
        return False

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the text that a position refers to."""
        return self.dataset.fingerprint

    def batch(self, indices: Indices) -> Batch:
        """Gather and pad the sentence pairs with these indices."""
        return self.dataset.batch(indices)

    def names(self, indices: Indices) -> list[str]:
        """File and line of each sentence pair, for messages."""
        return self.dataset.names(indices)

    def take(self, *, is_local: bool = True) -> Indices:
        """Indices of the next batch.

        is_local: False if the batch is for another rank. Here it makes no difference; streamed text
        skips such batches.
        """
        # The position may be behind the end if the batches have become larger since it was saved.
        if self._index >= len(self._batches):
            self._start_epoch(self._epoch + 1)
        indices = self._batches[self._index]
        self._index += 1
        return indices

    def _start_epoch(self, epoch: int) -> None:
        self._batches = epoch_batches(
            self.dataset.source_lengths,
            self.dataset.target_lengths,
            self.config,
            seed=self.seed,
            task_name=self.dataset.task.name,
            epoch=epoch,
        )
        self._epoch = epoch
        self._index = 0


def _epoch_random(seed: int, task_name: str, epoch: int) -> numpy.random.Generator:
    digest = hashlib.sha256(task_name.encode()).digest()
    task_number = int.from_bytes(digest[:8], "little")
    sequence = numpy.random.SeedSequence([seed, task_number, epoch])
    return numpy.random.Generator(numpy.random.Philox(sequence))


def _widths(source_lengths: Lengths, target_lengths: Lengths) -> Lengths:
    """Length of the longer side of each pair; the target counts with its end token."""
    return numpy.maximum(source_lengths, target_lengths + 1)


def _sort_by_length(indices: Indices, source_lengths: Lengths, target_lengths: Lengths) -> Indices:
    """Stable sort by target length, then source length.

    Source lengths rise for one target length and fall for the next, so that a batch that covers
    both has no jump in the source length.
    """
    source = source_lengths[indices]
    target = target_lengths[indices]
    alternating_source = numpy.where(target % 2, source, -source)
    order = numpy.lexsort((alternating_source, target))  # the last key is the first criterion
    return indices[order]


def _mean_batch_size(widths: Lengths, config: BatchingConfig) -> int:
    """Sentences of a batch on average, estimated from the mean width."""
    if config.by == "sentences" or not len(widths):
        return config.size
    sentences = int(config.size // widths.mean())
    return max(1, sentences)


def _cut(order: Indices, widths: Lengths, config: BatchingConfig) -> list[Indices]:
    """Cut a sequence of sentences into batches, each as large as the configuration allows."""
    batches = []
    start = 0
    while start < len(order):
        size = config.size
        if config.by == "tokens":
            next_widths = widths[order[start : start + size]]
            size = _fitting_sentences(next_widths, config.size)
        end = start + size
        batches.append(order[start:end])
        start = end
    return batches


def _fitting_sentences(widths: Lengths, tokens: int) -> int:
    """Number of first sentences that fit into a padded batch of this many tokens, at least 1."""
    counts = numpy.arange(1, len(widths) + 1)
    padded_sizes = numpy.maximum.accumulate(widths) * counts  # never decreases
    fitting = int(numpy.searchsorted(padded_sizes, tokens, side="right"))
    return max(1, fitting)
