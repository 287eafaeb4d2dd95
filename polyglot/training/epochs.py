"""Conversion of the length of a run from epochs to steps.

In an epoch, as many sentence pairs are drawn as all tasks have together; copies count as tasks. The
schedule decides which: with `proportional`, every sentence pair is drawn once in an epoch on
average; with `uniform`, those of a small task more often than those of a large one.

    steps = smallest n with  r(0) + … + r(n − 1) ≥ epochs · Σ N(task)

N: sentence pairs of a task, as repeated by the weights of its corpora. r(step): sentence pairs that
the schedule draws in this step on average, on all processes together.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping

import numpy

from polyglot.config.schema import Config
from polyglot.data.batching import epoch_batches
from polyglot.data.dataset import TaskDataset
from polyglot.data.streamed_dataset import StreamedDataset
from polyglot.training.placement import Placement

logger = logging.getLogger("polyglot")

ROUNDING = 1e-9
"""Subtracted from a number of steps before it is rounded up, so that 3.0000000001 steps are 3."""


def has_steps(config: Config, *, resuming: bool) -> bool:
    """True if the configuration has its number of steps; a resumed run keeps that number."""
    if config.training.epochs is None:
        return True
    return resuming and config.training.steps is not None


def mean_batch_sizes(datasets: Mapping[str, TaskDataset], config: Config) -> dict[str, float]:
    """Sentence pairs of a batch on average, by task name."""
    sizes = {}
    for name, dataset in datasets.items():
        sizes[name] = len(dataset) / len(first_epoch_batches(dataset, config, name))
    return sizes


def first_epoch_batches(
    dataset: TaskDataset | StreamedDataset,
    config: Config,
    task_name: str,
) -> list[numpy.ndarray]:
    """Rows of each batch in the first epoch of a task."""
    return epoch_batches(
        dataset.source_lengths,
        dataset.target_lengths,
        config.batching,
        seed=config.seed,
        task_name=task_name,
        epoch=0,
    )


def with_steps_of_epochs(
    config: Config,
    placement: Placement,
    *,
    sizes: Mapping[str, int],
    batch_sizes: Mapping[str, float],
) -> Config:
    """Configuration with the number of steps of its epochs; logs that number.

    sizes: sentence pairs; batch_sizes: sentence pairs of a batch on average; by task name.
    """
    epochs = config.training.epochs
    pairs_per_epoch = sum(sizes.values())
    steps = _steps_until(epochs * pairs_per_epoch, placement, batch_sizes)
    logger.info(
        f"training.epochs {epochs:g}: {steps:,} steps; "
        f"an epoch has {pairs_per_epoch:,} sentence pairs of all tasks"
    )
    training = config.training.model_copy(update={"steps": steps})
    return config.model_copy(update={"training": training})


def _steps_until(goal: float, placement: Placement, batch_sizes: Mapping[str, float]) -> int:
    """Smallest number of steps that draw this number of sentence pairs on average.

    Only at the boundaries of the schedule do the tasks change: between two of them, every step
    draws the same number on average.
    """
    drawn = 0.0
    boundaries = placement.schedule.boundaries
    for start, end in zip(boundaries, [*boundaries[1:], None]):
        per_step = _pairs_per_step(start, placement, batch_sizes)
        if end is not None and drawn + per_step * (end - start) < goal:
            drawn += per_step * (end - start)
            continue
        remaining_steps = math.ceil((goal - drawn) / per_step - ROUNDING)
        return max(1, start + remaining_steps)
    raise AssertionError("the last range of steps has no end")


def _pairs_per_step(step: int, placement: Placement, batch_sizes: Mapping[str, float]) -> float:
    """Sentence pairs that all processes draw in a step, on average."""
    schedule = placement.schedule
    total = 0.0
    for rank in range(placement.process_count):
        shares = schedule.text_shares(step, placement.tasks_of(rank))
        for task, share in shares.items():
            total += share * batch_sizes[task.name]
    return total * schedule.config.tasks_per_update
