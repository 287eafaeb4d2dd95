"""Estimate of the memory that training needs, and the memory of the device."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy
import torch

from polyglot.config.schema import Config
from polyglot.core.registry import ComponentConfig
from polyglot.data.dataset import TaskDataset
from polyglot.data.streamed_dataset import StreamedDataset
from polyglot.distributed.variables import accelerate_state
from polyglot.model.translation_model import TranslationModel
from polyglot.tasks.pairs import Task
from polyglot.tasks.sharing import component_names
from polyglot.training.epochs import first_epoch_batches

MEBIBYTE = 2**20
BYTES_PER_NUMBER = 4
"""bytes of a float32"""
STATES_PER_LAYER = 16
"""approximate number of state vectors kept for the backward pass, for each layer and position"""

# The largest resident size (`ru_maxrss` of the ended process) of `polyglot train phrasebook` with
# 60 sentences and state size 8 (all its tensors together < 2 MiB) was 515 MiB after 4 steps and
# 550 MiB after 40.
PROGRAM_MEBIBYTES = 500
"""memory of a training run on a CPU without its tensors, in MiB"""
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
"""file with the memory limit of a container, in bytes"""


def count_parameters(model: TranslationModel) -> dict[str, int]:
    """Number of parameters by component; the model may be on the meta device."""
    counts = {}
    for component, parameters in model.component_parameters().items():
        counts[component] = sum(parameter.numel() for parameter in parameters.values())
    return counts


def count_option_parameters(model: TranslationModel) -> dict[str, dict[str, int]]:
    """Number of parameters of each option, by component and option; a shared option once."""
    counts: dict[str, dict[str, int]] = {}
    for component, parameters in model.component_parameters().items():
        for name, parameter in parameters.items():
            place, _, rest = name.partition(".")
            if place == "options":
                option = rest.partition(".")[0]
                of_component = counts.setdefault(component, {})
                of_component[option] = of_component.get(option, 0) + parameter.numel()
    return counts


def parameter_memory(
    config: Config,
    counts: Mapping[str, int],
    *,
    gradient_task_count: int,
) -> dict[str, int]:
    """Bytes of parameters, optimizer state and gradients.

    counts: number of parameters by component. gradient_task_count: number of tasks whose
    components have gradients at the same time.
    """
    total = sum(counts.values())
    largest_task = 0
    for task in config.tasks:
        names = component_names(task.pair, config.sharing)
        task_size = sum(counts.get(name, 0) for name in names)
        largest_task = max(largest_task, task_size)

    return {
        "parameters": BYTES_PER_NUMBER * total,
        "optimizer": BYTES_PER_NUMBER * config.optimizer.state_numbers_per_parameter * total,
        "gradients": BYTES_PER_NUMBER * min(largest_task * gradient_task_count, total),
    }


def activation_memory(config: Config, datasets: Mapping[str, TaskDataset | StreamedDataset]) -> int:
    """Bytes that are kept for the backward pass, for the task that needs most.

    About 16 state vectors for each layer and position of the largest batch (padded tokens) in the
    first epoch. Streamed text is estimated from its first sentences.
    """
    upper_bounds = {}
    state_sizes = {}
    for name, dataset in datasets.items():
        state_sizes[name] = _state_size(config, dataset.task)
        upper_bounds[name] = state_sizes[name] * _largest_possible_batch(config, dataset)

    # Largest upper bound first: stop when no other task can need more than the largest found.
    # There may be thousands of tasks, and building their batches is slow.
    largest = 0
    for name in sorted(upper_bounds, key=upper_bounds.__getitem__, reverse=True):
        if upper_bounds[name] <= largest:
            break
        positions = _largest_batch(config, name, datasets[name])
        largest = max(largest, positions * state_sizes[name])
    return BYTES_PER_NUMBER * STATES_PER_LAYER * largest


def _state_size(config: Config, task: Task) -> int:
    """Sum of the state sizes of all layers of a task, and of the size of its larger embedding."""
    source_model = config.model.for_language(task.source)
    target_model = config.model.for_language(task.target)
    encoder_size = _total_size(source_model.encoder)
    decoder_size = _total_size(target_model.decoder)
    embedding_size = max(source_model.embedding.size, target_model.embedding.size)
    return encoder_size + decoder_size + embedding_size


def _total_size(component: ComponentConfig) -> int:
    """Sum of the state sizes of all layers."""
    return getattr(component, "layers", 1) * component.size


def _largest_possible_batch(config: Config, dataset: TaskDataset | StreamedDataset) -> int:
    """Upper limit of the padded tokens of a batch, without building the batches."""
    widths = numpy.maximum(dataset.source_lengths, dataset.target_lengths + 1)  # with eos
    if not len(widths):
        return 0
    widest = int(widths.max())
    batching = config.batching
    if batching.by == "sentences":
        return min(batching.size, len(widths)) * widest
    return min(len(widths) * widest, max(batching.size, widest))


def _largest_batch(config: Config, name: str, dataset: TaskDataset | StreamedDataset) -> int:
    """Padded tokens of the largest batch in the first epoch of a task."""
    batches = first_epoch_batches(dataset, config, name)
    widths = numpy.maximum(dataset.source_lengths, dataset.target_lengths + 1)  # with eos
    largest = 0
    for rows in batches:
        positions = len(rows) * int(widths[rows].max())
        largest = max(largest, positions)
    return largest


def describe_memory(config: Config, *, gradient_task_count: int) -> dict[str, str]:
    """Explanation of each part of the memory, in words."""
    optimizer = config.optimizer.type
    state_numbers = config.optimizer.state_numbers_per_parameter
    if state_numbers == 0:
        optimizer_words = f"nothing: {optimizer} keeps none"
    elif state_numbers == 1:
        optimizer_words = f"1 number of {optimizer} for each parameter"
    else:
        optimizer_words = f"up to {state_numbers} numbers of {optimizer} for each parameter"

    if gradient_task_count == 1:
        tasks = "one task trains"
    else:
        tasks = f"{gradient_task_count} tasks train"
    return {
        "parameters": "4 bytes each",
        "optimizer": optimizer_words,
        "gradients": f"of the components that {tasks} in an update",
        "activations": "of the largest batch (padded tokens) of the task that needs most",
    }


def memory_warning(needed: Mapping[str, int]) -> str | None:
    """Message if training needs more bytes than the device has, None if not."""
    device = accelerate_state().device
    available = device_memory(device)
    total = sum(needed.values())
    if total <= available:
        return None

    parts = []
    for purpose, size in needed.items():
        parts.append(f"{purpose} {in_mebibytes(size)}")
    return (
        f"training will need about {in_mebibytes(total)} MiB ({', '.join(parts)}), "
        f"and this machine's {device.type} has {in_mebibytes(available)} MiB; "
        "lower the sizes and layers of `model`, vocabulary.size or batching.size"
    )


def in_mebibytes(size: int) -> str:
    """Number of MiB, rounded, for messages and tables."""
    return f"{size / MEBIBYTE:,.0f}"


def device_memory(device: torch.device) -> int:
    """Bytes of a device's memory; on the CPU, the memory that this process may use."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    machine_memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if not CONTAINER_LIMIT.is_file():
        return machine_memory
    limit = CONTAINER_LIMIT.read_text().strip()
    if limit == "max":
        return machine_memory
    return min(machine_memory, int(limit))
