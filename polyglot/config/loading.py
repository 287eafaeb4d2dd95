"""Load a configuration: the YAML file, overrides from the command line, and all problems at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from polyglot.config.consistency import consistency_problems
from polyglot.config.pydantic_errors import Place, places, sentences
from polyglot.config.schema import Config, CorpusList, DataConfig, TrainingConfig
from polyglot.core import presets
from polyglot.core.errors import ConfigError
from polyglot.core.yaml import format_value, parse_value, read_yaml

Settings = TypeVar("Settings", bound=BaseModel)


ExtraProblems = Callable[["Config"], Iterable[str]]
"""Gives a sentence for each problem of a configuration, or of what is right in one."""


def load_config(
    name: str | Path, overrides: Sequence[str] = (), *, extra_problems: ExtraProblems | None = None
) -> Config:
    """A configuration from a file or a shipped name, with `key.path=value` overrides.

    extra_problems: what else is wrong with what is right in a configuration that is not.
    Raises ConfigError with every problem: place, what was found, what would be right.
    """
    path = presets.find("configs", str(name))
    run = f"runs/{path.stem if path.stem != 'config' else path.parent.name}"
    return configure(read_yaml(path), overrides, run=run, where=str(name), extra_problems=extra_problems)


def configure(
    values: dict[str, Any],
    overrides: Sequence[str],
    *,
    run: str,
    where: str,
    extra_problems: ExtraProblems | None = None,
) -> Config:
    """Values to a configuration, with `key.path=value` overrides laid over them; `run` is its place unless they name one.

    extra_problems: as for `load_config`. Raises ConfigError with every problem; `where` names the file in it.
    """
    problems: dict[str, str] = {}
    for override in overrides:
        try:
            _override(values, override)
        except ConfigError as error:
            problems[override.partition("=")[0]] = str(error)
    if "schedule" in values:
        try:
            values["schedule"] = _schedule(values["schedule"])
        except ConfigError as error:
            problems["schedule"] = str(error)
            del values["schedule"]
    if values.get("run") is None:
        values["run"] = run
    return check_config(values, where=where, problems=problems, extra_problems=extra_problems)


def check_config(
    values: dict[str, Any],
    *,
    where: str,
    problems: Mapping[str, str] = {},
    extra_problems: ExtraProblems | None = None,
) -> Config:
    """Values to a configuration. Raises ConfigError with every problem; `where` names the file in it.

    problems: what is known to be wrong already, by its key; the values are those without it. extra_problems: as for `load_config`.
    """
    found, wrong = list(problems.values()), [tuple(key.split(".")) for key in problems]
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        found += [
            sentence
            for sentence in sentences(error, Config)
            if sentence.partition(":")[0] not in problems
        ]
        wrong += places(error, Config)
    if wrong:
        config, wrong = _rest(values, wrong)
    if config:
        found += (
            one
            for one in consistency_problems(config)
            if not any(_speaks_of(one, place) for place in wrong)
        )
        found += extra_problems(config) if found and extra_problems else ()
    if found:
        raise ConfigError(found, where=where)
    return config


def check_settings(kind: type[Settings], values: dict[str, Any], *, where: str) -> Settings:
    """Values to settings of one kind. Raises ConfigError with every problem; `where` names the file in it."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise ConfigError(sentences(error, kind), where=where) from None


class _DataRest(DataConfig):
    train: CorpusList = []


class _TrainingRest(TrainingConfig):
    steps: int = 1


class _Rest(Config):
    """What is right in a configuration; what is wrong by itself is left out, also where a configuration needs it."""

    data: _DataRest = _DataRest()
    training: _TrainingRest = _TrainingRest()


def _rest(values: Mapping[str, Any], wrong: Iterable[Place]) -> tuple[_Rest | None, set[Place]]:
    """What is right in values, and what was left out for it: settings of a section, corpora, or whole sections.

    None where the languages are wrong, of which everything else speaks.
    """
    left_out = {place[: 3 if place[0] == "data" else 2] for place in wrong}
    while not any(place[0] == "languages" for place in left_out):
        try:
            return _Rest.model_validate(_without(values, left_out)), left_out
        except ValidationError as error:  # something lacks in a section what was left out of it
            left_out |= {problem["loc"][:1] for problem in error.errors()}
    return None, left_out


def _without(values: Any, left_out: set[Place], place: Place = ()) -> Any:
    """Nested values without what stands at some places."""
    if isinstance(values, dict):
        return {
            key: _without(one, left_out, (*place, key))
            for key, one in values.items()
            if (*place, key) not in left_out
        }
    if isinstance(values, list):
        return [
            _without(one, left_out, (*place, number))
            for number, one in enumerate(values)
            if (*place, number) not in left_out
        ]
    return values


def _speaks_of(sentence: str, place: Place) -> bool:
    """Whether a contradiction is with what was left out: that is nobody's, for something else stands in for it."""
    name = re.escape(".".join(str(key) for key in place if not isinstance(key, int)))
    end = r"(?=[.:])" if len(place) == 1 else r"(?!\w)"  # a section's name is also a word
    return re.search(rf"(?<![\w.]){name}{end}", sentence) is not None


def _override(values: dict[str, Any], override: str) -> None:
    """Lay one `key.path=value` over the values; numbers select items of lists."""
    path, equals, text = override.partition("=")
    if not equals or not path:
        raise ConfigError(
            f"{override!r}: an override is written key=value, such as training.steps=1000"
        )
    try:
        value = parse_value(text)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    *parents, last = path.split(".")
    place: Any = values
    for number, key in enumerate(parents):
        if isinstance(place, list):
            place = place[_index(place, key, override)]
        else:
            if isinstance(
                place.get(key), str
            ):  # a name alone: `encoder: lstm`, `schedule: with_copies`
                place[key] = {"base" if key == "schedule" and number == 0 else "type": place[key]}
            place = place.setdefault(key, {})
        if not isinstance(place, (dict, list)):
            raise ConfigError(
                f"{override!r}: {'.'.join(parents[: number + 1])} is {format_value(place)} and has no keys below it"
            )
    if isinstance(place, list):
        place[_index(place, last, override)] = value
    else:
        place[last] = value


def _index(items: list[Any], key: str, override: str) -> int:
    if not key.isdigit() or int(key) >= len(items):
        raise ConfigError(
            f"{override!r}: {key!r} is no item of a list of {len(items)}; they count from 0"
        )
    return int(key)


def _schedule(value: Any) -> Any:
    """A name or `base: name` to the shipped (or own) schedule with the other keys laid over it. Raises ConfigError naming the key.

    Behind overrides a name alone stands at `base` too, so what is wrong with a name is said of `schedule`, which everybody wrote.
    """
    if isinstance(value, str):
        value = {"base": value}
    if not isinstance(value, dict) or "base" not in value:
        return value
    if not isinstance(value["base"], str):
        raise ConfigError(
            f"schedule.base: the name of a schedule is expected, found {format_value(value['base'])}"
        )
    try:
        base = read_yaml(presets.find("schedules", value["base"]))
    except ConfigError as error:
        raise ConfigError(f"schedule: {error}") from None
    return {**base, **{key: own for key, own in value.items() if key != "base"}}
