"""Load a configuration: YAML file, overrides from the command line, and all checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from polyglot.config.consistency import consistency_problems
from polyglot.config.language_names import merge_language_problems
from polyglot.config.overrides import apply_override, drop_other_length
from polyglot.config.pydantic_errors import validation_problems
from polyglot.config.schema import (
    LENGTH_KEYS,
    Config,
    CorpusList,
    DataConfig,
    TrainingConfig,
)
from polyglot.config.stored import complete_stored_config, is_stored_config
from polyglot.config.unused import refused_settings
from polyglot.core import presets
from polyglot.core.errors import ConfigError, collect_errors
from polyglot.core.hub_address import is_hub_address
from polyglot.core.problems import KeyPath, Problem
from polyglot.core.yaml import format_value, read_yaml

Settings = TypeVar("Settings", bound=BaseModel)

ExtraProblems = Callable[[Config], Iterable[Problem]]
"""Check that runs after the others if they report a problem, such as the preflight of `train`."""


def load_config(
    name: str | Path,
    overrides: Sequence[str] = (),
    *,
    extra_problems: ExtraProblems | None = None,
) -> Config:
    """Load a file or a preset, with `key.path=value` overrides.

    extra_problems: a further check of the valid part of an invalid configuration, so that the user
    sees its problems at once too.
    Raises ConfigError with every problem: key, what was found, what would be right.
    """
    if is_hub_address(name):
        raise ConfigError(
            f"{name}: a run on the hub is no configuration to train; "
            f"`polyglot show {name} > mine.yaml` writes its configuration to a file"
        )
    path = presets.find("configs", str(name))
    run_name = path.parent.name if path.stem == "config" else path.stem
    values = read_yaml(path)
    is_stored = is_stored_config(path)
    if is_stored:
        values = complete_stored_config(values)
    return configure(
        values,
        overrides,
        run=f"runs/{run_name}",
        where=str(name),
        is_stored=is_stored,
        refuse_unused=True,
        extra_problems=extra_problems,
    )


def configure(
    values: dict[str, Any],
    overrides: Sequence[str],
    *,
    run: str,
    where: str,
    is_stored: bool = False,
    refuse_unused: bool = False,
    extra_problems: ExtraProblems | None = None,
) -> Config:
    """Apply overrides to values and check them.

    run: run directory, unless the values name one. where: name of the file in error messages.
    is_stored: True for the configuration of a run, which may have both steps and epochs.
    refuse_unused: report settings that were written and have no effect.
    extra_problems: see `load_config`. Raises ConfigError with every problem.
    """
    problems: list[Problem] = []
    for override in overrides:
        with collect_errors(problems):
            apply_override(values, override)
    drop_other_length(values, overrides)
    if not is_stored:
        problems += _repeated_length(values)
    if "schedule" in values:
        try:
            values["schedule"] = _expand_schedule(values["schedule"])
        except ConfigError as error:
            problems += error.problems
            del values["schedule"]
    if values.get("run") is None:
        values["run"] = run

    def unused(config: Config) -> list[Problem]:
        return refused_settings(config, values, overrides, is_stored=is_stored)

    return check_config(
        values,
        where=where,
        problems=problems,
        written_problems=unused if refuse_unused else None,
        extra_problems=extra_problems,
    )


def check_config(
    values: dict[str, Any],
    *,
    where: str,
    problems: Sequence[Problem] = (),
    written_problems: ExtraProblems | None = None,
    extra_problems: ExtraProblems | None = None,
) -> Config:
    """Turn values into a configuration.

    where: name of the file in error messages. problems: problems that are already known; the values
    do not contain their keys. written_problems: a further check, which runs with or without other
    problems. extra_problems: see `load_config`. Raises ConfigError with every problem.
    """
    problems = list(problems)
    config: Config | None = None
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        reported = {problem.key for problem in problems}
        for problem in validation_problems(error, Config):
            if problem.key not in reported:
                problems.append(problem)

    left_out: set[KeyPath] = set()
    if problems:
        config, left_out = _valid_part(values, problems)
    if config:
        problems += _consistency_problems(config, left_out)
        if written_problems:
            problems += _independent(written_problems(config), left_out)
        if problems and extra_problems:
            problems += _independent(extra_problems(config), left_out)
        # Two checks may find the same mistake, such as a wrong schedule.
        problems = merge_language_problems(list(dict.fromkeys(problems)), config.languages)
    if problems:
        raise ConfigError(problems, where=where)
    return config


def check_settings(kind: type[Settings], values: dict[str, Any], *, where: str) -> Settings:
    """Turn values into settings of another kind than a configuration, such as a protocol.

    where: name of the file in error messages. Raises ConfigError with every problem.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise ConfigError(validation_problems(error, kind), where=where) from None


