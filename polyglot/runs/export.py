"""Export of a run: the mean of its checkpoints, or a part of its components, as a new run."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from polyglot.config.schema import Config
from polyglot.core.errors import ConfigError, unknown_name
from polyglot.runs import checkpoint_writing
from polyglot.runs.averaging import average_component
from polyglot.runs.run import Run
from polyglot.runs.vocabulary_files import write_checksums
from polyglot.tasks.sharing import SharingConfig


def export(
    run: Run,
    place: Path,
    *,
    checkpoint: str | int,
    components: Sequence[str] = ("*",),
    configured_path: str | None = None,
) -> tuple[Run, list[str]]:
    """Make a run directory with components of a run and the vocabularies of their languages.

    `initialize` can start from it; with all components it also translates. components: names and
    patterns. checkpoint: as everywhere; `average:N` takes the mean of the newest N.
    configured_path: path that the configuration names, default the place. Returns the new
    run and the names of its components. Raises ConfigError for an unknown component, and
    CheckpointError if the run cannot be written.
    """
    chosen = run.choose_checkpoints(checkpoint)
    names = _matching_names(chosen[-1].components, components)
    config = run.config.model_copy(update={"run": configured_path or str(place)})
    new = Run.create(config, path=place)
    with new.lock(), new.remove_on_error():
        languages = _languages_of(names, run.config)
        run.fetch([run.vocabulary_file(language) for language in languages])
        for language in languages:
            shutil.copyfile(run.vocabulary_file(language), new.vocabulary_file(language))
        run.fetch([run.symbols_file])
        if run.symbols_file.is_file():
            shutil.copyfile(run.symbols_file, new.symbols_file)
        write_checksums(new.vocabulary_folder)
        steps = [member.step for member in chosen]
        for member in chosen:
            member.fetch_components(names)
        means = {name: average_component(chosen, name) for name in names}
        checkpoint_writing.write(
            new.checkpoints,
            step=steps[-1],
            components=means,
            training={},
            state={"taken_from": {"run": run.name, "steps": steps}},
            configuration=new.built_from,
            settings=new.settings,
        )
    return new, names


def _matching_names(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the names that match a pattern. Raises ConfigError for a pattern without a match."""
    selected = set()
    for pattern in patterns:
        matches = [name for name in names if fnmatchcase(name, pattern)]
        if not matches:
            raise ConfigError(unknown_name("component", pattern, names))
        selected.update(matches)
    return [name for name in names if name in selected]


def _languages_of(components: Sequence[str], config: Config) -> list[str]:
    """Return the languages whose vocabularies these components may need."""
    owners = {name.partition(".")[2] for name in components}
    languages = []
    for language in config.languages:
        groups = {language}
        for part in SharingConfig.model_fields:
            groups.add(config.sharing.group_name(part, language))
        if owners & groups:
            languages.append(language)
    return languages
