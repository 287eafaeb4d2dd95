"""Scaling of summed gradients to the mean of each component, and clipping of the gradient norm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn

from polyglot.tasks.pairs import LanguagePair
from polyglot.tasks.sharing import SharingConfig, component_names

Parameters = Mapping[str, Mapping[str, nn.Parameter]]
"""Parameters by component, then by name."""


def count_by_component(
    batches: Iterable[tuple[LanguagePair, int]],
    components: Iterable[str],
    sharing: SharingConfig,
) -> dict[str, int]:
    """Count the target tokens (or sentences) that train each component in one update.

    batches: the language pair and the count of each batch. A component that no batch trains is
    absent from the result.
    """
    counts: Counter[str] = Counter()
    for pair, count in batches:
        for name in component_names(pair, sharing):
            counts[name] += count

    return {name: counts[name] for name in components if name in counts}


def scale_to_means(parameters: Parameters, counts: Mapping[str, int], *, total: int) -> None:
    """Turn gradients summed with weights count/total into the mean of each component.

    A batch of n tokens (or sentences) entered the sum with weight n/total. The gradients of a
    component that only some of the batches trained are therefore multiplied by total/count.
    """
    for name, count in counts.items():
        if count == total:
            continue
        gradients = [
            parameter.grad for parameter in parameters[name].values() if parameter.grad is not None
        ]
        if gradients:
            torch._foreach_mul_(gradients, total / count)


def clip_gradients(parameters: Sequence[nn.Parameter], max_norm: float | None) -> Tensor:
    """Scale gradients down to a global norm of at most `max_norm`.

    Returns the norm before clipping, (), still on the device. None does not clip.
    """
    return nn.utils.clip_grad_norm_(parameters, torch.inf if max_norm is None else max_norm)
