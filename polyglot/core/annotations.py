"""Type annotations of settings: members of unions, and whole numbers that YAML reads as floats."""

from __future__ import annotations

import types
import typing
from typing import Annotated, Any, Union


def union_members(annotation: Any) -> list[Any]:
    """Return the types of a union, without None; of another annotation, its type."""
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        return union_members(typing.get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        members = []
        for member in typing.get_args(annotation):
            members += union_members(member)
        return members
    if annotation is types.NoneType:
        return []
    return [annotation]


def with_whole_numbers(value: Any, annotation: Any) -> Any:
    """Return a value with its floats as integers where the annotation wants a whole number.

    `1e3` and `1000.0` are floats in YAML. A float that is not whole stays as it is.
    """
    members = union_members(annotation)
    if isinstance(value, float):
        wants_integer = int in members and float not in members
        if wants_integer and value.is_integer():
            return int(value)
        return value

    item_types = {}
    for member in members:
        arguments = typing.get_args(member)
        if arguments:
            item_types[typing.get_origin(member)] = arguments[-1]
    if isinstance(value, list) and list in item_types:
        return [with_whole_numbers(item, item_types[list]) for item in value]
    if isinstance(value, dict) and dict in item_types:
        return {key: with_whole_numbers(item, item_types[dict]) for key, item in value.items()}
    return value
