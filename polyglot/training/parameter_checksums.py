"""Comparison of parameters between ranks, by checksums."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

import torch
from torch import nn

from polyglot.core.errors import TrainingError
from polyglot.distributed.processes import Processes
from polyglot.tasks.transfers import to_host
from polyglot.training.gradient_scaling import Parameters


def compare_parameters(
    processes: Processes,
    parameters: Parameters,
    components: Sequence[str],
    *,
    step: int,
) -> None:
    """Compare the parameters of these components between the ranks that have them. Collective.

    Raises TrainingError for the first component that differs.
    """
    local_checksums = {}
    for name in components:
        if parameters.get(name):
            local_checksums[name] = _checksum(parameters[name])

    checksums = processes.gather(
        local_checksums,
        dict[str, int],
        f"checksums at step {step}",
    )
    for name in components:
        ranks_by_checksum: dict[int, list[str]] = {}
        for rank, rank_checksums in enumerate(checksums):
            if name in rank_checksums:
                ranks_by_checksum.setdefault(rank_checksums[name], []).append(str(rank))
        if len(ranks_by_checksum) > 1:
            groups = [_ranks_in_words(ranks) for ranks in ranks_by_checksum.values()]
            raise TrainingError(
                f"step {step}: {name} is no longer the same on all processes: "
                f"{' and '.join(groups)} have different parameters; do all machines have the "
                "same version of the program and of its libraries?"
            )


def _ranks_in_words(ranks: Sequence[str]) -> str:
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {', '.join(ranks)}"


def _checksum(parameters: Mapping[str, nn.Parameter]) -> int:
    """CRC-32 of the bytes of all parameters."""
    checksum = 0
    for parameter in parameters.values():
        content = to_host(parameter.detach()).contiguous().view(torch.uint8).numpy()
        checksum = zlib.crc32(content, checksum)
    return checksum
