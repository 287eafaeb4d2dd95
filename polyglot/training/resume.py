"""Resuming a run: checks of its last checkpoint, and warnings about settings that changed since."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from polyglot.config.schema import Config
from polyglot.core.atomic_files import check_appendable
from polyglot.core.errors import CheckpointError, abbreviate
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.checkpoint import Checkpoint
from polyglot.runs.run import Run
from polyglot.training.stored_state import validate_training_state


def last_checkpoint(run: Run) -> Checkpoint | None:
    """Last checkpoint of a run, with every file read and checked; None without checkpoints.

    Raises CheckpointError for a damaged checkpoint, or one that this configuration cannot resume.
    """
    if not checkpoints.steps(run.checkpoints):
        return None

    [checkpoint] = checkpoints.choose(run.checkpoints, "last")
    load_training_state(run, checkpoint)
    for component in checkpoint.components:
        checkpoint.component(component)
    checkpoint.training_tensors()
    return checkpoint


def check_output_paths(run: Run) -> None:
    """Check that training can write its log and its checkpoints, before anything is changed.

    Raises CheckpointError if something else is in their place, such as a FIFO.
    """
    if os.path.lexists(run.checkpoints) and not run.checkpoints.is_dir():
        raise CheckpointError(
            f"{run.checkpoints}: it is not a folder; put the folder of the checkpoints back, "
            "or remove this, and training begins again"
        )
    try:
        check_appendable(run.log)
    except OSError as error:
        raise CheckpointError(
            f"{run.log}: the log cannot be written: {error.strerror}; "
            "remove it, and training begins a new log"
        ) from None


def load_training_state(run: Run, checkpoint: Checkpoint) -> dict[str, Any]:
    """Training state of a checkpoint, from its `training.json`.

    Raises CheckpointError for a checkpoint that the run cannot resume from.
    """
    run.check_compatible(checkpoint)
    state = checkpoint.training_state()
    optimizer = run.config.optimizer.type
    steps = run.config.training.steps

    if "progress" not in state:
        raise CheckpointError(
            f"{checkpoint.path}: was taken out of another run and has no training state to resume; "
            "start a new run with `initialize`"
        )
    validate_training_state(state, file=checkpoint.path / checkpoints.STATE)
    if state.get("optimizer", optimizer) != optimizer:
        raise CheckpointError(
            f"{checkpoint.path}: was trained with the optimizer {state['optimizer']!r}, and the "
            f"configuration says {optimizer!r}, which cannot use its state: resume with "
            f"optimizer.type={state['optimizer']}, or start a new run from these components with "
            "`initialize`"
        )
    # The number of steps is unknown here if the command line sets training.epochs.
    if steps is not None and state["progress"]["step"] > steps:
        raise CheckpointError(
            f"{checkpoint.path}: the run is already past training.steps {steps}; "
            "choose a larger number of steps"
        )
    return state


@dataclass(frozen=True)
class SamplingLayout:
    """Settings that determine which process draws which tasks; stored in every checkpoint."""

    processes: int
    tasks_per_update: int
    tasks: str
    placement: str

    @classmethod
    def from_config(cls, config: Config, process_count: int) -> SamplingLayout:
        return cls(
            process_count,
            config.schedule.tasks_per_update,
            config.parallel.tasks,
            config.parallel.placement,
        )

    @property
    def sampling_key(self) -> tuple[str, int, int]:
        """Two layouts with equal keys draw the same tasks in every update."""
        # N processes with these settings draw like a single process with N times as many tasks per
        # update.
        mixed = (self.tasks, self.placement) == ("mixed", "replicated")
        if self.processes == 1 or mixed:
            return "like a single process", 1, self.batches_per_update
        return f"{self.tasks} {self.placement}", self.processes, self.tasks_per_update

    @property
    def reading_key(self) -> tuple[int, bool]:
        """Two layouts with equal keys divide streamed text in the same way."""
        return self.processes, self.processes > 1 and self.placement == "partitioned"

    @property
    def batches_per_update(self) -> int:
        return self.processes * self.tasks_per_update

    def describe(self, other: SamplingLayout) -> str:
        """Settings of this layout that differ from another and matter, in words."""
        words = []
        if self.processes != other.processes:
            words.append(_processes_in_words(self.processes))
        if self.tasks_per_update != other.tasks_per_update:
            words.append(f"schedule.tasks_per_update {self.tasks_per_update}")
        # A single process has no use for the settings of `parallel`. If the numbers of processes
        # differ, they explain enough.
        if self.processes > 1 and self.processes == other.processes:
            if self.tasks != other.tasks:
                words.append(f"parallel.tasks {self.tasks}")
            if self.placement != other.placement:
                words.append(f"parallel.placement {self.placement}")
        return ", ".join(words)


def _processes_in_words(process_count: int) -> str:
    if process_count == 1:
        return "one process"
    return f"{process_count} processes"


@dataclass(frozen=True)
class StreamChanges:
    """Names of tasks whose text is streamed, is read again, or has changed."""

    streamed: Sequence[str] = ()
    """tasks with streamed text, changed or not"""
    restarted: Sequence[str] = ()
    """tasks whose pool (streamed sentences in memory, which are shuffled) is read again"""
    changed: Sequence[str] = ()
    """tasks with another text than in the checkpoint"""


def resume_warnings(
    run: Run,
    state: Mapping[str, Any],
    process_count: int,
    changes: StreamChanges,
) -> Iterator[str]:
    """Messages about settings and text that changed since the checkpoint, and the consequences.

    state: training state of the checkpoint. process_count: number of processes of the resumed run.
    """
    yield from _layout_warnings(run, state, process_count, changes)
    if changes.restarted:
        yield (
            f"the pool of sentences of {abbreviate(changes.restarted)} in memory has changed, "
            "because data, filter or batching have changed; the text is read again from the first "
            "sentence of the old pool: no sentence is left out, and sentences that were already "
            "trained on are repeated"
        )
    yield from _batching_warnings(run, state, changes)
    if changes.changed:
        yield (
            f"the training text of {', '.join(changes.changed)} has changed since this checkpoint; "
            "the run continues at the same place in the new text, so some sentences of this epoch "
            "may be repeated or left out"
        )


def validation_warning(
    progress: Mapping[str, Any],
    stored: Mapping[str, Any] | None,
    current: Mapping[str, Any] | None,
) -> str | None:
    """Message if the validation has changed; None if its results can be compared with the old ones.

    progress: that of the checkpoint. stored, current: metric of the best checkpoint, and
    fingerprints of the text by pair; None for a run without validation text, and in older
    checkpoints.
    """
    if not stored or not current or stored == current:
        return None

    changes = []
    old_texts = stored["texts"]
    new_texts = current["texts"]
    if stored["by"] != current["by"]:
        changes.append(f"validation.best_by was {stored['by']} and is {current['by']}")
    else:
        added = [pair for pair in new_texts if pair not in old_texts]
        removed = [pair for pair in old_texts if pair not in new_texts]
        changed = []
        for pair in old_texts:
            if pair in new_texts and new_texts[pair] != old_texts[pair]:
                changed.append(pair)
        if changed:
            changes.append(f"the validation text of {abbreviate(changed)} has changed")
        if added:
            changes.append(f"the validation has new pairs: {abbreviate(added)}")
        if removed:
            changes.append(f"the validation is without {abbreviate(removed)}")
    listed_changes = " and ".join(changes)
    best = progress.get("best")
    message = f"{listed_changes} since this checkpoint; patience counts from here"
    if not best:
        return message
    return (
        f"{message}, and new results are not compared with {best['by']} {best['value']:.3f} of "
        f"step {best['step']}; that checkpoint stays the best one until the next validation"
    )


def _layout_warnings(
    run: Run,
    state: Mapping[str, Any],
    process_count: int,
    changes: StreamChanges,
) -> Iterator[str]:
    new = SamplingLayout.from_config(run.config, process_count)
    # Stored under the old name `division`; incomplete or absent in older checkpoints.
    stored = state.get("division", {})
    old = SamplingLayout(**{**asdict(new), **stored})

    tasks_changed = old.sampling_key != new.sampling_key
    readers_changed = bool(changes.streamed) and old.reading_key != new.reading_key
    if not tasks_changed and not readers_changed:
        return

    message = (
        f"was written with {old.describe(new)} and continues with {new.describe(old)}: "
        "every text continues at its position"
    )
    if old.batches_per_update != new.batches_per_update:
        message += ", but from here on an update has another number of batches and other tasks"
    elif tasks_changed:
        message += ", but from here on other tasks are drawn"
    if readers_changed:
        message += (
            "; the streamed text after the pool in memory is divided again among the processes"
        )
    yield message


def _batching_warnings(run: Run, state: Mapping[str, Any], changes: StreamChanges) -> Iterator[str]:
    if len(changes.streamed) == len(run.config.tasks):
        return
    batching = run.config.batching.model_dump(mode="json")
    if state.get("batching", batching) != batching:
        yield (
            "batching has changed since this checkpoint; text that is not streamed skips the same "
            "number of batches as before; these batches now hold different sentences, so some "
            "sentences of this epoch may be repeated or left out"
        )
