"""Whether a run can go on from its last checkpoint, found out before any text is read."""

from __future__ import annotations

from typing import Any

from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.checkpoint import Checkpoint
from polyglot.core.errors import CheckpointError
from polyglot.runs.run import Run


def last_checkpoint(run: Run) -> Checkpoint | None:
    """What `--resume` goes on from, every file of it read and checked; None for a run that has none yet.

    Raises CheckpointError for one that is damaged, or that this configuration cannot go on from.
    """
    if not checkpoints.steps(run.checkpoints):
        return None
    (last,) = checkpoints.choose(run.checkpoints, "last")
    state_of(run, last)
    for component in last.components:
        last.component(component)
    last.training_tensors()
    return last


def state_of(run: Run, checkpoint: Checkpoint) -> dict[str, Any]:
    """The training state of a checkpoint that the run can go on from. Raises CheckpointError for any other."""
    run.check_same(checkpoint)
    state, optimizer, steps = checkpoint.training_state(), run.config.optimizer.type, run.config.training.steps
    if "progress" not in state:
        raise CheckpointError(f"{checkpoint.path}: was taken out of another run and cannot be continued; begin a new run with `initialize`")
    if state.get("optimizer", optimizer) != optimizer:
        raise CheckpointError(
            f"{checkpoint.path}: the optimizer was another one, {state['optimizer']!r}; the configuration says {optimizer!r}, "
            f"to which what it remembers is of no use: go on with optimizer.type={state['optimizer']}, "
            "or begin a new run from these components with `initialize`"
        )
    if state["progress"]["step"] > steps:
        raise CheckpointError(f"{checkpoint.path}: the run is past training.steps {steps} already; name more steps than that")
    return state
