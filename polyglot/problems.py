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
    return [_sentence(problem, model) for problem in error.errors(include_url=False)]


def _sentence(problem: dict[str, Any], model: type[BaseModel]) -> str:
    """One of pydantic's problems as: place, what was found, what would be right."""
    location, found = _without_tags(problem["loc"], model), problem["input"]
    place = ".".join(map(str, location))
    kind, context = problem["type"], problem.get("ctx", {})
    if kind == "extra_forbidden":
        return f"{place}: {unknown_name('key', str(location[-1]), _fields(location[:-1], model))}"
    if kind == "missing":
        return f"{place}: missing; it has no default"
    if kind == "union_tag_invalid":
        known = [tag.strip("'") for tag in context["expected_tags"].split(", ")]
        room = location[-1].replace("_", " ") if isinstance(location[-1], str) else "type"  # an item of a list has only a number
        return f"{place}.type: {unknown_name(room, context['tag'], known)}"
    if kind == "union_tag_not_found":
        return f"{place}: `type` is missing; write a name, or a mapping with `type` and settings"
    if kind == "value_error":
        return f"{place}: {context['error']}" if place else str(context["error"])
    return f"{place}: found {found!r}; {problem['msg'][0].lower()}{problem['msg'][1:]}"


def _without_tags(location: Sequence[Any], model: type[BaseModel]) -> list[Any]:
    """pydantic puts the chosen type into the path of a union; the user's file has no such level."""
    kept: list[Any] = []
    for number, key in enumerate(location):
        is_tag = isinstance(key, str) and number and key not in _fields(kept, model) and _is_union(kept, model, key)
        if not is_tag:
            kept.append(key)
    return kept


def _candidates(location: Sequence[Any], model: type[BaseModel]) -> list[Any]:
    """The types that may stand at a place."""
    here: list[Any] = [model]
    for key in location:
        below: list[Any] = []
        for one in here:
            if isinstance(one, type) and issubclass(one, BaseModel) and key in one.model_fields:
                below += _alternatives(one.model_fields[key].annotation)
            elif typing.get_origin(one) in (list, dict):
                below += _alternatives(typing.get_args(one)[-1])
        here = below
    return here


def _alternatives(annotation: Any) -> list[Any]:
    if typing.get_origin(annotation) is Annotated:
        return _alternatives(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) in (Union, types.UnionType):
        return [each for one in typing.get_args(annotation) for each in _alternatives(one)]
    return [annotation]


def _fields(location: Sequence[Any], model: type[BaseModel]) -> set[str]:
    found = _candidates(location, model)
    return {field for one in found if isinstance(one, type) and issubclass(one, BaseModel) for field in one.model_fields}


def _is_union(location: Sequence[Any], model: type[BaseModel], tag: str) -> bool:
    return any(
        isinstance(one, type) and issubclass(one, BaseModel) and "type" in one.model_fields and one.model_fields["type"].default == tag
        for one in _candidates(location, model)
    )
