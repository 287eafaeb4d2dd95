"""Every recipe for one-hot roles ends at the lowest temperature."""

from __future__ import annotations

import re

import pytest

from polyglot.model.options import Roles
from tests.conftest import ROOT

FILES = [
    "docs/configure/options.md",
    "configs/iwslt14/roles.yaml",
    "configs/manythings/roles.yaml",
]


@pytest.mark.parametrize("name", FILES)
def test_the_temperature_of_a_recipe_reaches_its_minimum(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    recipe = re.search(r"assignment[:=] ?onehot.*?training\.steps=(\d+)", text, re.DOTALL)
    assert recipe, "a recipe names its number of updates"
    schedule = Roles.Config(assignment="onehot").temperature
    assert schedule.at(int(recipe[1]) - 1) == schedule.minimum == 0.5


def test_decays_that_the_page_names() -> None:
    schedule = Roles.Config(assignment="onehot").temperature
    assert schedule.at(4604) > 0.5
    assert schedule.at(4605) == 0.5
    assert schedule.decay_to_minimum(2000) > 0.9988
