"""Short descriptions of models for the interactive use of Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from polyglot.core.errors import abbreviate
from polyglot.core.score_tables import is_step

SHOWN_LANGUAGES = 12


def describe_origin(description: Mapping[str, Any], *, unnamed: str = "a model") -> str:
    """Return `phrasebook, checkpoint best (step 4000)`. unnamed: for a model without a run."""
    run = description.get("run", unnamed)
    origin = str(run)
    checkpoint = description.get("checkpoint")
    if is_step(checkpoint):
        return f"{origin}, checkpoint of step {checkpoint}"
    if checkpoint is not None:
        origin += f", checkpoint {checkpoint}"
    steps = description.get("steps")
    if steps:
        noun = "step" if len(steps) == 1 else "steps"
        listed = abbreviate(steps)
        origin += f" ({noun} {listed})"
    return origin


def describe_directions(sources: Sequence[str], targets: Sequence[str]) -> str:
    """Return `from de, en, fr into en, fr`; of many languages their number and the first ones."""
    listed_sources = _listed(sources)
    listed_targets = _listed(targets)
    return f"from {listed_sources} into {listed_targets}"


def describe_parameters(model: nn.Module) -> str:
    """Return the number of parameters of a model."""
    count = 0
    for parameter in model.parameters():
        count += parameter.numel()
    return f"{count:,} parameters"


def _listed(languages: Sequence[str]) -> str:
    listed = abbreviate(languages, shown=SHOWN_LANGUAGES)
    count = len(languages)
    if count > SHOWN_LANGUAGES:
        return f"{count} languages ({listed})"
    return listed
