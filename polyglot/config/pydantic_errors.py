"""What pydantic found wrong, as our own sentences: place, what was found, what would be right."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Union

from pydantic import BaseModel, ValidationError

from polyglot.core.errors import pluralize, unknown_name
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
"""What would be right, for each of pydantic's kinds of a value that does not fit."""


def sentences(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """Every problem of values that should have been a `model`."""
    problems = _problems(error, model)
    found: dict[str, dict[str, None]] = {}
    for place, parents, problem in problems:
        if problem["type"] in EXPECTED and any(
            len(other) > len(place) and other[: len(place)] == place for other, _, _ in problems
        ):
            continue  # a member of a union that the value was not meant for: another one goes further
        if problem["type"] == "value_error":
            found |= {sentence: {"": None} for sentence in _own_sentences(place, problem)}
            continue
        head, wanted = _sentence(place, parents, problem)
        found.setdefault(head, {})[wanted] = None
    # A value that fits no member of a union is one problem, though pydantic has one for each member.
    return [head + " or ".join(wanted) for head, wanted in found.items()]


def places(error: ValidationError, model: type[BaseModel]) -> list[tuple[Any, ...]]:
    """Where in the user's file the problems are: keys and numbers of items."""
    return [place for place, _, _ in _problems(error, model)]


Place = tuple[Any, ...]


def _problems(
    error: ValidationError, model: type[BaseModel]
) -> list[tuple[Place, Sequence[Any], Mapping[str, Any]]]:
    """pydantic's problems with their places and what may stand there.

    Without those of a language that has only come to it from the settings for all, below `languages` of the same section.
    """
    problems = [
        (*_place(problem["loc"], model), problem) for problem in error.errors(include_url=False)
    ]
    of_all = [(place, problem["type"]) for place, _, problem in problems]
    return [
        (place, parents, problem)
        for place, parents, problem in problems
        if not (
            place[1:2] == ("languages",) and ((place[0], *place[3:]), problem["type"]) in of_all
        )
    ]


def _own_sentences(location: Place, problem: Mapping[str, Any]) -> list[str]:
    """What a check of ours says: a line for each problem."""
    place = ".".join(map(str, location))
    return [
        f"{place}: {line}" if place else line for line in str(problem["ctx"]["error"]).splitlines()
    ]


def _sentence(
    location: Place, parents: Sequence[Any], problem: Mapping[str, Any]
) -> tuple[str, str]:
    """One of pydantic's problems as: place and what was found, what would be right."""
    place = ".".join(map(str, location))
    kind, context = problem["type"], problem.get("ctx", {})
    if kind == "extra_forbidden":
        return f"{place}: ", unknown_name("key", str(location[-1]), _fields(parents))
    if kind == "missing":
        return f"{place}: ", "missing; it has no default"
    if kind == "invalid_key" or problem["loc"][-1:] == ("[key]",):
        return f"{place}: ", f"the key {format_value(problem['input'])} is no text; put it in quotes"
    if kind == "union_tag_invalid":
        known = [tag.strip("'") for tag in context["expected_tags"].split(", ")]
        if not isinstance(problem["input"]["type"], str):
            return (
                f"{place}.type: found {format_value(problem['input']['type'])}; expected ",
                f"one of {', '.join(known)}",
            )
        room = (
            location[-1].replace("_", " ") if isinstance(location[-1], str) else "type"
        )  # an item of a list has only a number
        return f"{place}.type: ", unknown_name(room, context["tag"], known)
    if kind == "union_tag_not_found":
        return (
            f"{place}: ",
            "`type` is missing; write a name, or a mapping with `type` and settings",
        )
    found = f"{place}: found {format_value(problem['input'])}; "
    # a kind that no setting has yet is said in pydantic's own words
    return (
        (f"{found}expected ", EXPECTED[kind](context))
        if kind in EXPECTED
        else (found, problem["msg"])
    )


def _number(number: float) -> str:
    return f"{number:g}" if isinstance(number, float) else str(number)


def _place(location: Sequence[Any], model: type[BaseModel]) -> tuple[Place, list[Any]]:
    """The path in the user's file, and what may stand where its last key does.

    pydantic puts the member of a union that it tried into the path, and `[key]` behind a key that is wrong itself; the file has
    no such levels.
    """
    kept: list[Any] = []
    here: list[Any] = [model]
    parents: list[Any] = []
    for key in location:
        if len(here) > 1:
            here = [one for one in here if _is_called(one, str(key))]
        elif key != "[key]":
            kept.append(key)
            parents, here = here, [each for one in here for each in _below(one, key)]
    return tuple(kept), parents


def _is_called(kind: Any, label: str) -> bool:
    """Whether that is pydantic's word for this member of a union."""
    if _is_model(kind) and "type" in kind.model_fields:
        return kind.model_fields["type"].default == label
    origin = typing.get_origin(kind)
    return label.startswith(f"{origin.__name__}[") if origin else label == kind.__name__


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
