"""Conversion of pydantic's errors into problems: path, what was found, what would be right."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from polyglot.core.annotations import union_members
from polyglot.core.errors import pluralize, unknown_name
from polyglot.core.problems import InvalidSettings, KeyPath, Problem
from polyglot.core.yaml import format_value

Context = Mapping[str, Any]

EXPECTED: dict[str, Callable[[Context], str]] = {
    "int_type": lambda _: "a whole number",
    "int_from_float": lambda _: "a whole number",
    "float_type": lambda _: "a number",
    "finite_number": lambda _: "a finite number",
    "bool_type": lambda _: "true or false",
    "string_type": lambda _: "text",
    "list_type": lambda _: "a list",
    "dict_type": lambda _: "a mapping",
    "model_type": lambda _: "a mapping",
    "model_attributes_type": lambda _: "a name, or a mapping with `type` and settings",
    "literal_error": lambda context: context["expected"],
    "greater_than": lambda context: f"more than {_number(context['gt'])}",
    "greater_than_equal": lambda context: f"at least {_number(context['ge'])}",
    "less_than": lambda context: f"less than {_number(context['lt'])}",
    "less_than_equal": lambda context: f"at most {_number(context['le'])}",
    "too_short": lambda context: f"at least {pluralize(context['min_length'], 'item')}",
    "too_long": lambda context: f"at most {pluralize(context['max_length'], 'item')}",
}
"""Expected value for each type of pydantic error about a value."""


@dataclass(frozen=True)
class _Finding:
    """One of pydantic's errors, located in the user's file."""

    path: KeyPath
    parents: Sequence[Any]
    """Types that the last key of the path may belong to."""
    error: Mapping[str, Any]
    """The error as pydantic reports it: `type`, `loc`, `input`, `ctx`."""

    @property
    def type(self) -> str:
        return self.error["type"]


def validation_problems(error: ValidationError, model: type[BaseModel]) -> list[Problem]:
    """Return the problems of values that were validated as `model`."""
    findings = _findings(error, model)
    problems: dict[Problem, dict[str, None]] = {}  # each with its expected values
    for finding in findings:
        if _is_other_union_member(finding, findings):
            continue
        if finding.type == "value_error":
            for problem in _validator_problems(finding):
                problems[problem] = {}
            continue
        problem, expected = _problem(finding)
        expected_values = problems.setdefault(problem, {})
        expected_values[expected] = None

    # pydantic reports one error for each member of a union; together they are one problem.
    result = []
    for problem, expected_values in problems.items():
        message = problem.message + " or ".join(expected_values)
        result.append(Problem(problem.path, message, problem.related))
    return result


def _findings(error: ValidationError, model: type[BaseModel]) -> list[_Finding]:
    """Locate all errors in the user's file.

    Settings of a language are completed from the common ones. An error of a common setting appears
    again below `languages` and is reported once.
    """
    findings = []
    for details in error.errors(include_url=False):
        path, parents = _locate(details["loc"], model)
        findings.append(_Finding(path, parents, details))

    all_errors = {(finding.path, finding.type) for finding in findings}
    return [finding for finding in findings if not _is_inherited(finding, all_errors)]


def _is_inherited(finding: _Finding, all_errors: set[tuple[KeyPath, str]]) -> bool:
    """Return True if the common setting has the same error."""
    path = finding.path  # such as model.languages.de.encoder.size
    if path[1:2] != ("languages",):
        return False
    common_path = (path[0], *path[3:])
    return (common_path, finding.type) in all_errors


def _is_other_union_member(finding: _Finding, findings: Sequence[_Finding]) -> bool:
    """Return True if another member of the union reports an error inside the value."""
    if finding.type not in EXPECTED:
        return False
    path = finding.path
    depth = len(path)
    for other in findings:
        is_inside = len(other.path) > depth and other.path[:depth] == path
        if is_inside:
            return True
    return False


def _validator_problems(finding: _Finding) -> list[Problem]:
    """Return the problems that a validator of this program reports."""
    error = finding.error["ctx"]["error"]
    if isinstance(error, InvalidSettings):
        return [problem.below(*finding.path) for problem in error.problems]
    return [Problem(finding.path, str(error))]


def _problem(finding: _Finding) -> tuple[Problem, str]:
    """Return a problem whose message ends where the expected value follows, and that value."""
    path = finding.path
    value = finding.error["input"]
    context = finding.error.get("ctx", {})
    is_invalid_key = finding.type == "invalid_key" or finding.error["loc"][-1:] == ("[key]",)
    if finding.type == "extra_forbidden":
        name = str(path[-1])
        keys = _fields(finding.parents)
        return Problem(path, ""), unknown_name("key", name, keys)
    if finding.type == "missing":
        return Problem(path, ""), "missing; it has no default"
    if is_invalid_key:
        key = format_value(value)
        return Problem(path, ""), f"the key {key} is no text; put it in quotes"
    if finding.type == "union_tag_invalid":
        return _unknown_type(path, value["type"], context["expected_tags"])
    if finding.type == "union_tag_not_found":
        expected = "`type` is missing; write a name, or a mapping with `type` and settings"
        return Problem(path, ""), expected

    message = f"found {format_value(value)}; "
    if finding.type in EXPECTED:
        describe = EXPECTED[finding.type]
        return Problem(path, f"{message}expected "), describe(context)
    # No setting has this type of error yet: use pydantic's message.
    return Problem(path, message), finding.error["msg"]


def _unknown_type(path: KeyPath, name: Any, expected_tags: str) -> tuple[Problem, str]:
    """Return the problem of a `type` that no component has, and the known types.

    All settings below `path` are invalid without a type.
    """
    types_of_path = [tag.strip("'") for tag in expected_tags.split(", ")]
    type_path = (*path, "type")
    if not isinstance(name, str):
        message = f"found {format_value(name)}; expected "
        listing = ", ".join(types_of_path)
        return Problem(type_path, message, related=(path,)), f"one of {listing}"

    kind = "type"
    if isinstance(path[-1], str):  # an item of a list has only a number
        kind = path[-1].replace("_", " ")
    hint = unknown_name(kind, name, types_of_path)
    return Problem(type_path, "", related=(path,)), hint


def _number(number: float) -> str:
    if isinstance(number, float):
        return f"{number:g}"
    return str(number)


# Location in the user's file


def _locate(location: Sequence[Any], model: type[BaseModel]) -> tuple[KeyPath, list[Any]]:
    """Return the path in the user's file, and the types that its last key may belong to.

    pydantic adds two kinds of entries that the file does not have: the member of a union that it
    tried, and `[key]` after an invalid key.
    """
    path: list[Any] = []
    current: list[Any] = [model]
    parents: list[Any] = []
    for key in location:
        if len(current) > 1:
            label = str(key)
            current = [kind for kind in current if _is_called(kind, label)]
        elif key != "[key]":
            path.append(key)
            parents = current
            current = _types_at(key, parents)
    return tuple(path), parents


def types_at(path: Sequence[Any], model: type[BaseModel]) -> list[Any]:
    """Return all types of the value at a path of keys; an unknown key has none."""
    kinds: list[Any] = [model]
    for key in path:
        kinds = _types_at(key, kinds)
    return kinds


def _types_at(key: Any, parents: Sequence[Any]) -> list[Any]:
    """Return all types of the values that a key may have in any of the parents."""
    kinds: list[Any] = []
    for parent in parents:
        kinds += _types_below(parent, key)
    return kinds


def _types_below(kind: Any, key: Any) -> list[Any]:
    """Return the types of the value that a key has in a mapping, a list or a model."""
    if _is_model(kind) and key in kind.model_fields:
        field = kind.model_fields[key]
        return union_members(field.annotation)
    if typing.get_origin(kind) in (list, dict):
        item_type = typing.get_args(kind)[-1]
        return union_members(item_type)
    return []


def _is_called(kind: Any, label: str) -> bool:
    """Return True if `label` is pydantic's name for this member of a union."""
    if _is_model(kind) and "type" in kind.model_fields:
        return kind.model_fields["type"].default == label
    origin = typing.get_origin(kind)
    if origin:
        return label.startswith(f"{origin.__name__}[")
    return label == kind.__name__


def _fields(kinds: Sequence[Any]) -> set[str]:
    """Return the names of the settings of all models among these types."""
    fields: set[str] = set()
    for kind in kinds:
        if _is_model(kind):
            fields.update(kind.model_fields)
    return fields


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
