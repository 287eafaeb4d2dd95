"""Consistency of the parts of an experiment file: systems, goals, sizes and protocol."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from polyglot.core.errors import abbreviate, unknown_name
from polyglot.evaluation.protocol import Protocol
from polyglot.experiments.baselines import Systems, baseline_of, paper_differences
from polyglot.experiments.settings import Goal, SizeConfig

Sizes = Mapping[str, SizeConfig]
"""Settings of all sizes, by name."""


def check_systems(
    systems: Systems,
    *,
    default_configs: Collection[str | None],
    figure: str,
) -> None:
    """Raise ValueError for a system without configuration, with wrong baseline or ensemble.

    default_configs: the configuration of systems without their own, in each size.
    """
    for name, system in systems.items():
        if system.is_trained and not system.config and None in default_configs:
            raise ValueError(f"systems.{name}: set one of `config`, `run` and `ensemble`")
        for ensemble_member in system.ensemble:
            _check_ensemble_member(
                systems, ensemble_member, place=f"systems.{name}.ensemble", figure=figure
            )
        if system.beside is not None and system.beside not in systems:
            raise ValueError(
                f"systems.{name}.beside: {unknown_name('system', system.beside, systems)}"
            )


def _check_ensemble_member(
    systems: Systems,
    name: str,
    *,
    place: str,
    figure: str,
) -> None:
    """Raise ValueError for a system whose runs cannot be part of an ensemble."""
    if name not in systems:
        possible = []
        for other, system in systems.items():
            if not system.ensemble and not system.separately:
                possible.append(other)
        raise ValueError(f"{place}: {unknown_name('system', name, possible)}")
    if systems[name].ensemble:
        raise ValueError(f"{place}: {name!r} is itself an ensemble; name the systems of its runs")
    if systems[name].separately:
        raise ValueError(
            f"{place}: {name!r} has one model per pair (`separately`); "
            "name a system whose models translate all pairs"
        )
    if figure == "left_out":
        raise ValueError(
            f"{place}: `figure: left_out` compares models with and without a direction; "
            "it cannot show ensembles"
        )


def check_baselines(systems: Systems) -> None:
    """Raise ValueError for cycles of `beside`, and for paper scores without a baseline."""
    for name in systems:
        chain = [name]
        baseline = baseline_of(systems, name)
        while baseline:
            if baseline in chain:
                raise ValueError(
                    f"systems.{name}.beside: leads back to {baseline!r}; "
                    "two systems cannot be the baselines of each other"
                )
            chain.append(baseline)
            baseline = baseline_of(systems, baseline)

    for name, system in systems.items():
        baseline = baseline_of(systems, name)
        differences = paper_differences(systems, name)
        missing = [pair for pair in system.paper if pair not in differences]
        if baseline and missing:
            raise ValueError(
                f"systems.{name}.paper: {', '.join(missing)}: "
                f"{baseline!r} has no score of the paper to compare with"
            )


def check_main_metric(
    systems: Systems,
    goals: Sequence[Goal],
    protocol: Protocol,
) -> None:
    """Raise ValueError for goals or paper scores if lower is better in the main metric."""
    has_paper = any(system.paper for system in systems.values())
    if protocol.measure.lower_is_better and (goals or has_paper):
        key = "goals" if goals else "systems, paper"
        raise ValueError(
            f"{key}: the main metric is {protocol.measure.title}, where lower is better; "
            "name bleu in the protocol's `metrics`, or chrf first"
        )


def check_goals(
    systems: Systems,
    goals: Sequence[Goal],
    protocol: Protocol,
) -> None:
    """Raise ValueError for goals of unknown systems, or without a reference or a pivot."""
    for number, goal in enumerate(goals):
        if goal.system not in systems:
            raise ValueError(
                f"goals.{number}.system: {unknown_name('system', goal.system, systems)}"
            )
        if goal.compares_with_paper and not systems[goal.system].reference:
            raise ValueError(f"goals.{number}: {goal.system!r} has no `reference` to compare with")
        if goal.behind_pivot is not None and not protocol.pivot:
            raise ValueError(f"goals.{number}.behind_pivot: the protocol has no `pivot`")


def check_sizes(systems: Systems, sizes: Sizes) -> None:
    """Raise ValueError for sizes that name unknown systems or pairs, or leave out needed ones."""
    for name, size in sizes.items():
        _check_size_systems(systems, size, place=f"sizes.{name}.systems")
        _check_size_only(systems, size, place=f"sizes.{name}.only")
        _check_size_pairs(systems, size, place=f"sizes.{name}.separately")


def _check_size_systems(
    systems: Systems,
    size: SizeConfig,
    *,
    place: str,
) -> None:
    trained = [name for name, system in systems.items() if system.is_trained]
    for name in size.systems:
        if name not in trained:
            raise ValueError(f"{place}: {unknown_name('trained system', name, trained)}")


def _check_size_only(
    systems: Systems,
    size: SizeConfig,
    *,
    place: str,
) -> None:
    for name in size.only:
        if name not in systems:
            raise ValueError(f"{place}: {unknown_name('system', name, systems)}")

    first = next(iter(systems))
    if size.only and first not in size.only:
        raise ValueError(
            f"{place}: lacks the first system, {first!r}, with which others are compared; add it"
        )
    for name in size.only:
        baseline = systems[name].beside
        if baseline and baseline not in size.only:
            raise ValueError(
                f"{place}: {name!r} is compared with {baseline!r}, which is missing; "
                "name both or neither"
            )
        missing = []
        for ensemble_member in systems[name].ensemble:
            if ensemble_member not in size.only:
                missing.append(repr(ensemble_member))
        if missing:
            raise ValueError(
                f"{place}: the ensemble {name!r} needs {abbreviate(missing)}, which is missing; "
                "name all or none"
            )


def _check_size_pairs(
    systems: Systems,
    size: SizeConfig,
    *,
    place: str,
) -> None:
    separate_pairs: set[str] = set()
    for system in systems.values():
        separate_pairs.update(system.separately)
    for pair in size.separately:
        if pair not in separate_pairs:
            raise ValueError(
                f"{place}: {unknown_name('pair with a separate model', pair, separate_pairs)}"
            )
    if not size.separately:
        return
    for name, system in systems.items():
        if system.separately and not set(size.separately) & set(system.separately):
            raise ValueError(
                f"{place}: no pair is left of {name!r}, which has {', '.join(system.separately)}"
            )
