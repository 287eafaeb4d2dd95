"""Short descriptions of models for the interactive use of Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from polyglot.core.errors import abbreviate


def describe_origin(description: Mapping[str, Any]) -> str:
    """Return `phrasebook, checkpoint best (step 4000)`; for a model without a run `a model`."""
    origin = str(description.get("run", "a model"))
    if "checkpoint" in description:
        origin += f", checkpoint {description['checkpoint']}"
    steps = description.get("steps") or []
    if steps:
        noun = "step" if len(steps) == 1 else "steps"
        listed = ", ".join(map(str, steps))
        origin += f" ({noun} {listed})"
    return origin


def describe_directions(sources: Sequence[str], targets: Sequence[str]) -> str:
    """Return `from de, en, fr into en, fr`, of many languages the first ones and their number."""
    return f"from {_listed(sources)} into {_listed(targets)}"


def describe_parameters(model: nn.Module) -> str:
    """Return the number of parameters of a model."""
    count = sum(parameter.numel() for parameter in model.parameters())
    return f"{count:,} parameters"


def _listed(languages: Sequence[str]) -> str:
    listed = abbreviate(languages, shown=12)
    if len(languages) > 12:
        return f"{len(languages)} languages ({listed})"
    return listed
