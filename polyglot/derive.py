"""Runs made of other runs: their mean, a part of them, and the configuration that adds a language."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from polyglot import checkpoint as checkpoints
from polyglot.config import Config, configure
from polyglot.core.errors import ConfigError, unknown_name
from polyglot.run import Run
from polyglot.tasks.sharing import EVERYBODY, SharingConfig


def export(run: Run, place: Path, *, checkpoint: str | int, components: Sequence[str] = ("*",)) -> tuple[Run, list[str]]:
    """A new run directory with some components of a run, and the vocabularies of their languages: what `initialize` can start from.

    With all components it translates, too. components: names and patterns; checkpoint: with `average:N` the mean of the newest N.
    Returns it with what it holds. Raises ConfigError for a component that is not there, CheckpointError where it cannot be written.
    """
    chosen = run.choose(checkpoint)
    there = chosen[-1].components
    for pattern in components:
        if not any(fnmatchcase(name, pattern) for name in there):
            raise ConfigError(unknown_name("component", pattern, there))
    taken = [name for name in there if any(fnmatchcase(name, pattern) for pattern in components)]
    new = Run.create(run.config.model_copy(update={"run": str(place)}))
    with new.removed_on_error():
        for language in _languages_of(taken, run.config):
            shutil.copyfile(run.vocabulary_file(language), new.vocabulary_file(language))
        if run.symbols_file.is_file():
            shutil.copyfile(run.symbols_file, new.symbols_file)
        checkpoints.write(
            new.checkpoints,
            step=chosen[-1].step,
            components={name: checkpoints.average(chosen, name) for name in taken},
            training={},
            state={"taken_from": {"run": run.path.name, "steps": [one.step for one in chosen]}},
            configuration=new.built_from,
        )
    return new, taken


def _languages_of(components: Sequence[str], config: Config) -> list[str]:
    """The languages whose words those components may know."""
    owners = {name.partition(".")[2] for name in components}
    groups = lambda language: {language, *(config.sharing.group(part, language) for part in SharingConfig.model_fields)}  # noqa: E731
    return [language for language in config.languages if owners & groups(language)]


def with_language(
    run: Run,
    language: str,
    overrides: Sequence[str] = (),
    *,
    partners: Sequence[str] = (),
    free: Sequence[str] = (),
    checkpoint: str | int = "best",
) -> Config:
    """The configuration of a new run that has all of a run and one language more.

    The language trains with its partners (all others unless named) in both directions, and copies itself where the others did. All
    that is there starts from the run and stays as it is, but for components that fit a pattern of `free`.
    Raises ConfigError with every problem.
    """
    before = run.config
    if language in before.languages:
        raise ConfigError(f"{run.path}: has {language} already")
    for one in partners:
        if one not in before.languages:
            raise ConfigError(f"{run.path}: {unknown_name('language', one, before.languages)}")
    for pattern in free:
        if not any(fnmatchcase(name, pattern) for name in before.components):
            raise ConfigError(f"{run.path}: {unknown_name('component', pattern, before.components)}")
    sources, targets = ({getattr(pair, side) for pair in before.pairs} for side in ("source", "target"))
    others = partners or before.languages
    pairs = [f"{language}-{one}" for one in others if one in targets] + [f"{one}-{language}" for one in others if one in sources]
    copies = [language] if before.schedule.copies else False
    values = before.model_dump()
    values |= {
        "languages": [*before.languages, language],
        "run": None,
        "schedule": {**values["schedule"], "pairs": pairs, "exclude": [], "copies": copies, "phases": []},
        "sharing": {part: _without_newcomers(groups, before.languages) for part, groups in values["sharing"].items()},
        "freeze": [name for name in before.components if not any(fnmatchcase(name, pattern) for pattern in free)],
        "initialize": {name: {"run": str(run.path), "checkpoint": checkpoint} for name in before.components},
        "trained_before": [str(pair) for pair in before.pairs],
    }
    return configure(values, overrides, run=f"{run.path}-{language}", where=f"{run.path} with {language}")


def _without_newcomers(groups: dict[str, list[str]] | str, languages: Sequence[str]) -> dict[str, list[str]]:
    """What everybody shared is shared by those who were there: a new language has words of its own."""
    return {EVERYBODY: list(languages)} if groups == EVERYBODY else groups
