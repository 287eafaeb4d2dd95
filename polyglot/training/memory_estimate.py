"""How much memory training needs, estimated before it begins, and how much there is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy
import torch
from accelerate import PartialState

from polyglot.config.schema import Config
from polyglot.data.batching import epoch_batches
from polyglot.data.dataset import TaskDataset
from polyglot.data.streaming import StreamedDataset
from polyglot.model.translation_model import TranslationModel
from polyglot.tasks.sharing import component_names

MEBIBYTE = 2**20
# MiB that a training occupies on a CPU besides what it is about: the largest resident size (`ru_maxrss` of the ended process) of
# `polyglot train phrasebook` with 60 sentences and states of 8, whose own tensors are less than 2 MiB, was 515 after 4 steps and
# 550 after 40.
PROGRAM_MEBIBYTES = 500
CONTAINER_LIMIT = Path(
    "/sys/fs/cgroup/memory.max"
)  # what this process may use where that is less than the machine has


def count_parameters(model: TranslationModel) -> dict[str, int]:
    """Parameters by component; on the meta device they take no memory themselves."""
    return {
        name: sum(each.numel() for each in own.values())
        for name, own in model.component_parameters().items()
    }


def parameter_memory(
    config: Config, parameters: Mapping[str, int], *, trained_at_once: int
) -> dict[str, int]:
    """Bytes by purpose of what grows with the parameters, which are counted by component. trained_at_once: tasks of an update."""
    total = sum(parameters.values())
    own = lambda pair: sum(parameters.get(name, 0) for name in component_names(pair, config.sharing))  # noqa: E731
    gradients = max(own(task.pair) for task in config.tasks) * trained_at_once
    return {
        "parameters": 4 * total,
        "optimizer": 4 * config.optimizer.state_values * total,
        "gradients": 4 * min(gradients, total),
    }


def activation_memory(config: Config, datasets: Mapping[str, TaskDataset | StreamedDataset]) -> int:
    """Bytes kept for the way back: about 16 states for each layer and position of the widest batch of a task's first epoch.

    Of the task that needs most; languages may have components of their own. Of streamed text the first sentences stand for all.
    """
    most = 0
    for name, dataset in datasets.items():
        sources, targets = dataset.source_lengths, dataset.target_lengths
        batches = epoch_batches(
            sources, targets, config.batching, seed=config.seed, task_name=name, epoch=0
        )
        cells = max(
            len(rows) * int(numpy.maximum(sources, targets + 1)[rows].max()) for rows in batches
        )
        reads, writes = config.model.for_language(dataset.task.source), config.model.for_language(dataset.task.target)
        layers = sum(
            getattr(one, "layers", 1) * one.size for one in (reads.encoder, writes.decoder)
        )
        most = max(most, cells * (layers + max(reads.embedding.size, writes.embedding.size)))
    return 4 * 16 * most


def describe_memory(config: Config, *, trained_at_once: int) -> dict[str, str]:
    """What the bytes are of, by purpose."""
    kept, batches, optimizer = config.optimizer.state_values, trained_at_once, config.optimizer.type
    numbers = f"{'up to ' if kept > 1 else ''}{kept} number{'s' if kept > 1 else ''} of {optimizer} for each parameter"
    return {
        "parameters": "4 bytes each",
        "optimizer": numbers if kept else f"nothing: {optimizer} keeps none",
        "gradients": f"of the components that {'one task trains' if batches == 1 else f'{batches} tasks train'} in an update",
        "activations": "of the widest batch of the task that needs most",
    }


def memory_warning(needed: Mapping[str, int]) -> str | None:
    """The sentence for more bytes than the device has; None when it has them."""
    device = PartialState().device
    there, together = device_memory(device), sum(needed.values())
    if together <= there:
        return None
    parts = ", ".join(f"{purpose} {size / MEBIBYTE:,.0f}" for purpose, size in needed.items())
    return (
        f"training will need about {together / MEBIBYTE:,.0f} MiB ({parts}), and this machine's {device.type} has "
        f"{there / MEBIBYTE:,.0f} MiB; lower the sizes and layers of `model`, vocabulary.size or batching.size"
    )


def device_memory(device: torch.device) -> int:
    """Bytes of a device's memory; the CPU's, and what shares it, is what this process may use of the machine's."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = CONTAINER_LIMIT.read_text().strip() if CONTAINER_LIMIT.is_file() else "max"
    return machine if limit == "max" else min(machine, int(limit))
