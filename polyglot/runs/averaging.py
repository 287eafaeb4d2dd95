"""Averages of several checkpoints, and their hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from polyglot.runs.checkpoint import Checkpoint, is_training_file
from polyglot.runs.parameters import check_compatible, copy_parameters


def load_average(
    checkpoints: Iterable[Checkpoint],
    components: Mapping[str, Mapping[str, Tensor]],
) -> None:
    """Load the mean of the checkpoints' parameters into a model; exact for a single checkpoint."""
    checkpoints = list(checkpoints)
    newest = checkpoints[-1]
    for checkpoint in checkpoints:
        checkpoint.fetch_components(components)
    for name, parameters in components.items():
        mean = average_component(checkpoints, name)
        copy_parameters(mean, parameters, where=f"{newest.path}: {name}")


def average_component(checkpoints: Sequence[Checkpoint], name: str) -> dict[str, Tensor]:
    """Return the mean of one component's parameters, computed in float64.

    For a single checkpoint the parameters are exact. Raises CheckpointError if names or shapes
    differ between the checkpoints.
    """
    members = [checkpoint.component(name) for checkpoint in checkpoints]
    newest = members[-1]
    if len(members) == 1:
        return newest
    for checkpoint, member in zip(checkpoints, members):
        check_compatible(member, newest, where=f"{checkpoint.path}: {name}")
    means = {}
    for key, tensor in newest.items():
        values = [member[key].double() for member in members]
        mean = torch.stack(values).mean(dim=0)
        means[key] = mean.to(tensor.dtype)
    return means


def parameters_digest(checkpoints: Sequence[Checkpoint]) -> str:
    """Return a hash of the parameters of all these checkpoints, without the training state.

    The evaluation reuses stored translations if this hash and the search settings are equal.
    """
    files_of_checkpoints = []
    for checkpoint in checkpoints:
        checksums = checkpoint.manifest["files"]
        names = [name for name in sorted(checksums) if not is_training_file(name)]
        files_of_checkpoints.append([(name, checksums[name]) for name in names])
    content = json.dumps(files_of_checkpoints)
    return hashlib.sha256(content.encode()).hexdigest()
