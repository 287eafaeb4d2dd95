"""Gradients of one update: each component's is the token-weighted mean over the batches that trained it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn

from polyglot.batch import Batch
from polyglot.sharing import SharingConfig, components_of


def tokens_by_component(batches: Iterable[Batch], components: Iterable[str], sharing: SharingConfig) -> dict[str, int]:
    """How many target tokens train each component; what nobody trains is absent."""
    tokens: Counter[str] = Counter()
    for batch in batches:
        tokens.update(dict.fromkeys(components_of(batch.task.pair, sharing), batch.target_tokens))
    return {name: tokens[name] for name in components if name in tokens}


def to_means(parameters: Mapping[str, Mapping[str, nn.Parameter]], tokens: Mapping[str, int], *, total: int) -> None:
    """Turn gradients summed with weights tokens/total into each component's own mean.

    A batch of n tokens went into the sum with n/total; a component that only some of the batches trained is scaled up.
    """
    for name, count in tokens.items():
        gradients = [each.grad for each in parameters[name].values() if each.grad is not None]
        if count != total and gradients:
            torch._foreach_mul_(gradients, total / count)


def clip(parameters: Sequence[nn.Parameter], largest: float | None) -> Tensor:
    """Scale gradients down to a global norm of at most `largest`; the norm before is returned, still on the device."""
    return nn.utils.clip_grad_norm_(parameters, torch.inf if largest is None else largest)
