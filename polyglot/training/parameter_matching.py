"""The width at which one model has as many parameters as another: what a fair comparison needs."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from polyglot.config.schema import Config
from polyglot.core.errors import ConfigError
from polyglot.model.translation_model import ModelConfig, TranslationModel
from polyglot.training.memory_estimate import count_parameters

TOLERANCE = 0.01
"""Share of the wanted count that a match may be off."""
FINE = ("feed_forward", "hidden_size")
"""Widths inside a component, which need not suit anybody else."""
WIDEST = 64.0
"""A match is looked for between the given widths divided and multiplied by this."""


@dataclass(frozen=True, slots=True)
class ParameterMatch:
    """Settings that bring a model to a number of parameters."""

    settings: dict[str, int]
    """by key: `model.encoder.size` and the like, those that changed"""
    count_model_parameters: int


def match_parameters(config: Config, vocabulary_sizes: Mapping[str, int], wanted: int) -> ParameterMatch:
    """Scale every width by one factor, rounded so that heads still divide sizes, then those inside components to what is left.

    Raises ConfigError when no width comes within one percent.
    """
    before = config.model.model_dump()
    blocks = [place for place in _places(before) if "feed_forward" in place]
    unit = math.lcm(
        2, *(block["heads"] * (2 if block.get("positions") == "rotary" else 1) for block in blocks)
    )
    counted = lambda model: count_model_parameters(config, ModelConfig.model_validate(model), vocabulary_sizes)  # noqa: E731
    found, best = _nearest(lambda factor: _scaled(before, factor, unit), counted, wanted)
    if abs(found - wanted) > TOLERANCE * wanted:
        found, best = _nearest(
            lambda factor: _scaled(best, factor, unit, fine=True), counted, wanted
        )
    if abs(found - wanted) > TOLERANCE * wanted:
        raise ConfigError(
            f"no width has {wanted:,} parameters within {TOLERANCE:.0%}; the nearest has {found:,}; change layers or vocabularies, too"
        )
    return ParameterMatch(dict(_changes(before, best, "model")), found)


def count_model_parameters(config: Config, model: ModelConfig, vocabulary_sizes: Mapping[str, int]) -> int:
    """How many a model has; no memory is taken for them."""
    with torch.device("meta"):
        built = TranslationModel(
            model,
            vocabulary_sizes=vocabulary_sizes,
            pairs=config.pairs,
            seed=None,
            sharing=config.sharing,
        )
    return sum(count_parameters(built).values())


def _nearest(
    scaled: Callable[[float], dict[str, Any]], count: Callable[[dict[str, Any]], int], wanted: int
) -> tuple[int, dict[str, Any]]:
    """The count nearest to the wanted one, which grows with the factor, and its model."""
    low, high, factor, tried = 1 / WIDEST, WIDEST, 1.0, []
    for _ in range(14):  # to a two-thousandth of a factor
        model = scaled(factor)
        tried.append((count_parameters(model), model))
        if tried[-1][0] == wanted:
            break
        low, high = (factor, high) if tried[-1][0] < wanted else (low, factor)
        factor = math.sqrt(low * high)
    return min(tried, key=lambda one: abs(one[0] - wanted))


def _scaled(
    model: dict[str, Any], factor: float, unit: int, *, fine: bool = False
) -> dict[str, Any]:
    """A copy with every width multiplied, or with only the fine ones."""
    result = copy.deepcopy(model)
    for place in _places(result):
        for key in FINE if fine else ("size", "states_size", *FINE):
            if place.get(key) is not None:
                step = 1 if key in FINE else unit
                place[key] = max(1, round(place[key] * factor / step)) * step
    return result


def _places(model: Any) -> Iterator[dict[str, Any]]:
    """Every mapping of settings in it."""
    if isinstance(model, dict):
        yield model
    for value in (
        model.values() if isinstance(model, dict) else model if isinstance(model, list) else ()
    ):
        yield from _places(value)


def _changes(before: Any, after: Any, path: str) -> Iterator[tuple[str, int]]:
    """The keys that differ."""
    if before == after:
        return
    if isinstance(before, (dict, list)):
        for key in before if isinstance(before, dict) else range(len(before)):
            yield from _changes(before[key], after[key], f"{path}.{key}")
    else:
        yield path, after
