"""Scaling of summed gradients to the mean of each component, and clipping of the gradient norm.

These functions work on the parameters of a model by component, without any exchange.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn

from polyglot.tasks.pairs import LanguagePair
from polyglot.tasks.sharing import SharingConfig, component_names

Parameters = Mapping[str, Mapping[str, nn.Parameter]]
"""Parameters by component, then by name."""


def trainable_parameters(parameters: Parameters) -> dict[str, dict[str, nn.Parameter]]:
    """Parameters that are not frozen, by component."""
    trainable: dict[str, dict[str, nn.Parameter]] = {}
    for component, by_name in parameters.items():
        trainable[component] = {}
        for name, parameter in by_name.items():
            if parameter.requires_grad:
                trainable[component][name] = parameter
    return trainable


def flatten_parameters(parameters: Parameters) -> list[nn.Parameter]:
    """All parameters in one list, in the order of components and names."""
    flat: list[nn.Parameter] = []
    for by_name in parameters.values():
        flat.extend(by_name.values())
    return flat


def count_by_component(
    batches: Iterable[tuple[LanguagePair, int]],
    components: Iterable[str],
    sharing: SharingConfig,
) -> dict[str, int]:
    """Count the target tokens (or sentences) that train each component in one update.

    batches: the language pair of each batch and its number of target tokens (or sentences). A
    component that no batch trains is absent from the result.
    """
    counts: Counter[str] = Counter()
    for pair, batch_size in batches:
        for name in component_names(pair, sharing):
            counts[name] += batch_size

    return {name: counts[name] for name in components if name in counts}


def scale_to_means(parameters: Parameters, counts: Mapping[str, int], *, total: int) -> None:
    """Scale the gradients of each component to the mean over the tokens that trained it.

    Each batch entered the summed gradients with weight n/total (n = its tokens, or sentences).
    The gradients of a component that only some of the batches trained are therefore multiplied by
    total/count, where count is the sum of n over these batches.

    counts: by component, from `count_by_component`. total: sum of n over all batches.
    """
    for name, count in counts.items():
        if count == total:
            continue
        gradients = [
            parameter.grad for parameter in parameters[name].values() if parameter.grad is not None
        ]
        if gradients:
            torch._foreach_mul_(gradients, total / count)


def average_gradients(
    parameters: Parameters,
    batches: Sequence[tuple[LanguagePair, int]],
    sharing: SharingConfig,
) -> Parameters:
    """Scale the gradients of each component to their mean; returns the parameters with a gradient.

    parameters: by component, with the gradients of an update. batches: the language pair of each
    batch of the update and its number of target tokens (or sentences).
    """
    counts = count_by_component(batches, parameters, sharing)
    scale_to_means(parameters, counts, total=sum(count for _, count in batches))

    trained: dict[str, dict[str, nn.Parameter]] = {}
    for component in counts:
        trained[component] = {}
        for name, parameter in parameters[component].items():
            if parameter.grad is not None:
                trained[component][name] = parameter
    return trained


def clear_gradients(trained: Parameters) -> None:
    """Clear the gradients of the trained parameters.

    A model may have the components of many languages, so clearing everything would be slow.
    """
    for by_name in trained.values():
        for parameter in by_name.values():
            parameter.grad = None


def clip_gradients(parameters: Sequence[nn.Parameter], max_norm: float | None) -> Tensor:
    """Scale gradients down to a global norm of at most `max_norm`.

    Returns the norm before clipping, a scalar tensor that is still on the device. None does not
    clip.
    """
    return nn.utils.clip_grad_norm_(parameters, torch.inf if max_norm is None else max_norm)


def gradient_norm(parameters: Sequence[nn.Parameter]) -> Tensor:
    """Global norm of the gradients, a scalar tensor that is still on the device."""
    return clip_gradients(parameters, max_norm=None)
