"""Comparing and copying the parameters of a component."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from polyglot.core.errors import CheckpointError, abbreviate


def copy_parameters(
    tensors: Mapping[str, Tensor],
    parameters: Mapping[str, Tensor],
    *,
    where: str,
) -> None:
    """Copy tensors into parameters of the same names.

    Raises CheckpointError if names or shapes differ. where: place in the message.
    """
    check_compatible(tensors, parameters, where=where)
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[name])


def check_compatible(
    tensors: Mapping[str, Tensor],
    parameters: Mapping[str, Tensor],
    *,
    where: str,
) -> None:
    """Raise CheckpointError if names or shapes differ."""
    if tensors.keys() != parameters.keys():
        names = abbreviate(sorted(tensors.keys() ^ parameters.keys()), shown=4)
        raise CheckpointError(
            f"{where}: comes from another configuration: the parameters differ ({names})"
        )
    for name, parameter in parameters.items():
        shape = tuple(tensors[name].shape)
        expected = tuple(parameter.shape)
        if shape != expected:
            raise CheckpointError(
                f"{where}: comes from another configuration: {name} has shape {shape}, "
                f"but {expected} in this model"
            )
