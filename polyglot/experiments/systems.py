"""Translation systems of an experiment: single runs, and ensembles of several runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from polyglot.core.errors import ConfigError, abbreviate
from polyglot.core.score_tables import NO_VALUE
from polyglot.experiments.config import Experiment, slug
from polyglot.experiments.runs import ExperimentRun, flatten_settings
from polyglot.runs.run import Run

EXISTING_RUN = "existing run: "
"""Beginning of the command of a run that the experiment did not train, in `result.json`."""


@dataclass(frozen=True)
class System:
    """Run or ensemble that translates the test text for one matrix, or for a part of it."""

    key: str
    """name below `systems` in the experiment file; several seeds and separate pairs share it"""
    name: str
    """name of its folders"""
    seed: int | str
    """seed or existing run, as in `ExperimentRun`; the folder name for an ensemble"""
    runs: Sequence[ExperimentRun]
    """a single run, or the runs of an ensemble"""
    is_ensemble: bool = False

    @property
    def command(self) -> str:
        """Command of the training; for an ensemble or an existing run, the names of the runs."""
        if self.is_ensemble:
            return f"ensemble: {' '.join(run.name for run in self.runs)}"
        run = self.runs[0]
        if not run.arguments:
            return f"{EXISTING_RUN}{run.path.name}"
        return shlex.join(["polyglot", "train", *run.arguments])

    @property
    def settings(self) -> dict[str, str]:
        """Configuration by key, without run directory and seed.

        For an ensemble, the different values of its runs are joined with commas.
        """
        configs = []
        keys: dict[str, None] = {}
        for run in self.runs:
            config = run.training_config.model_dump(mode="json", exclude={"run", "seed"})
            settings = dict(flatten_settings(config))
            configs.append(settings)
            keys.update(dict.fromkeys(settings))

        joined = {}
        for key in keys:
            values = dict.fromkeys(settings.get(key, NO_VALUE) for settings in configs)
            joined[key] = ", ".join(values)
        return joined


def systems_of(experiment: Experiment, runs: Sequence[ExperimentRun]) -> list[System]:
    """Return every run as a system, and after them the ensembles."""
    systems = [System(run.system, run.name, run.seed, [run]) for run in runs]
    for key, config in experiment.systems.items():
        if config.ensemble:
            members = [run for run in runs if run.system in config.ensemble]
            folder = f"{slug(key)}-ensemble"
            systems.append(
                System(
                    key,
                    folder,
                    folder,
                    members,
                    is_ensemble=True,
                )
            )
    return systems


def check_systems(systems: Sequence[System], *, where: str) -> None:
    """Raise ConfigError for equal folder names, and for runs that cannot form an ensemble.

    The vocabularies of runs that are not trained yet are known only after their training, so
    call it again then.
    """
    problems = []
    names = [system.name for system in systems]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        problems.append(
            f"systems: two would be evaluated in the folder {abbreviate(repeated)}; rename one"
        )
    for system in systems:
        if system.is_ensemble:
            for problem in _ensemble_problems(system.runs):
                problems.append(f"systems.{system.key}.ensemble: {problem}")
    if problems:
        raise ConfigError(problems, where=where)


def _ensemble_problems(runs: Sequence[ExperimentRun]) -> Iterator[str]:
    """Yield the reasons why runs cannot form an ensemble."""
    first = runs[0]
    if len(runs) == 1:
        yield (f"has only one run, {first.name}; add a seed or a system, or leave the ensemble out")
    for other in runs[1:]:
        differences = _trained_pairs(other) ^ _trained_pairs(first)
        if differences:
            yield (
                f"{first.name} and {other.name} are trained on different pairs "
                f"({abbreviate(sorted(differences))}); name runs with equal pairs"
            )
            return
    for language in first.training_config.languages:
        if not _share_vocabulary(runs, language):
            yield (
                f"its runs have different vocabularies of {language}, so that they cannot "
                "translate together; give them the same settings and text, or let them start "
                "from one run with `initialize`. If a text has more lines than "
                "`vocabulary.sentences`, the seed chooses the lines: 0 takes all"
            )


def _trained_pairs(run: ExperimentRun) -> set[str]:
    """Trained pairs without copies, which every model can translate, trained or not."""
    return {str(pair) for pair in run.training_config.pairs if not pair.is_copy}


def _share_vocabulary(runs: Sequence[ExperimentRun], language: str) -> bool:
    """True if all known vocabularies are equal, and all settings for those to come."""
    vocabularies = []
    settings = []
    for run in runs:
        if run.is_started:
            vocabulary = _vocabulary(run, language)
            if vocabulary:
                vocabularies.append(vocabulary)
        elif not run.initialized_from:
            settings.append(_vocabulary_settings(run, language))
    return _are_equal(vocabularies) and _are_equal(settings)


def _are_equal(values: Sequence[Any]) -> bool:
    return all(value == values[0] for value in values)


def _vocabulary(run: ExperimentRun, language: str) -> Any:
    """Identity of the vocabulary and the normalisation of a run; None before its training."""
    trained = Run.open(run.path)
    if language not in trained.vocabularies:
        return None
    return trained.vocabularies[language].sha256, trained.normalisers[language].fingerprint


def _vocabulary_settings(run: ExperimentRun, language: str) -> Any:
    """Settings that determine a vocabulary."""
    config = run.training_config
    return (
        config.vocabulary.for_language(language),
        config.text.for_language(language),
        config.sharing.members("vocabulary", language, config.languages),
        config.data.folder,
        config.data.train,
    )
