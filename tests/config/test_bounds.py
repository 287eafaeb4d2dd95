"""Absurd numbers: every numeric key of the schema refuses them with a sentence, or works."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from polyglot.config.pydantic_errors import validation_problems
from polyglot.config.schema import Config
from tests.builders.command_line import CONFIG
from tests.builders.schema_keys import SchemaKey, schema_keys

NUMERIC_KEYS = [key for key in schema_keys() if key.is_numeric and key.path[-1] != "columns"]
"""Without the columns of a table: a number that it does not have is found when it is read."""
REPEATED = ("data.valid", "data.test", "model.languages", "vocabulary.languages")
"""Sections with the same keys as others."""
DISTINCT_KEYS = [key for key in NUMERIC_KEYS if not key.name.startswith(REPEATED)]
ABSURD = [-(10**400), 10**19, 1e19, 1e300, 2**64, math.inf, -math.inf, -1, -1e-9]
"""Numbers that no key accepts, besides those of the fast test; only a seed may be 10¹⁹."""
NUMBER_OF_SEEDS = 2**64


def shown(number: float) -> str:
    return f"{number:.0e}" if isinstance(number, float) else f"{number.bit_length()} bits"


def settings_with(key: SchemaKey, value: Any) -> dict[str, Any]:
    """The small configuration with this value."""
    settings = yaml.safe_load(CONFIG)
    settings["schedule"] = {"type": "uniform"}
    if value is not None and key.path[-1] == "epochs":
        del settings["training"]["steps"]
    return laid_over(settings, key.settings(value))


def laid_over(base: Any, changes: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(changes, dict)):
        return copy.deepcopy(changes)
    kind = changes.get("type", base.get("type"))
    result = {} if kind != base.get("type") else dict(base)
    for name, value in changes.items():
        result[name] = laid_over(result.get(name), value)
    return result


def value_of(key: SchemaKey, number: float) -> Any:
    """The number as a value of the key: alone, in a list or in a mapping."""
    name = key.path[-1]
    if name == "betas":
        return [number, 0.9]
    if name == "weights":
        return {"en-de": number}
    return number


def problem_of(key: SchemaKey, number: float) -> str | None:
    """The message about a value; None if the configuration is accepted."""
    try:
        Config.model_validate(settings_with(key, value_of(key, number)))
    except ValidationError as error:
        return "\n".join(map(str, validation_problems(error, Config)))
    return None


def check_refused(keys: list[SchemaKey], number: float) -> None:
    accepted = []
    for key in keys:
        if key.path[-1] == "seed" and 0 <= number < NUMBER_OF_SEEDS:
            continue
        message = problem_of(key, number)
        if message is None:
            accepted.append(str(key))
            continue
        section = ".".join(map(str, key.path[:-1]))
        assert key.name in message or f"{section}: " in message or key.path[0] == "model", message
        assert len(message) < 1500, message
    assert not accepted


@pytest.mark.parametrize("number", [10**400, math.nan], ids=shown)
def test_no_numeric_key_accepts_an_absurd_number(number: float) -> None:
    check_refused(DISTINCT_KEYS, number)


@pytest.mark.slow
@pytest.mark.parametrize("number", ABSURD, ids=shown)
def test_no_key_of_any_section_accepts_an_absurd_number(number: float) -> None:
    check_refused(NUMERIC_KEYS, number)
