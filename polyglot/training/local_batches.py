"""Batches that this process trains in an update, taken from the streams of its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from polyglot.data.arrays import Indices
from polyglot.tasks.batch import Batch
from polyglot.tasks.pairs import Task
from polyglot.training.placement import ScheduledBatch
from polyglot.training.train_state import Streams


@dataclass(frozen=True, slots=True)
class LocalBatch:
    """A batch that this rank trains, and the places of its sentences in the text."""

    task: Task
    batch: Batch
    """sentences of the task; for back-translation, those of the task that has the text"""
    sentences: Indices
    """places in the text, from `stream.take`; `stream.names` writes them for messages"""


class BatchSource:
    """Takes the batches of this rank from the streams of its tasks."""

    def __init__(self, streams: Streams, *, rank: int, device: torch.device) -> None:
        """streams: by task name."""
        self.streams = streams
        self.rank = rank
        self.device = device
        self._positions: dict[str, Mapping[str, Any]] = {}
        """positions in the text before the last update, by task"""

    def next_batches(self, scheduled_batches: Sequence[ScheduledBatch]) -> dict[int, LocalBatch]:
        """Batches of this rank, by their index in the scheduled batches of the update.

        The sentences of other ranks are skipped, so that the streams of every rank have the same
        positions as those of a single process. Streamed text is different: each rank reads its own
        part.

        Raises DataError for text that cannot be used: streamed text is only read now.
        """
        batches = {}
        self._positions = {}
        for batch_index, (rank, task) in enumerate(scheduled_batches):
            stream = self.streams.get(task.text_name)
            if stream is None:
                continue
            is_local = rank == self.rank
            self._positions.setdefault(task.text_name, stream.position)
            sentences = stream.take(is_local=is_local)
            if is_local:
                batch = stream.batch(sentences).to(self.device)
                batches[batch_index] = LocalBatch(task, batch, sentences)
        return batches

    def rewind(self) -> None:
        """Move all streams back to their positions before the last update."""
        for task_name, position in self._positions.items():
            self.streams[task_name].seek(position)
