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
    checkpoints: Iterable[Checkpoint], components: Mapping[str, Mapping[str, Tensor]]
) -> None:
    """Load the mean of the checkpoints' parameters into a model; exact for a single checkpoint."""
    checkpoints = list(checkpoints)
    for name, parameters in components.items():
        mean = average_component(checkpoints, name)
        copy_parameters(mean, parameters, where=f"{checkpoints[-1].path}: {name}")


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
        values = torch.stack([member[key].double() for member in members])
        means[key] = values.mean(dim=0).to(tensor.dtype)
    return means


def parameters_digest(checkpoints: Sequence[Checkpoint]) -> str:
    """Return a hash of the parameters of all these checkpoints, without the training state.

    The evaluation reuses stored translations if this hash and the search settings are equal.
    """
    files_of_checkpoints = []
    for checkpoint in checkpoints:
        files = sorted(checkpoint.manifest["files"].items())
        files_of_checkpoints.append(
            [(name, sha256) for name, sha256 in files if not is_training_file(name)]
        )
    return hashlib.sha256(json.dumps(files_of_checkpoints).encode()).hexdigest()
