"""Whether a run can go on from its last checkpoint, found out before any text is read; and what will be otherwise from there on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from polyglot import checkpoint as checkpoints
from polyglot.checkpoint import Checkpoint
from polyglot.errors import CheckpointError, few
from polyglot.run import Run

DIVISION = "tasks", "placement"
"""The settings of `parallel` that say who trains what."""


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


def what_changed(
    run: Run, state: Mapping[str, Any], processes: int, *, streamed: Sequence[str], begun: Sequence[str], changed: Sequence[str]
) -> Iterator[str]:
    """Sentences about what is not as it was when a checkpoint of that training state was written, and what that does to the order of the
    data.

    streamed: the tasks whose text is. begun: those whose pool of sentences begins anew. changed: those whose text is another.
    """
    before, now = state.get("processes", 1), {key: getattr(run.config.parallel, key) for key in DIVISION}
    divided = "; of streamed text, what is left of the epoch is divided anew, after the sentences that were in memory" if streamed else ""
    if before != processes:
        yield (
            f"was written by {_count(before)} and goes on with {_count(processes)}: every text goes on where it was, but an update has "
            f"another number of batches from here on, and other tasks are drawn{divided}"
        )
    elif processes > 1 and (others := _otherwise(state.get("parallel", now), now)):
        was, will = (", ".join(f"parallel.{key} {values[key]}" for key in others) for values in (others, now))
        yield (
            f"was written with {was} and goes on with {will}: every text goes on where it was, but other tasks are drawn from here on"
            + (divided if "placement" in others else "")
        )
    if begun:
        yield (
            f"the sentences of {few(begun)} that are in memory together are not those of then, for data, filter or batching have changed: "
            "what is there now is read from where those began, so that none is left out by that, and those that were trained on come again"
        )
    batching = run.config.batching.model_dump(mode="json")
    if len(streamed) < len(run.config.tasks) and state.get("batching", batching) != batching:
        yield (
            "batching is not what it was when this was written; of text that is not streamed the run goes on after as many batches of the "
            "epoch, which are others now, so some sentences of this epoch may come twice or not at all"
        )
    if changed:
        yield (
            f"the training text of {', '.join(changed)} is not what it was when this was written; "
            "the run goes on at the same place in the text of now, so some sentences of this epoch may come twice or not at all"
        )


def _otherwise(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """What was said of the division before, where it says another thing now; divided languages have their tasks by that, whatever `tasks`
    says."""
    divided = before["placement"] == now["placement"] == "partitioned"
    return {key: old for key, old in before.items() if old != now[key] and not (divided and key == "tasks")}


def _count(processes: int) -> str:
    return "one process" if processes == 1 else f"{processes} processes"
