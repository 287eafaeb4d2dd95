"""Runs made of other runs: their mean, a part of them, and the configuration that adds a language."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from polyglot.config.schema import Config
from polyglot.core.errors import ConfigError, unknown_name
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.averaging import average_component
from polyglot.runs.run import Run
from polyglot.tasks.sharing import SharingConfig


def export(
    run: Run, place: Path, *, checkpoint: str | int, components: Sequence[str] = ("*",)
) -> tuple[Run, list[str]]:
    """A new run directory with some components of a run, and the vocabularies of their languages: what `initialize` can start from.

    With all components it translates, too. components: names and patterns; checkpoint: with `average:N` the mean of the newest N.
    Returns it with what it holds. Raises ConfigError for a component that is not there, CheckpointError where it cannot be written.
    """
    chosen = run.choose_checkpoints(checkpoint)
    there = chosen[-1].components
    for pattern in components:
        if not any(fnmatchcase(name, pattern) for name in there):
            raise ConfigError(unknown_name("component", pattern, there))
    taken = [name for name in there if any(fnmatchcase(name, pattern) for pattern in components)]
    new = Run.create(run.config.model_copy(update={"run": str(place)}))
    with new.remove_on_error():
        for language in _languages_of(taken, run.config):
            shutil.copyfile(run.vocabulary_file(language), new.vocabulary_file(language))
        if run.symbols_file.is_file():
            shutil.copyfile(run.symbols_file, new.symbols_file)
        checkpoints.write(
            new.checkpoints,
            step=chosen[-1].step,
            components={name: average_component(chosen, name) for name in taken},
            training={},
            state={"taken_from": {"run": run.path.name, "steps": [one.step for one in chosen]}},
            configuration=new.built_from,
        )
    return new, taken


def _languages_of(components: Sequence[str], config: Config) -> list[str]:
    """The languages whose words those components may know."""
    owners = {name.partition(".")[2] for name in components}
    groups = lambda language: {
        language,
        *(config.sharing.group_name(part, language) for part in SharingConfig.model_fields),
    }  # noqa: E731
    return [language for language in config.languages if owners & groups(language)]
