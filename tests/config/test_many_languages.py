"""Checks of many languages: refused or accepted after a number of operations linear in the
input.
"""

from __future__ import annotations

import cProfile
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from polyglot.config.loading import configure
from polyglot.config.schema import MOST_LANGUAGES
from polyglot.core.errors import ConfigError
from tests.builders.command_line import CONFIG

FEW = 100
SMALL_GROUP = 25
Settings = dict[str, Any]


def names(count: int) -> list[str]:
    """Names that are no codes of real languages: looking those up would be counted, too."""
    return [f"x_{number}" for number in range(count)]


def unused(count: int) -> Settings:
    return {}


def repeated(count: int) -> Settings:
    return {"languages": ["en", "de", *names(count), *names(count)]}


def unknown_settings(count: int) -> Settings:
    settings = {f"y_{number}": {} for number in range(count)}
    sections = ("model", "vocabulary", "text")
    return {section: {"languages": settings} for section in sections}


def unknown_copies(count: int) -> Settings:
    copies = [f"y_{number}" for number in range(count)]
    return {"schedule": {"type": "uniform", "pairs": ["en-de"], "copies": copies}}


def unknown_pairs(count: int) -> Settings:
    pairs = [f"en-y_{number}" for number in range(count)]
    return {"schedule": {"type": "uniform", "pairs": pairs}}


def listed_pairs(count: int) -> Settings:
    pairs = [f"en-{name}" for name in names(count)]
    return {"schedule": {"type": "uniform", "pairs": pairs, "exclude": pairs[1:]}}


def one_group(count: int) -> Settings:
    return {"sharing": {"encoder": {"all": names(count)}, "decoder": {"all": names(count)}}}


def small_groups(count: int) -> Settings:
    all_names = names(count)
    groups = {}
    for start in range(0, count, SMALL_GROUP):
        groups[f"group_{start}"] = all_names[start : start + SMALL_GROUP]
    return {"sharing": {"vocabulary": groups, "embeddings": groups}}


def unknown_members(count: int) -> Settings:
    members = [f"y_{number}" for number in range(count)]
    return {"sharing": {"encoder": {"west": members}}}


def frozen(count: int) -> Settings:
    pairs = [f"en-{name}" for name in names(count)]
    return {
        "schedule": {"type": "uniform", "pairs": pairs},
        "freeze": [f"decoder.{name}" for name in names(count)],
    }


CASES = [
    unused,
    repeated,
    unknown_settings,
    unknown_copies,
    unknown_pairs,
    listed_pairs,
    one_group,
    small_groups,
    unknown_members,
    frozen,
]


def settings_of(case: Callable[[int], Settings], count: int) -> Settings:
    settings = yaml.safe_load(CONFIG)
    settings["languages"] = ["en", "de", *names(count)]
    settings["schedule"] = {"type": "uniform", "pairs": ["en-de"]}
    del settings["validation"]
    return {**settings, **case(count)}


def calls_of(settings: Settings) -> tuple[int, str]:
    """Number of function calls of the checks, and the error message."""
    message = ""
    profile = cProfile.Profile()
    profile.enable()
    try:
        configure(settings, [], run="runs/x", where="mine.yaml", refuse_unused=True)
    except ConfigError as error:
        message = str(error)
    finally:
        profile.disable()
    return sum(entry.callcount for entry in profile.getstats()), message


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_number_of_operations_is_linear_in_the_number_of_languages(case):
    calls_of(settings_of(case, 3))  # what is made once
    start, _ = calls_of(settings_of(case, FEW))
    middle, _ = calls_of(settings_of(case, 2 * FEW))
    end, _ = calls_of(settings_of(case, 3 * FEW))
    assert end - middle <= 1.2 * (middle - start)
    assert middle - start < 4000 * FEW


def test_more_languages_than_the_bound_are_refused_at_once():
    calls, message = calls_of(settings_of(unused, 3000))
    assert f"{MOST_LANGUAGES}" in message.replace(",", "")
    fewer_calls, _ = calls_of(settings_of(unused, 2500))
    assert calls - fewer_calls < 200 * 500
