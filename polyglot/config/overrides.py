"""Overrides from the command line: `key=value` sets a key, `key+=value` extends a list."""

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
"""Digits of the largest position in a list; Python refuses to convert very long numbers."""
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
    last_key = keys[-1]
    if isinstance(parent, list):
        position = _position(parent, last_key, keys)
        parent[position] = value
    else:
        parent[last_key] = value


def _shell_hint(text: str) -> str:
    """Suggest quotes for a value that the shell has divided at a space; empty for others."""
    begins_collection = text.startswith(("{", "["))
    is_incomplete = text.endswith((",", ":"))
    if begins_collection and is_incomplete:
        return "; the shell divides it at the spaces, so put the whole override in quotes"
    return ""


def drop_other_length(values: dict[str, Any], overrides: Sequence[str]) -> None:
    """Remove `training.steps` in place if an override sets `training.epochs`, and vice versa.

    Both stay if the command line sets both: the configuration is then refused.
    """
    training = values.get("training")
    if not isinstance(training, dict):
        return
    overridden_keys = set(map(override_key, overrides))
    kept_keys = []
    for key in LENGTH_KEYS:
        if f"training.{key}" in overridden_keys:
            kept_keys.append(key)
    if len(kept_keys) != 1:
        return
    kept_key = kept_keys[0]
    if training.get(kept_key) is None:
        return
    for key in LENGTH_KEYS:
        if key != kept_key:
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
        advice = f"write {path}=…"
        if isinstance(present, dict):
            advice = f"set its keys instead: {path}.KEY=…"
        raise _error(keys, f"+= appends to a list, and this is {format_value(present)}; {advice}")

    types = types_at(keys, Config)
    may_be_list = any(map(_is_list, types))
    if types and not may_be_list:
        raise _error(keys, f"+= appends to a list, and this key holds none; write {path}=…")
    new_items = value if isinstance(value, list) else [value]
    return [*present, *new_items]


def _present_value(values: dict[str, Any], keys: Sequence[str]) -> Any:
    """Return the value of a key before an override: of the file, its schedule, or the default."""
    parent = _parent(values, keys)
    key = keys[-1]
    if isinstance(parent, list):
        position = _position(parent, key, keys)
        return parent[position]
    if key in parent:
        return parent[key]

    is_schedule_key = keys[0] == "schedule" and len(keys) == 2
    if is_schedule_key:
        named_schedule = _named_schedule(parent)
        if key in named_schedule:
            return named_schedule[key]
    return _default_list(keys)


def _default_list(keys: Sequence[str]) -> list[Any] | None:
    """Return the default of a key if it is a list, else None."""
    *parents, name = keys
    for section in types_at(parents, Config):
        fields = getattr(section, "model_fields", {})
        field = fields.get(name)
        if field is not None and isinstance(field.default, list):
            return field.default
    return None


def _named_schedule(schedule: dict[str, Any]) -> dict[str, Any]:
    """Return the values of the schedule file that `base` names; empty without a valid one."""
    name = schedule.get("base")
    if not isinstance(name, str):
        return {}
    with suppress(ConfigError):  # reported when the configuration is checked
        path = presets.find("schedules", name)
        return read_yaml(path)
    return {}


def _is_list(value_type: Any) -> bool:
    """True for `list`, `list[str]` and so on."""
    return getattr(value_type, "__origin__", value_type) is list


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
        item = int(key) if _is_position(key) else key
        path.append(item)
    return ConfigError([Problem(tuple(path), message)])
