"""Settings that a user wrote and that have no effect beside the others.

They are refused, because the user expects an effect. There are three exceptions. A value that is
the default may stand in a file that contains all settings. The configuration of a run directory was
written by this program, so only overrides count as written by the user. And an override may take
away the use of a setting of the file or of an earlier override: `edges=none` for a file with
`head_size`. Such a setting is reported at the start of the training.
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
    """Return the written settings without effect, except for the cases named above.

    values: of the file and the overrides. is_stored: True for the file of a run directory.
    """
    overridden = [tuple(override_key(override).split(".")) for override in overrides]
    problems = []
    for setting in unused_settings(config):
        place = _last_override(setting.path, overridden)
        if place < _last_override(setting.cause, overridden) or (place < 0 and is_stored):
            continue
        if _is_written(setting.path, values) and _differs_from_default(config, setting.path):
            message = f"{setting.reason}; leave it out"
            problems.append(Problem(setting.path, message, related=(setting.cause,)))
    return problems


def reported_settings(config: Config) -> list[str]:
    """Return a sentence for each setting without effect that is not the default.

    Those of single languages are left out, because they repeat the common settings.
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
    unused = {setting.path: setting for setting in _below((), config)}
    for path, setting in unused.items():
        section = path[0]
        languages = getattr(getattr(config, section), "languages", {})
        if "languages" in path or not isinstance(languages, dict):
            languages = {}
        of_languages = [(section, "languages", language, *path[1:]) for language in languages]
        if all(other in unused for other in of_languages):
            yield setting
    yield from _losses_without_model(config)


def _below(path: KeyPath, value: Any) -> Iterator[UnusedSetting]:
    """Yield the unused settings of a value and of the values inside it."""
    items: list[tuple[str | int, Any]] = []
    if isinstance(value, ComponentConfig):
        for setting in value.settings_without_effect():
            yield UnusedSetting((*path, *setting.path), (*path, *setting.cause), setting.reason)
        items = [(name, getattr(value, name)) for name in type(value).model_fields]
    elif isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    for key, item in items:
        yield from _below((*path, key), item)


def _losses_without_model(config: Config) -> Iterator[UnusedSetting]:
    """Yield the keys of losses that no part of the model has."""
    bridge = config.model.bridge
    bridges = [bridge.type]
    bridges += [part.type for part in getattr(bridge, "bridges", [])]
    if "attention" not in bridges:
        reason = f"no effect: needs a bridge with attention weights, found {bridge.type!r}"
        yield from _loss_keys(config, "bridge", ("model", "bridge"), reason)

    predictors = {"initial_words": "states", "remaining_words": "initial"}
    for loss, other in predictors.items():
        if not _has_word_prediction(config, other):
            reason = (
                f"no effect: needs a decoder with word_prediction that predicts more than {other!r}"
            )
            yield from _loss_keys(config, loss, ("model", "options"), reason)


def _loss_keys(config: Config, loss: str, cause: KeyPath, reason: str) -> Iterator[UnusedSetting]:
    """Yield the keys of one loss; a weight of 0 says that the loss is not wanted."""
    settings = getattr(config.losses, loss)
    if settings.weight:
        for key in type(settings).model_fields:
            yield UnusedSetting(("losses", loss, key), cause, reason)


def _has_word_prediction(config: Config, excluded: str) -> bool:
    """True if a decoder predicts words other than only from `excluded`."""
    languages: list[LanguageConfig] = [config.model, *config.model.languages.values()]
    for language in languages:
        for option in language.options.decoder:
            is_predictor = OPTIONS.get(option.type).place == "decoder"
            if is_predictor and getattr(option, "predict", None) != excluded:
                return True
    return False


def _last_override(path: KeyPath, overridden: Sequence[tuple[str, ...]]) -> int:
    """Position of the last override that sets a value, a value around it or inside it.

    −1 if there is none, so that the file decides.
    """
    keys = tuple(map(str, path))
    last = -1
    for position, other in enumerate(overridden):
        length = min(len(keys), len(other))
        if keys[:length] == other[:length]:
            last = position
    return last


def _is_written(path: KeyPath, values: Any) -> bool:
    """True if nested values of a file have a value at this path."""
    for key in path:
        if isinstance(values, dict):
            if key not in values:
                return False
        elif not isinstance(values, list) or not isinstance(key, int) or key >= len(values):
            return False
        values = values[key]
    return True


def _differs_from_default(config: Config, path: KeyPath) -> bool:
    *parents, name = path
    settings: Any = config
    for key in parents:
        is_field = isinstance(settings, ComponentConfig)
        settings = getattr(settings, key) if is_field else settings[key]
    return getattr(settings, name) != type(settings).model_fields[name].default
