"""Differences between the settings that a checkpoint was built from and those of a run."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from polyglot.config.schema import Config
from polyglot.config.stored import complete_stored_model
from polyglot.core.errors import abbreviate
from polyglot.core.yaml import read_yaml
from polyglot.model.config import ModelConfig
from polyglot.model.translation_model import TranslationModel
from polyglot.runs.checkpoint import Checkpoint

SHOWN = 4
"""Differences that a message lists before `…`."""


def different_settings(stored: Any, settings: Mapping[str, Any]) -> list[str]:
    """Return the keys that differ, sorted: `model.encoder.size`, `pairs`, …

    stored: the settings in a checkpoint. A setting that is newer than the checkpoint counts as its
    default, which gives the same model as before the setting existed. A default may change:
    checkpoints and `config.yaml` contain all values. Exceptions are in `polyglot.config.stored`.
    """
    if not isinstance(stored, dict):
        return ["model", "pairs", "vocabularies"]
    model = copy.deepcopy(stored.get("model"))
    complete_stored_model(model)
    try:
        model = ModelConfig.model_validate(model).model_dump()
    except ValidationError:
        pass  # the checkpoint has a setting that this version does not have
    return sorted(different_keys({**stored, "model": model}, settings))


def different_keys(first: Any, second: Any, path: str = "") -> Iterator[str]:
    """Yield the paths at which two nested mappings differ."""
    if isinstance(first, dict) and isinstance(second, dict):
        for key in first.keys() | second.keys():
            key_path = f"{path}.{key}" if path else key
            yield from different_keys(first.get(key), second.get(key), key_path)
    elif first != second:
        yield path


def without_vocabularies(stored: Any, languages: Collection[str]) -> Any:
    """Return the settings in a checkpoint without the vocabularies of these languages."""
    if not isinstance(stored, dict) or not isinstance(stored.get("vocabularies"), dict):
        return stored
    vocabularies = {}
    for language, digest in stored["vocabularies"].items():
        if language not in languages:
            vocabularies[language] = digest
    return {**stored, "vocabularies": vocabularies}


def settings_hash(settings: Mapping[str, Any], config_file: Path) -> str:
    """Return the hash as the first versions did, with the model settings of `config.yaml`."""
    values = dict(settings)
    values["model"] = read_yaml(config_file).get("model")
    content = json.dumps(values, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def value_at(nested: Any, path: str) -> Any:
    """Return the value at a path of a nested mapping, or None."""
    for key in path.split("."):
        nested = nested.get(key) if isinstance(nested, dict) else None
    return nested


def visible_difference(
    checkpoint: Checkpoint,
    config: Config,
    vocabulary_sizes: Mapping[str, int],
) -> str:
    """Describe the difference that the parameters of a checkpoint show.

    For checkpoints of the first versions, which store only a hash of their settings.
    """
    missing = [language for language in config.languages if language not in vocabulary_sizes]
    if missing:
        return f"the vocabularies: there is none of {', '.join(missing)}"
    with torch.device("meta"):
        model = TranslationModel(
            config.model,
            vocabulary_sizes=vocabulary_sizes,
            pairs=config.pairs,
            seed=None,
            sharing=config.sharing,
        )
    components = model.component_tensors()
    names = sorted(components.keys() ^ set(checkpoint.components))
    if names:
        listed = abbreviate(names, shown=SHOWN)
        return f"the pairs, or the sharing of components: only one of the two has {listed}"
    for name, parameters in components.items():
        difference = _component_difference(
            name,
            checkpoint.component(name),
            parameters,
            sizes=list(vocabulary_sizes.values()),
        )
        if difference:
            return difference
    return (
        "not visible in the parameters: the pairs (for example copies), the text of the "
        "vocabularies, or settings such as dropout"
    )


def _component_difference(
    component: str,
    stored: Mapping[str, torch.Tensor],
    parameters: Mapping[str, torch.Tensor],
    *,
    sizes: Sequence[int],
) -> str | None:
    """Describe the first difference in names or shapes. sizes: of the run's vocabularies."""
    names = sorted(parameters.keys() ^ stored.keys())
    if names:
        listed = abbreviate(names, shown=SHOWN)
        return f"the model: only one of the two has {listed} in {component}"
    for name, parameter in parameters.items():
        stored_shape = tuple(stored[name].shape)
        shape = tuple(parameter.shape)
        if stored_shape != shape:
            is_vocabulary = stored_shape[1:] == shape[1:] and shape[0] in sizes
            part = "the vocabularies" if is_vocabulary else "the model"
            return f"{part}: {name} of {component} has shape {stored_shape}, here {shape}"
    return None
