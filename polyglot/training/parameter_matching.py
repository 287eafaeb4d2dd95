"""Parameter matching: scales the widths of a model to a given number of parameters, so that two
models can be compared fairly."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from polyglot.config.schema import Config
from polyglot.core.errors import ConfigError
from polyglot.model.config import ModelConfig
from polyglot.model.translation_model import TranslationModel
from polyglot.training.memory_estimate import count_parameters

TOLERANCE = 0.01
"""largest relative difference between the number of parameters and its goal"""
WIDTH_KEYS = ("size", "states_size", "feed_forward", "hidden_size", "output_size")
"""settings that are widths"""
INNER_WIDTH_KEYS = ("feed_forward", "hidden_size")
"""widths inside a component, which need not fit other components"""
LARGEST_FACTOR = 64.0
"""widths are multiplied by at most this factor and by at least its inverse"""
SEARCH_STEPS = 14
"""steps of the bisection; after them the factor is known to about 0.05 %"""

UNITS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9}
"""Factors of the letters behind a number of parameters"""

Settings = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ParameterMatch:
    """Settings that give a model a certain number of parameters."""

    settings: dict[str, int]
    """changed settings by key, such as `model.encoder.size`"""
    parameters: int


def parse_parameter_count(text: str) -> int:
    """Read a number of parameters: `12M`, `1.5B`, `800k`, `5_000_000` or `5,000,000`.

    Raises ConfigError for any other text.
    """
    match = re.fullmatch(r"([0-9][0-9_,]*(?:\.[0-9]+)?)\s*([kKmMbBgG]?)", text.strip())
    if not match:
        raise ConfigError(
            f"--parameters: found {text!r}; write a number, such as 12M, 800k, 1.5B or 5_000_000"
        )
    digits = match[1].replace("_", "").replace(",", "")
    return round(float(digits) * UNITS[match[2].lower()])


def match_parameters(
    config: Config,
    vocabulary_sizes: Mapping[str, int],
    goal: int,
) -> ParameterMatch:
    """Find widths with which the model has about `goal` parameters.

    All widths are multiplied by one factor and rounded; the number of heads still divides the
    widths between components. If that is not exact enough, the widths inside components are scaled
    once more. Raises ConfigError if the result differs from the goal by more than one percent.
    """
    original = config.model.model_dump()
    unit = _width_unit(original)

    def count(settings: Settings) -> int:
        model = ModelConfig.model_validate(settings)
        return count_model_parameters(config, model, vocabulary_sizes)

    def scale_all(factor: float) -> Settings:
        return _scaled(original, factor, keys=WIDTH_KEYS, unit=unit)

    parameters, matched = _nearest(scale_all, count, goal)
    if _differs(parameters, goal):
        coarse = matched

        def scale_inner(factor: float) -> Settings:
            return _scaled(coarse, factor, keys=INNER_WIDTH_KEYS, unit=unit)

        parameters, matched = _nearest(scale_inner, count, goal)

    if _differs(parameters, goal):
        raise ConfigError(
            f"no choice of widths gives {goal:,} parameters within {TOLERANCE:.0%}; "
            f"the nearest has {parameters:,}; change layers or vocabularies, too"
        )
    return ParameterMatch(dict(_changes(original, matched, "model")), parameters)


def count_model_parameters(
    config: Config,
    model: ModelConfig,
    vocabulary_sizes: Mapping[str, int],
) -> int:
    """Number of parameters of a model, counted on the meta device, which takes no memory."""
    with torch.device("meta"):
        built = TranslationModel(
            model,
            vocabulary_sizes=vocabulary_sizes,
            pairs=config.pairs,
            seed=None,
            sharing=config.sharing,
        )
    return sum(count_parameters(built).values())


def _differs(parameters: int, goal: int) -> bool:
    return abs(parameters - goal) > TOLERANCE * goal


def _width_unit(model: Settings) -> int:
    """Number that must divide every width.

    It is even and divisible by every number of heads, with rotary positions by twice that number.
    """
    unit = 2
    for settings in _mappings(model):
        if "feed_forward" not in settings:  # no Transformer layers
            continue
        is_rotary = settings.get("positions") == "rotary"
        heads = settings["heads"] * (2 if is_rotary else 1)
        unit = math.lcm(unit, heads)
    return unit


def _nearest(
    scale: Callable[[float], Settings],
    count: Callable[[Settings], int],
    goal: int,
) -> tuple[int, Settings]:
    """Search by bisection; returns the number of parameters nearest to the goal, and its settings.

    The number of parameters must grow with the factor.
    """
    low = 1 / LARGEST_FACTOR
    high = LARGEST_FACTOR
    factor = 1.0
    candidates: list[tuple[int, Settings]] = []
    for _ in range(SEARCH_STEPS):
        settings = scale(factor)
        parameters = count(settings)
        candidates.append((parameters, settings))
        if parameters == goal:
            break
        if parameters < goal:
            low = factor
        else:
            high = factor
        factor = math.sqrt(low * high)

    return min(candidates, key=lambda candidate: abs(candidate[0] - goal))


def _scaled(model: Settings, factor: float, *, keys: tuple[str, ...], unit: int) -> Settings:
    """Copy of a model's settings with these widths multiplied by the factor.

    unit: number that divides the result, except for widths inside components. `hidden_size` is
    even, because the BiLSTM of a latent graph has half of it for each direction.
    """
    steps = dict.fromkeys(keys, unit) | {"feed_forward": 1, "hidden_size": 2}
    scaled = copy.deepcopy(model)
    for settings in _mappings(scaled):
        for key in keys:
            width = settings.get(key)
            if width is not None:
                step = steps[key]
                settings[key] = max(1, round(width * factor / step)) * step
    return scaled


def _mappings(settings: Any) -> Iterator[Settings]:
    """Iterate over all mappings in nested settings."""
    if isinstance(settings, dict):
        yield settings
        nested = list(settings.values())
    elif isinstance(settings, list):
        nested = settings
    else:
        nested = []
    for value in nested:
        yield from _mappings(value)


def _changes(before: Any, after: Any, path: str) -> Iterator[tuple[str, int]]:
    """Paths and new values of nested settings that differ."""
    if before == after:
        return
    if isinstance(before, dict):
        for key in before:
            yield from _changes(before[key], after[key], f"{path}.{key}")
    elif isinstance(before, list):
        for index in range(len(before)):
            yield from _changes(before[index], after[index], f"{path}.{index}")
    else:
        yield path, after
