"""What pydantic found wrong, as sentences: place, what was found, what would be right."""

from __future__ import annotations

import types
import typing
from collections.abc import Sequence
from typing import Annotated, Any, Union

from pydantic import BaseModel, ValidationError

from polyglot.errors import unknown_name


def sentences(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """Every problem of values that should have been a `model`."""
    found: dict[str, list[str]] = {}
    for problem in error.errors(include_url=False):
        head, wanted = _sentence(problem, model)
        found.setdefault(head, []).append(wanted)
    # A value that fits no member of a union is one problem, though pydantic has one for each member.
    return [" or ".join([head + wanted[0], *(each.removeprefix("input should be ") for each in wanted[1:])]) for head, wanted in found.items()]


def _sentence(problem: dict[str, Any], model: type[BaseModel]) -> tuple[str, str]:
    """One of pydantic's problems as: place and what was found, what would be right."""
    location, parents = _place(problem["loc"], model)
    place = ".".join(map(str, location))
    kind, context = problem["type"], problem.get("ctx", {})
    if kind == "extra_forbidden":
        return f"{place}: ", unknown_name("key", str(location[-1]), _fields(parents))
    if kind == "missing":
        return f"{place}: ", "missing; it has no default"
    if kind == "union_tag_invalid":
        known = [tag.strip("'") for tag in context["expected_tags"].split(", ")]
        room = location[-1].replace("_", " ") if isinstance(location[-1], str) else "type"  # an item of a list has only a number
        return f"{place}.type: ", unknown_name(room, context["tag"], known)
    if kind == "union_tag_not_found":
        return f"{place}: ", "`type` is missing; write a name, or a mapping with `type` and settings"
    if kind == "value_error":
        return f"{place}: " if place else "", str(context["error"])
    return f"{place}: found {problem['input']!r}; ", f"{problem['msg'][0].lower()}{problem['msg'][1:]}"


def _place(location: Sequence[Any], model: type[BaseModel]) -> tuple[list[Any], list[Any]]:
    """The path in the user's file, and what may stand where its last key does.

    pydantic puts the member of a union that it tried into the path; the file has no such level.
    """
    kept: list[Any] = []
    here: list[Any] = [model]
    parents: list[Any] = []
    for key in location:
        if len(here) > 1 and isinstance(key, str):
            here = [one for one in here if _is_model(one) and "type" in one.model_fields and one.model_fields["type"].default == key]
        else:
            kept.append(key)
            parents, here = here, [each for one in here for each in _below(one, key)]
    return kept, parents


def _below(kind: Any, key: Any) -> list[Any]:
    """The types that may stand below a key."""
    if _is_model(kind) and key in kind.model_fields:
        return _alternatives(kind.model_fields[key].annotation)
    if typing.get_origin(kind) in (list, dict):
        return _alternatives(typing.get_args(kind)[-1])
    return []


def _alternatives(annotation: Any) -> list[Any]:
    if typing.get_origin(annotation) is Annotated:
        return _alternatives(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) in (Union, types.UnionType):
        return [each for one in typing.get_args(annotation) for each in _alternatives(one)]
    return [] if annotation is types.NoneType else [annotation]


def _fields(kinds: Sequence[Any]) -> set[str]:
    return {field for one in kinds if _is_model(one) for field in one.model_fields}


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
