"""Training state of a checkpoint that is damaged or comes from somebody else."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from polyglot.core.errors import CheckpointError
from polyglot.training.stored_state import validate_training_state

FILE = Path("training.json")
STATE = {
    "progress": {
        "step": 80,
        "seconds": 22.4,
        "tokens": {"en-fr": 13062},
        "best": {"step": 80, "by": "loss", "value": 4.09},
        "without_better": 0,
    },
    "annealed": {"encoder.de.roles": {"temperature": 0.5}},
    "positions": {"en-fr": {"epoch": 0, "index": 18}},
    "data": {"en-fr": "8375"},
    "batching": {"size": 64},
    "optimizer": "adam",
    "division": {
        "processes": 1,
        "tasks_per_update": 1,
        "tasks": "mixed",
        "placement": "replicated",
    },
    "scaler": None,
}


def test_state_of_this_version_is_valid():
    validate_training_state(STATE, file=FILE)


def test_older_state_without_later_fields_is_valid():
    older = {key: STATE[key] for key in ("progress", "positions", "annealed")}
    validate_training_state(older, file=FILE)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("progress.step", "80"),
        ("progress.step", -1),
        ("progress.step", 10**30),
        ("progress.seconds", None),
        ("progress.seconds", float("nan")),
        ("progress.tokens", [1]),
        ("progress.tokens", {"en-fr": 1.5}),
        ("progress.best", {"step": 80}),
        ("progress", 3),
        ("positions", {"en-fr": 3}),
        ("annealed", {"encoder.de.roles": {"temperature": "low"}}),
        ("optimizer", 3),
        ("division.processes", 0),
        ("scaler", []),
    ],
)
def test_wrong_value_is_an_error_that_names_its_place(key, value):
    state = copy.deepcopy(STATE)
    *folders, name = key.split(".")
    place = state
    for folder in folders:
        place = place[folder]
    place[name] = value
    with pytest.raises(CheckpointError, match=f"training.json: damaged: {key}"):
        validate_training_state(state, file=FILE)
