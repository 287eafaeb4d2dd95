"""Overrides from the command line: `key.path=value` sets a key, `key.path+=value` extends a list."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from polyglot.config.pydantic_errors import types_at
from polyglot.config.schema import LENGTH_KEYS, Config
from polyglot.core import presets
from polyglot.core.errors import ConfigError
from polyglot.core.problems import Problem
from polyglot.core.yaml import format_value, parse_value, read_yaml

MAX_POSITION_DIGITS = 9
USAGE = "an override is written key=value, such as training.steps=1000"


def override_key(override: str) -> str:
    """Return the key that an override sets or extends, such as `data.train`."""
    name, _, _ = override.partition("=")
    return name.removesuffix("+")


def apply_override(values: dict[str, Any], override: str) -> None:
    """Set one key of nested values in place, or extend its list; numbers select items of lists.

    Raises ConfigError if the override is malformed or its key cannot be set.
    """
    name, equals, text = override.partition("=")
    key = override_key(override)
    if not key:
        raise ConfigError(f"{override!r}: {USAGE}")
    keys = key.split(".")
    if not equals:
        raise _error(keys, USAGE)
    try:
        value = parse_value(text)
    except ConfigError as error:
        raise _error(keys, f"{error}{_shell_hint(text)}") from None

    parent = _parent(values, keys)
    if name.endswith("+"):
        value = _extended_list(values, keys, value)
    if isinstance(parent, list):
        position = _position(parent, keys[-1], keys)
        parent[position] = value
    else:
        parent[keys[-1]] = value


def _shell_hint(text: str) -> str:
    """Suggest quotes for a value that the shell has divided at a space; empty for others."""
    if text.startswith(("{", "[")) and text.endswith((",", ":")):
        return "; the shell divides it at the spaces, so put the whole override in quotes"
    return ""


def drop_other_length(values: dict[str, Any], overrides: Sequence[str]) -> None:
    """Remove `training.steps` in place if an override sets `training.epochs`, and vice versa.

    Both stay if the command line sets both: the configuration is then refused.
    """
    training = values.get("training")
    if not isinstance(training, dict):
        return
    keys = set(map(override_key, overrides))
    named = [key for key in LENGTH_KEYS if f"training.{key}" in keys]
    if len(named) != 1 or training.get(named[0]) is None:
        return
    for key in LENGTH_KEYS:
        if key not in named:
            training.pop(key, None)


# Lists


def _extended_list(values: dict[str, Any], keys: Sequence[str], value: Any) -> list[Any]:
    """Return the present list of a key with new items: those of a list, or a single value.

    Raises ConfigError for a key that holds no list, and without a value.
    """
    path = ".".join(keys)
    if value is None:
        raise _error(keys, f"nothing to append; write an item or a list: {path}+=[…]")
    present = _present_value(values, keys)
    if present is None or present is False:  # copies: false is a list without languages
        present = []
    if not isinstance(present, list):
        message = f"+= appends to a list, and this is {format_value(present)}; "
        if isinstance(present, dict):
            raise _error(keys, f"{message}set its keys instead: {path}.KEY=…")
        raise _error(keys, f"{message}write {path}=…")

    kinds = types_at(keys, Config)
    if kinds and not any(_is_list(kind) for kind in kinds):
        raise _error(keys, f"+= appends to a list, and this key holds none; write {path}=…")
    if isinstance(value, list):
        return [*present, *value]
    return [*present, value]


def _present_value(values: dict[str, Any], keys: Sequence[str]) -> Any:
    """Return the value of a key before an override: of the file, its schedule, or the default."""
    parent = _parent(values, keys)
    key = keys[-1]
    if isinstance(parent, list):
        position = _position(parent, key, keys)
        return parent[position]
    if key in parent:
        return parent[key]

    if keys[0] == "schedule" and len(keys) == 2:
        named_schedule = _named_schedule(parent)
        if key in named_schedule:
            return named_schedule[key]
    for kind in types_at(keys[:-1], Config):
        field = getattr(kind, "model_fields", {}).get(key)
        if field is not None and isinstance(field.default, list):
            return field.default
    return None


def _named_schedule(schedule: dict[str, Any]) -> dict[str, Any]:
    """Return the values of the schedule file that `base` names; empty without a valid one."""
    name = schedule.get("base")
    if isinstance(name, str):
        with suppress(ConfigError):  # reported when the configuration is checked
            return read_yaml(presets.find("schedules", name))
    return {}


def _is_list(kind: Any) -> bool:
    return getattr(kind, "__origin__", kind) is list


# Keys


def _parent(values: dict[str, Any], keys: Sequence[str]) -> dict[str, Any] | list[Any]:
    """Return the mapping or list that holds the last key; missing mappings are created."""
    current: Any = values
    for depth, key in enumerate(keys[:-1], start=1):
        if isinstance(current, list):
            position = _position(current, key, keys)
            current = current[position]
        else:
            value = current.setdefault(key, {})
            if isinstance(value, str):
                value = _expand_name(value, keys[:depth])
                current[key] = value
            current = value
        if not isinstance(current, (dict, list)):
            parent = ".".join(keys[:depth])
            message = f"{parent} is {format_value(current)} and has no keys below it"
            raise _error(keys, message)
    return current


def _expand_name(name: str, keys: Sequence[str]) -> dict[str, str]:
    """Expand a name alone, such as `encoder: lstm` or `schedule: with_copies`, to a mapping."""
    if keys == ["schedule"]:
        return {"base": name}
    return {"type": name}


def _position(items: Sequence[Any], key: str, keys: Sequence[str]) -> int:
    if not _is_position(key) or int(key) >= len(items):
        message = f"{key!r} is no item of a list of {len(items)}; they count from 0"
        raise _error(keys, message)
    return int(key)


def _is_position(key: str) -> bool:
    """True for the number of an item of a list."""
    return key.isascii() and key.isdecimal() and len(key) <= MAX_POSITION_DIGITS


def _error(keys: Sequence[str], message: str) -> ConfigError:
    path: list[str | int] = []
    for key in keys:
        path.append(int(key) if _is_position(key) else key)
    return ConfigError([Problem(tuple(path), message)])