# The valid part of an invalid configuration


class _PartialData(DataConfig):
    train: CorpusList = []


class _PartialTraining(TrainingConfig):
    steps: int = 1


class _PartialConfig(Config):
    """Configuration whose required keys are optional, to check the valid part of an invalid one."""

    data: _PartialData = _PartialData()
    training: _PartialTraining = _PartialTraining()


def _valid_part(
    values: Mapping[str, Any],
    problems: Iterable[Problem],
) -> tuple[_PartialConfig | None, set[KeyPath]]:
    """Return the configuration without its invalid keys, and the paths that were left out.

    A path is a key of a section, a corpus, or a whole section. The configuration is None if the
    languages are invalid, since all checks depend on them.
    """
    left_out: set[KeyPath] = set()
    for problem in problems:
        for path in (problem.path, *problem.related):
            if path:
                depth = 3 if path[0] == "data" else 2
                left_out.add(path[:depth])

    while not any(path[0] == "languages" for path in left_out):
        try:
            return _PartialConfig.model_validate(_without(values, left_out)), left_out
        except ValidationError as error:
            # A section needs a key that was left out: leave out the whole section.
            left_out |= {details["loc"][:1] for details in error.errors()}
    return None, left_out


def _without(values: Any, left_out: set[KeyPath], path: KeyPath = ()) -> Any:
    """Return nested values without the paths that are left out."""
    if isinstance(values, dict):
        remaining = {}
        for key, value in values.items():
            if (*path, key) not in left_out:
                remaining[key] = _without(value, left_out, (*path, key))
        return remaining
    if isinstance(values, list):
        items = []
        for number, item in enumerate(values):
            if (*path, number) not in left_out:
                items.append(_without(item, left_out, (*path, number)))
        return items
    return values


def _consistency_problems(config: Config, left_out: set[KeyPath]) -> list[Problem]:
    """Return the contradictions that do not depend on a key that was left out."""
    return _independent(consistency_problems(config), left_out)


def _independent(problems: Iterable[Problem], left_out: set[KeyPath]) -> list[Problem]:
    """Return the problems that do not depend on a key that was left out."""
    independent = []
    for problem in problems:
        if not any(problem.depends_on(path) for path in left_out):
            independent.append(problem)
    return independent


def _repeated_length(values: dict[str, Any]) -> list[Problem]:
    """Return a problem for a run whose length is set in steps and in epochs."""
    training = values.get("training")
    if not isinstance(training, dict):
        return []
    for key in LENGTH_KEYS:
        if training.get(key) is None:
            return []
    message = "steps and epochs both set the length of the run; keep exactly one of them"
    return [Problem(("training", "epochs"), message)]


def _expand_schedule(value: Any) -> Any:
    """Replace a name, or the key `base`, by the schedule file of that name; other keys override it.

    Raises ConfigError, for which the whole section is invalid. An unknown name is reported for
    `schedule`, since overrides move a plain name to `base`.
    """
    if isinstance(value, str):
        value = {"base": value}
    if not isinstance(value, dict) or "base" not in value:
        return value

    overrides = dict(value)
    name = overrides.pop("base")
    if not isinstance(name, str):
        message = f"the name of a schedule is expected, found {format_value(name)}"
        raise ConfigError([Problem(("schedule", "base"), message, related=(("schedule",),))])
    try:
        base = read_yaml(presets.find("schedules", name))
    except ConfigError as error:
        raise ConfigError([Problem(("schedule",), str(error))]) from None
    return {**base, **overrides}
