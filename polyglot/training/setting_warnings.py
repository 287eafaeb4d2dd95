"""Warnings about settings that a run can be trained with, but probably not as the user expects."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator

from polyglot.config.schema import Config
from polyglot.config.unused import reported_settings
from polyglot.core.errors import abbreviate
from polyglot.model.translation_model import TranslationModel

logger = logging.getLogger("polyglot")

ROUNDING_FACTOR = 10_000
"""Factors of a decay are shown with four digits, rounded down."""


def warn_about_settings(config: Config, model: TranslationModel, *, resuming: bool) -> None:
    """Warn about settings without effect, and about two that users probably expect otherwise.

    These are one-hot roles that start from random values, and temperatures that do not reach their
    minimum.

    config: with the number of steps. resuming: True for a continued run, whose first start has
    logged the settings.
    """
    messages = list(_temperature_messages(config, model))
    if not resuming:
        messages += reported_settings(config)
        messages += _onehot_messages(config)
    for message in messages:
        logger.warning(message)


def _temperature_messages(config: Config, model: TranslationModel) -> Iterator[str]:
    """Yield a sentence for annealed quantities that do not reach their minimum within the run."""
    steps = config.training.steps
    names_of: dict[str, list[str]] = {}
    for name, annealed in model.annealed().items():
        for quantity, schedule in annealed.schedules.items():
            last = schedule.at(steps - 1)
            if not schedule.should_reach_minimum or last <= schedule.minimum:
                continue
            exact_decay = schedule.decay_to_minimum(steps)
            decay = math.floor(exact_decay * ROUNDING_FACTOR) / ROUNDING_FACTOR
            message = (
                f"the {quantity} ends at {last:.3g} after {steps:,} updates, above its minimum "
                f"{schedule.minimum:g}: in training a word then has a mixture of roles, but in "
                f"translation only one; set {quantity}.decay to {decay:g} or less, or train longer"
            )
            names_of.setdefault(message, []).append(name)
    for message, names in names_of.items():
        yield f"{abbreviate(names)}: {message}"


def _onehot_messages(config: Config) -> list[str]:
    """Return a sentence if one-hot roles start from random values."""
    if config.initialize:
        return []
    for language in (config.model, *config.model.languages.values()):
        for option in (*language.options.encoder, *language.options.decoder):
            if getattr(option, "assignment", None) == "onehot":
                return [
                    "roles with assignment 'onehot' start from random values, since initialize "
                    "names no run; Weissenborn et al. 2018 start from a run with softmax roles"
                ]
    return []
