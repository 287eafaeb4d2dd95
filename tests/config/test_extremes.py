"""Smallest and largest accepted numbers: each works in a dry run, or is refused with a sentence."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError

from polyglot.config.loading import configure
from polyglot.config.schema import Config
from polyglot.core.errors import PolyglotError
from polyglot.layers.annealing import Decay
from polyglot.optim.lr_schedules import LEARNING_RATES
from polyglot.optim.optimizers import OPTIMIZERS, parameter_groups
from polyglot.tasks.schedule import SCHEDULES
from polyglot.training.dry_run import plan_training
from tests.builders.command_line import write_text
from tests.builders.schema_keys import SchemaKey
from tests.config.test_bounds import DISTINCT_KEYS, settings_with, value_of

BEYOND = 10**30
"""Beyond every bound, and still a number that a bound is compared with."""
STEPS = (0, 1, 10**6, 10**12)
LONGEST_MESSAGE = 4096
SAMPLE = DISTINCT_KEYS[::12]
GENERATED = {f"data.train.0.{split}" for split in ("train", "valid", "test")}
"""Sizes of the phrasebook: a dry run generates the largest one for a minute."""


def bounds_of(key: SchemaKey) -> dict[str, float]:
    """Bounds of a key by kind: le, lt, ge, gt. Those of a mapping or list are of its items."""
    bounds = {}
    for number in (BEYOND, -BEYOND):
        try:
            Config.model_validate(settings_with(key, value_of(key, number)))
        except ValidationError as error:
            for problem in error.errors(include_input=False, include_url=False):
                for kind, bound in (problem.get("ctx") or {}).items():
                    if kind in ("le", "lt", "ge", "gt"):
                        bounds[kind] = bound
    return bounds


def extremes_of(key: SchemaKey) -> Iterator[float]:
    """Smallest and largest numbers that the bounds allow."""
    bounds = bounds_of(key)
    is_integer = float not in key.leaves
    for kind, towards in (("lt", -math.inf), ("gt", math.inf)):
        if kind in bounds:
            bound = bounds[kind]
            step = 1 if towards > 0 else -1
            yield int(bound) + step if is_integer else math.nextafter(bound, towards)
    for kind in ("le", "ge"):
        if kind in bounds:
            yield bounds[kind]


def accepted(settings: dict[str, Any]) -> Config | None:
    """The configuration; None if it is refused with a short sentence."""
    try:
        return configure(settings, [], run="runs/x", where="mine.yaml")
    except PolyglotError as error:
        assert len(str(error)) < LONGEST_MESSAGE
        return None


def check_parts(config: Config) -> None:
    """Use the parts that compute with numbers at the first steps, and at the last possible one."""
    rates = LEARNING_RATES.build(config.learning_rate_schedule, steps=config.training.steps)
    sizes = dict.fromkeys((task.pair for task in config.tasks), 5)
    schedule = SCHEDULES.build(
        config.schedule,
        tasks=config.tasks,
        languages=config.languages,
        sizes=sizes,
        seed=config.seed,
    )
    for step in STEPS:
        assert math.isfinite(rates.factor(step))
        assert rates.factor(step) >= 0
        assert schedule.tasks_at(step)
    for decay in decays_in(config):
        for step in STEPS:
            assert 0 < decay.at(step) < math.inf
    weight = torch.nn.Parameter(torch.ones(3, 2))
    optimizer = OPTIMIZERS.build(
        config.optimizer, parameters=parameter_groups([weight], hidden=[weight])
    )
    for _ in range(2):
        weight.grad = torch.full((3, 2), 0.5)
        optimizer.step()
    assert not weight.isnan().any()


def decays_in(settings: Any) -> Iterator[Decay]:
    """Every annealed quantity of nested settings."""
    if isinstance(settings, Decay):
        yield settings
    elif isinstance(settings, list):
        for item in settings:
            yield from decays_in(item)
    elif isinstance(settings, dict):
        yield from decays_in(list(settings.values()))
    elif hasattr(settings, "model_fields_set"):
        yield from decays_in(dict(settings))


def check_extremes(keys: list[SchemaKey]) -> None:
    count = 0
    for key in keys:
        for number in extremes_of(key):
            config = accepted(settings_with(key, value_of(key, number)))
            if config is None:
                continue
            count += 1
            try:
                check_parts(config)
            except Exception as error:
                raise AssertionError(f"{key}={number}: {error!r}") from error
    assert count > len(keys) / 4, "hardly a number was tried"


def test_every_key_has_bounds_on_both_sides():
    for key in SAMPLE:
        bounds = bounds_of(key)
        has_lower = "ge" in bounds or "gt" in bounds
        has_upper = "le" in bounds or "lt" in bounds
        assert has_lower, key
        assert has_upper or "temperature.minimum" in key.name, key


def test_parts_work_with_the_extremes_of_some_keys():
    check_extremes(SAMPLE)


@pytest.mark.slow
def test_parts_work_with_the_extremes_of_all_keys():
    check_extremes(DISTINCT_KEYS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "key", [key for key in DISTINCT_KEYS if key.name not in GENERATED], ids=str
)
def test_dry_run_of_extremes_ends_with_a_plan_or_a_sentence(
    key: SchemaKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    caplog.set_level(logging.WARNING)
    monkeypatch.chdir(tmp_path)
    write_text(tmp_path)
    for number in extremes_of(key):
        config = accepted(settings_with(key, value_of(key, number)))
        if config is None:
            continue
        try:
            plan = plan_training(config)
        except PolyglotError as error:
            assert len(str(error)) < LONGEST_MESSAGE
            continue
        assert str(plan)
        assert all(amount >= 0 for amount in plan.memory().values())
    assert all(len(message) < LONGEST_MESSAGE for message in caplog.messages)
