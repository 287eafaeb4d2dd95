"""Whatever stands wherever in a configuration, what is wrong is said in our own words, and
where.
"""

from __future__ import annotations

import copy
import datetime
import re
import typing
from collections.abc import Iterator
from ipaddress import IPv4Address
from typing import Any

import pytest
from pydantic import BaseModel, Field

from polyglot.config.loading import check_config, check_settings
from polyglot.config.schema import Config
from polyglot.core.annotations import union_members
from polyglot.core.errors import ConfigError
from polyglot.core.yaml import format_value
from polyglot.evaluation.protocol import Protocol

GOOD = {
    "languages": ["en", "de", "fr"],
    "data": {"train": [{"type": "text", "path": "{language}"}]},
    "training": {"steps": 10},
}
HOSTILE = [
    None, True, 0, -1, 3, 2.5, 10**400, float("inf"), float("-inf"), "", "x", "de-xx",
    [], {}, ["x"], [None], [[]], [{}], ["a", "b", "c"],
    {"x": 1}, {"de": None}, {"de": [3]}, {"de-en": [3, 4]}, {3: 3}, {"de": {3: 3}},
    {"type": None}, {"type": "x"}, [{"type": 3}],
    datetime.date(2024, 1, 1), b"x", {1, 2},
]  # fmt: skip
FOREIGN = re.compile(
    r"(?:nput|tring|ist|alue|eys) should|a valid |nstance of|None|validation, not"
    r"|dict\[|list\[|datetime|constrained|tag|Extra"
    r"|\bstr\b|\bint\b"
)


def places(
    annotation: Any, path: tuple[Any, ...], given: dict[str, Any]
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Every place below one, with what must stand beside it: the `type` that has it."""
    for kind in union_members(annotation):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            named = kind.model_fields.get("type")
            decides = (
                named
                and isinstance(named.default, str)
                and typing.get_args(named.annotation) == (named.default,)
            )
            own = {**given, (*path, "type"): named.default} if decides else given
            for key, field in kind.model_fields.items():
                yield (*path, key), own
                if path.count(key) == 0:  # `languages` of a model hold settings like its own
                    yield from places(field.annotation, (*path, key), own)
        elif typing.get_origin(kind) is list:
            yield (*path, 0), given
            yield from places(typing.get_args(kind)[0], (*path, 0), given)
        elif typing.get_origin(kind) is dict:
            yield (*path, "de"), given
            yield from places(typing.get_args(kind)[1], (*path, "de"), given)


def put(values: Any, path: tuple[Any, ...], value: Any) -> None:
    *parents, last = path
    for key, after in zip(parents, path[1:]):
        below = [] if after == 0 else {}
        if isinstance(values, list):
            values[:] = values or [below]
            values = values[0]
        else:
            if not isinstance(values.get(key), type(below)):
                values[key] = below
            values = values[key]
    if isinstance(values, list):
        values[:] = [value]
    else:
        values[last] = value


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", [Config, Protocol])
def test_whatever_stands_wherever_is_said_in_our_own_words(kind, step):
    """Every value stands in some places, and in every place one value of `step`."""
    tried = refused = 0
    different_places = dict.fromkeys(
        (path, tuple(given.items())) for path, given in places(kind, (), {})
    )
    for number, (path, given) in enumerate(different_places):
        for hostile in HOSTILE[number % step :: step]:
            values = copy.deepcopy(GOOD) if kind is Config else {}
            for place, name in given:
                put(values, place, name)
            put(values, path, copy.deepcopy(hostile))
            tried += 1
            try:
                check_config(values, where="mine.yaml") if kind is Config else check_settings(
                    kind, values, where="mine.yaml"
                )
            except ConfigError as error:
                refused += 1
                for sentence in map(str, error.problems):
                    assert not FOREIGN.search(sentence), (path, hostile, sentence)
                    assert re.match(r"[\w.-]+: \S", sentence) and len(sentence) < 600, (
                        path,
                        hostile,
                        sentence,
                    )
    assert tried > (3000 if kind is Config else 400) / step and refused > tried / 2


@pytest.mark.parametrize(
    ("corpus", "sentence"),
    [
        ({"columns": 3}, "data.train.0.columns: found 3; expected a mapping or text"),
        (
            {"columns": {"de": [1]}},
            "data.train.0.columns.de: found [1]; expected text or a whole number",
        ),
        ({"columns": {1: "de"}}, "data.train.0.columns.1: the key 1 is no text; put it in quotes"),
    ],
)
def test_what_fits_no_member_of_a_union_is_one_problem_where_it_stands(corpus, sentence):
    with pytest.raises(ConfigError) as error:
        check_config(
            GOOD | {"data": {"train": [{"type": "tsv", "path": "x", **corpus}]}}, where="mine.yaml"
        )
    assert list(map(str, error.value.problems)) == [sentence]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"optimizer": {"learning_rate": float("inf")}},
            "optimizer.learning_rate: found .inf; expected a finite number",
        ),
        (
            {"optimizer": {"learning_rate": 0}},
            "optimizer.learning_rate: found 0; expected more than 0",
        ),
        ({"model": None}, "model: found null; expected a mapping"),
        (
            {"model": {"bridge": {"type": None}}},
            (
                "model.bridge.type: found null; expected one of attention, mean, none, "
                "perceiver, stack, transformer"
            ),
        ),
    ],
)
def test_some_sentences_as_they_are(settings, sentence):
    with pytest.raises(ConfigError) as error:
        check_config(GOOD | settings, where="mine.yaml")
    assert list(map(str, error.value.problems)) == [sentence]


class Address(BaseModel):
    """Settings of a kind that no configuration has yet."""

    host: IPv4Address
    code: str = Field(default="a", pattern="^[a-z]$")


def test_what_nobody_has_foreseen_is_said_in_pydantics_words():
    with pytest.raises(ConfigError) as error:
        check_settings(Address, {"host": "home", "code": "AB"}, where="mine.yaml")
    assert list(map(str, error.value.problems)) == [
        "host: found 'home'; Input is not a valid IPv4 address",
        "code: found 'AB'; String should match pattern '^[a-z]$'",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"), (True, "true"), ("true", "'true'"), (["a", None], "[a, null]"),
        ({"a": {"b": 1}}, "{a: {b: 1}}"),
        (float("inf"), ".inf"), (datetime.date(2024, 1, 1), "2024-01-01"),
        ("x" * 100, "'" + "x" * 59 + "…"), (b"x", "!!binary | eA=="), (..., "Ellipsis"),
    ],
)  # fmt: skip
def test_values_are_shown_as_people_write_them(value, text):
    assert format_value(value) == text
