"""Baselines: the system with which each system is compared, in our results and in a paper."""

from __future__ import annotations

from collections.abc import Mapping

from polyglot.experiments.settings import SystemConfig

Systems = Mapping[str, SystemConfig]
"""Settings of all systems, by name."""


def baseline_of(systems: Systems, name: str) -> str | None:
    """Return the system with which one is compared; None for the first without `beside`."""
    first = next(iter(systems))
    if systems[name].beside:
        return systems[name].beside
    return None if name == first else first


def paper_differences(systems: Systems, name: str) -> dict[str, tuple[float, str]]:
    """Return differences of a paper's scores by direction, each with the system it is from.

    If the paper lacks the baseline of the system, the difference is from the baseline's baseline,
    and so on. A direction without any baseline in the paper is left out.
    """
    differences = {}
    for direction, score in systems[name].paper.items():
        baseline = baseline_of(systems, name)
        while baseline and direction not in systems[baseline].paper:
            baseline = baseline_of(systems, baseline)
        if baseline:
            difference = round(score - systems[baseline].paper[direction], 2)
            differences[direction] = (difference, baseline)
    return differences
