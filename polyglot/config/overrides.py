"""Overrides from the command line: `key.path=value`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polyglot.core.errors import ConfigError
from polyglot.core.problems import Problem
from polyglot.core.yaml import format_value, parse_value


def apply_override(values: dict[str, Any], override: str) -> None:
    """Set one key of nested values in place; numbers select items of lists.

    Raises ConfigError if the override is malformed or its key cannot be set.
    """
    name, equals, text = override.partition("=")
    usage = "an override is written key=value, such as training.steps=1000"
    if not name:
        raise ConfigError(f"{override!r}: {usage}")
    keys = name.split(".")
    if not equals:
        raise _error(keys, usage)
    try:
        value = parse_value(text)
    except ConfigError as error:
        raise _error(keys, str(error)) from None

    parent = _parent(values, keys)
    key = keys[-1]
    if isinstance(parent, list):
        position = _position(parent, key, keys)
        parent[position] = value
    else:
        parent[key] = value


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
    if not key.isdigit() or int(key) >= len(items):
        message = f"{key!r} is no item of a list of {len(items)}; they count from 0"
        raise _error(keys, message)
    return int(key)


def _error(keys: Sequence[str], message: str) -> ConfigError:
    path: list[str | int] = []
    for key in keys:
        path.append(int(key) if key.isdigit() else key)
    return ConfigError([Problem(tuple(path), message)])
