"""Tiny models and batches for tests."""

from __future__ import annotations

import itertools
import typing
from collections.abc import Iterator, Sequence

import numpy
import pytest
import torch

from polyglot.core.registry import Registry
from polyglot.layers.opennmt import is_installed
from polyglot.model.bridges import BRIDGES
from polyglot.model.config import ModelConfig
from polyglot.model.decoders import DECODERS
from polyglot.model.encoders import ENCODERS
from polyglot.model.translation_model import TranslationModel
from polyglot.tasks.batch import Batch
from polyglot.tasks.pairs import LanguagePair, Task

VOCABULARY = 40
TINY = {
    "size": 16,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "heads": 4,
    "hidden_size": 8,
    "feed_forward": 24,
    "layers": 2,
    "roles": 4,
    "context_size": 6,
    "head_size": 8,
    "bridges": [
        {"type": "transformer", "heads": 4, "feed_forward": 24, "dropout": 0.0},
        {"type": "attention", "heads": 4, "hidden_size": 8},
    ],
}


def tiny_config(
    encoder: str | dict = "lstm",
    bridge: str | dict = "attention",
    decoder: str | dict = "lstm",
    **settings: object,
) -> ModelConfig:
    """A model of a few thousand parameters without dropout."""
    values = {
        "embedding": {"size": 12, "dropout": 0.0},
        "encoder": tiny_component(ENCODERS, encoder),
        "bridge": tiny_component(BRIDGES, bridge),
        "decoder": tiny_component(DECODERS, decoder),
    }
    for key, value in settings.items():
        values[key] = (
            {**values[key], **value} if isinstance(value, dict) and key in values else value
        )
    return ModelConfig.model_validate(values)


def tiny_component(registry: Registry, name: str | dict) -> dict[str, object]:
    """Settings of a component with the tiny values of all settings that it has.

    A mapping of settings is returned as it is. A setting with named alternatives keeps its default.
    """
    if isinstance(name, dict):
        return name
    settings: dict[str, object] = {"type": name}
    fields = registry.get(name).Config.model_fields
    for key, value in TINY.items():
        if key in fields and not field_choices(fields[key].annotation):
            settings[key] = value
    if name == "word_prediction":
        del settings["hidden_size"]  # without effect on the default layers
    return settings


def setting_combinations(registry: Registry, name: str) -> Iterator[dict[str, object]]:
    """Every combination of the alternatives that the settings of a class name."""
    fields = {
        key: field_choices(field.annotation)
        for key, field in registry.get(name).Config.model_fields.items()
        if key != "type"
    }
    fields = {key: values for key, values in fields.items() if values}
    for chosen in itertools.product(*fields.values()):
        yield dict(zip(fields, chosen))


def setting_pairs(registry: Registry, name: str) -> Iterator[dict[str, object]]:
    """Few combinations of the alternatives, in which any two alternatives occur together."""
    remaining = list(setting_combinations(registry, name))
    missing: set[tuple[object, ...]] = set()
    for settings in remaining:
        missing |= _pairs_in(settings)
    while missing:
        best = max(remaining, key=lambda settings: len(missing & _pairs_in(settings)))
        missing -= _pairs_in(best)
        yield best


def _pairs_in(settings: dict[str, object]) -> set[tuple[object, ...]]:
    """Pairs of settings with their values; or the only setting, or the empty combination."""
    return set(itertools.combinations(settings.items(), min(2, len(settings))))


def field_choices(annotation: object) -> list[object]:
    """What may stand in a field that names its alternatives; of others nothing is varied."""
    if annotation is bool:
        return [True, False]
    return (
        list(typing.get_args(annotation)) if typing.get_origin(annotation) is typing.Literal else []
    )


def tiny_model(
    config: ModelConfig, pairs: Sequence[str] = ("de-en", "en-de"), *, seed: int | None = 1
) -> TranslationModel:
    parsed = [LanguagePair.parse(pair) for pair in pairs]
    languages = {language for pair in parsed for language in (pair.source, pair.target)}
    return TranslationModel(
        config, vocabulary_sizes=dict.fromkeys(languages, VOCABULARY), pairs=parsed, seed=seed
    )


def random_batch(
    pair: str = "de-en",
    *,
    lengths: Sequence[tuple[int, int]] = ((5, 4), (1, 1), (9, 7)),
    seed: int = 0,
) -> Batch:
    """Random sentences of these (source, target) lengths."""
    random = numpy.random.default_rng(seed)
    sources = [random.integers(4, VOCABULARY, source) for source, _ in lengths]
    targets = [random.integers(4, VOCABULARY, target) for _, target in lengths]
    return Batch.from_sentences(Task(LanguagePair.parse(pair)), sources, targets)


def allclose(one: torch.Tensor, other: torch.Tensor, tolerance: float = 1e-5) -> bool:
    return torch.allclose(one, other, atol=tolerance, rtol=tolerance)


def if_available(*names):
    """Names of components, skipped where one of them is another program's that is not installed."""
    mark = pytest.mark.skipif(not is_installed(), reason="OpenNMT-py is not installed")
    return pytest.param(
        *names, marks=mark if any(name.startswith("onmt_") for name in names) else ()
    )
