"""Schema of `training.json`, the training state in a checkpoint.

A checkpoint may be damaged or come from an untrusted source: every field is validated before use.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, TypeAdapter

from polyglot.core.errors import CheckpointError
from polyglot.core.stored_json import validate_stored
from polyglot.runs.manifest import LARGEST_STEP

Count = Annotated[int, Field(ge=0, le=LARGEST_STEP)]
Number = Annotated[float, Field(ge=-math.inf, le=math.inf)]
"""any float except NaN"""


class StoredBestValidation(BaseModel):
    """Best validation of the run."""

    step: Count
    by: str
    value: Number


class StoredProgress(BaseModel):
    """Progress of the run, as `Progress.to_dict` writes it."""

    step: Count
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    tokens: dict[str, Count]
    best: StoredBestValidation | None = None
    without_better: Count = 0
    """validations since the best one"""


class StoredLayout(BaseModel):
    """Settings that decide which process draws which tasks."""

    processes: Annotated[int, Field(ge=1, le=10**6)]
    tasks_per_update: Annotated[int, Field(ge=1, le=10**6)]
    tasks: str
    placement: str


class StoredValidation(BaseModel):
    """Validation that the best value belongs to."""

    by: str
    texts: dict[str, str]
    """fingerprint of the validation text by pair"""


class StoredState(BaseModel):
    """Content of `training.json`; older versions lack the fields with a default."""

    progress: StoredProgress
    positions: dict[str, dict[str, Any]]
    annealed: dict[str, dict[str, Number]] = {}
    data: dict[str, str] = {}
    """fingerprint of the text of each task"""
    batching: dict[str, Any] = {}
    optimizer: str = ""
    division: StoredLayout | None = None
    """layout of the sampling; the file format keeps this old name"""
    scaler: dict[str, Any] | None = None
    validation: StoredValidation | None = None


STORED_STATE = TypeAdapter(StoredState)


def validate_training_state(state: Mapping[str, Any], *, file: Path) -> None:
    """Raise CheckpointError that names the first wrong fields."""
    try:
        validate_stored(dict(state), STORED_STATE)
    except ValueError as error:
        raise CheckpointError(f"{file}: damaged: {error}") from None
