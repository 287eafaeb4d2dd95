"""Settings that a user wrote and that have no effect beside the others.

They are refused, because the user expects an effect. There are three exceptions:

- A value that equals the default is allowed: some files contain all settings.
- The program itself wrote the configuration in a run directory. There, only overrides count as
  written by the user.
- An override may end the effect of a setting in the file or in an earlier override: `edges=none`
  for a file with `head_size`. Such a setting is only reported at the start of the training.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from polyglot.config.overrides import override_key
from polyglot.config.schema import Config
from polyglot.core.problems import KeyPath, Problem
from polyglot.core.registry import ComponentConfig, UnusedSetting
from polyglot.model.config import LanguageConfig
from polyglot.model.options import OPTIONS


def refused_settings(
    config: Config,
    values: dict[str, Any],
    overrides: Sequence[str],
    *,
    is_stored: bool,
) -> list[Problem]:
    """Return a problem for each written setting without effect, with the exceptions above.

    values: of the file and the overrides. is_stored: True for the file of a run directory.
    """
    overridden_paths = []
    for override in overrides:
        key = override_key(override)
        overridden_paths.append(tuple(key.split(".")))

    problems = []
    for setting in unused_settings(config):
        position = _last_override(setting.path, overridden_paths)
        cause_position = _last_override(setting.cause, overridden_paths)
        is_from_program = is_stored and position < 0
        lost_its_effect = position < cause_position
        if is_from_program or lost_its_effect:
            continue
        if _is_written(setting.path, values) and _differs_from_default(config, setting.path):
            message = f"{setting.reason}; leave it out"
            problem = Problem(setting.path, message, related=(setting.cause,))
            problems.append(problem)
    return problems


def reported_settings(config: Config) -> list[str]:
    """Return a sentence for each setting without effect that differs from the default.

    Settings of single languages are left out, because they repeat the common settings.
    """
    messages = []
    for setting in unused_settings(config):
        is_common = "languages" not in setting.path
        if is_common and _differs_from_default(config, setting.path):
            path = ".".join(map(str, setting.path))
            messages.append(f"{path}: {setting.reason}")
    return messages


def unused_settings(config: Config) -> Iterator[UnusedSetting]:
    """Yield all settings without effect, whether they are written or not.

    A common setting has an effect if it has one for a language with settings of its own.
    """
    unused = {setting.path: setting for setting in _unused_inside((), config)}
    for path, setting in unused.items():
        if all(language_path in unused for language_path in _language_paths(config, path)):
            yield setting
    yield from _losses_without_model(config)


def _language_paths(config: Config, path: KeyPath) -> list[KeyPath]:
    """Return the paths of a common setting in the sections of single languages."""
    name, *keys = path
    section = getattr(config, name)
    languages = getattr(section, "languages", {})
    if "languages" in path or not isinstance(languages, dict):
        return []
    return [(name, "languages", language, *keys) for language in languages]


def _unused_inside(path: KeyPath, value: Any) -> Iterator[UnusedSetting]:
    """Yield the settings without effect of a value and of the values inside it."""
    items: list[tuple[str | int, Any]] = []
    if isinstance(value, ComponentConfig):
        for setting in value.settings_without_effect():
            setting_path = (*path, *setting.path)
            cause_path = (*path, *setting.cause)
            yield UnusedSetting(setting_path, cause_path, setting.reason)
        for name in type(value).model_fields:
            items.append((name, getattr(value, name)))
    elif isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    for key, item in items:
        yield from _unused_inside((*path, key), item)


def _losses_without_model(config: Config) -> Iterator[UnusedSetting]:
    """Yield the settings of losses that no part of the model can compute."""
    bridge = config.model.bridge
    bridge_types = [bridge.type]
    for part in getattr(bridge, "bridges", []):
        bridge_types.append(part.type)
    if "attention" not in bridge_types:
        reason = f"no effect: needs a bridge with attention weights, found {bridge.type!r}"
        yield from _loss_keys(config, "bridge", ("model", "bridge"), reason)

    insufficient_predictions = {"initial_words": "states", "remaining_words": "initial"}
    for loss, predict in insufficient_predictions.items():
        if not _has_word_prediction(config, excluded=predict):
            reason = (
                "no effect: needs a decoder with word_prediction that predicts more than "
                f"{predict!r}"
            )
            yield from _loss_keys(config, loss, ("model", "options"), reason)


def _loss_keys(config: Config, loss: str, cause: KeyPath, reason: str) -> Iterator[UnusedSetting]:
    """Yield the keys of one loss; a weight of 0 says that the loss is not wanted."""
    settings = getattr(config.losses, loss)
    if settings.weight:
        for key in type(settings).model_fields:
            yield UnusedSetting(("losses", loss, key), cause, reason)


def _has_word_prediction(config: Config, *, excluded: str) -> bool:
    """True if a decoder has a word predictor whose `predict` is not `excluded`."""
    languages: list[LanguageConfig] = [config.model, *config.model.languages.values()]
    for language in languages:
        for option in language.options.decoder:
            is_predictor = OPTIONS.get(option.type).place == "decoder"
            if is_predictor and getattr(option, "predict", None) != excluded:
                return True
    return False


def _last_override(path: KeyPath, overridden_paths: Sequence[tuple[str, ...]]) -> int:
    """Position of the last override that sets a value, a part of it, or a section around it.

    −1 without such an override: the value is from the file.
    """
    keys = tuple(map(str, path))
    last_position = -1
    for position, overridden_keys in enumerate(overridden_paths):
        length = min(len(keys), len(overridden_keys))
        if keys[:length] == overridden_keys[:length]:
            last_position = position
    return last_position


def _is_written(path: KeyPath, values: Any) -> bool:
    """True if nested values of a file have a value at this path."""
    for key in path:
        if isinstance(values, dict):
            has_key = key in values
        elif isinstance(values, list) and isinstance(key, int):
            has_key = key < len(values)
        else:
            has_key = False
        if not has_key:
            return False
        values = values[key]
    return True


def _differs_from_default(config: Config, path: KeyPath) -> bool:
    *parents, name = path
    settings: Any = config
    for key in parents:
        if isinstance(settings, ComponentConfig):
            settings = getattr(settings, key)
        else:
            settings = settings[key]
    value = getattr(settings, name)
    field = type(settings).model_fields[name]
    return value != field.default
