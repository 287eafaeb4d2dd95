"""Gradients of one update: each component's is the mean over all tokens, or sentences, of the batches that trained it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn

from polyglot.tasks.pairs import LanguagePair
from polyglot.tasks.sharing import SharingConfig, component_names


def count_by_component(
    batches: Iterable[tuple[LanguagePair, int]], components: Iterable[str], sharing: SharingConfig
) -> dict[str, int]:
    """How much trains each component, in target tokens or sentences; what nobody trains is absent. batches: the pair and the count of
    each."""
    counts: Counter[str] = Counter()
    for pair, count in batches:
        counts.update(dict.fromkeys(component_names(pair, sharing), count))
    return {name: counts[name] for name in components if name in counts}


def scale_to_means(
    parameters: Mapping[str, Mapping[str, nn.Parameter]], counts: Mapping[str, int], *, total: int
) -> None:
    """Turn gradients summed with weights count/total into each component's own mean.

    A batch of n tokens (or sentences) went into the sum with n/total; a component that only some of the batches trained is scaled up.
    """
    for name, count in counts.items():
        gradients = [each.grad for each in parameters[name].values() if each.grad is not None]
        if count != total and gradients:
            torch._foreach_mul_(gradients, total / count)


def clip_gradients(parameters: Sequence[nn.Parameter], largest: float | None) -> Tensor:
    """Scale gradients down to a global norm of at most `largest`; the norm before is returned, still on the device."""
    return nn.utils.clip_grad_norm_(parameters, torch.inf if largest is None else largest)
