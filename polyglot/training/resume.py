"""Whether a run can go on from its last checkpoint, found out before any text is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from polyglot.config.schema import Config
from polyglot.core.errors import CheckpointError, abbreviate
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.checkpoint import Checkpoint
from polyglot.runs.run import Run


def last_checkpoint(run: Run) -> Checkpoint | None:
    """What `--resume` goes on from, every file of it read and checked; None for a run that has none yet.

    Raises CheckpointError for one that is damaged, or that this configuration cannot go on from.
    """
    if not checkpoints.steps(run.checkpoints):
        return None
    (last,) = checkpoints.choose(run.checkpoints, "last")
    load_training_state(run, last)
    for component in last.components:
        last.component(component)
    last.training_tensors()
    return last


def load_training_state(run: Run, checkpoint: Checkpoint) -> dict[str, Any]:
    """The training state of a checkpoint that the run can go on from. Raises CheckpointError for any other."""
    run.check_compatible(checkpoint)
    state, optimizer, steps = (
        checkpoint.training_state(),
        run.config.optimizer.type,
        run.config.training.steps,
    )
    if "progress" not in state:
        raise CheckpointError(
            f"{checkpoint.path}: was taken out of another run and cannot be continued; begin a new run with `initialize`"
        )
    if state.get("optimizer", optimizer) != optimizer:
        raise CheckpointError(
            f"{checkpoint.path}: the optimizer was another one, {state['optimizer']!r}; the configuration says {optimizer!r}, "
            f"to which what it remembers is of no use: go on with optimizer.type={state['optimizer']}, "
            "or begin a new run from these components with `initialize`"
        )
    if state["progress"]["step"] > steps:
        raise CheckpointError(
            f"{checkpoint.path}: the run is past training.steps {steps} already; name more steps than that"
        )
    return state


@dataclass(frozen=True)
class SamplingLayout:
    """What decides who trains what; a checkpoint says what it was."""

    processes: int
    tasks_per_update: int
    tasks: str
    placement: str

    @classmethod
    def of(cls, config: Config, processes: int) -> SamplingLayout:
        return cls(
            processes,
            config.schedule.tasks_per_update,
            config.parallel.tasks,
            config.parallel.placement,
        )

    @property
    def drawn(self) -> tuple[str, int, int]:
        """Two with the same draw the same tasks."""
        as_one = self.processes == 1 or (self.tasks, self.placement) == ("mixed", "replicated")
        return (
            ("", 1, self.batches)
            if as_one
            else (f"{self.tasks} {self.placement}", self.processes, self.tasks_per_update)
        )

    @property
    def read(self) -> tuple[int, bool]:
        """Two with the same divide streamed text alike."""
        return self.processes, self.processes > 1 and self.placement == "partitioned"

    @property
    def batches(self) -> int:
        """Of an update."""
        return self.processes * self.tasks_per_update

    def words(self, other: SamplingLayout) -> str:
        """In what it is another than that one, as far as that matters."""
        words = {
            "processes": "one process" if self.processes == 1 else f"{self.processes} processes"
        }
        words["tasks_per_update"] = f"schedule.tasks_per_update {self.tasks_per_update}"
        if self.processes == other.processes > 1:
            words |= {key: f"parallel.{key} {getattr(self, key)}" for key in ("tasks", "placement")}
        return ", ".join(
            said for key, said in words.items() if getattr(self, key) != getattr(other, key)
        )


def resume_warnings(
    run: Run,
    state: Mapping[str, Any],
    processes: int,
    *,
    streamed: Sequence[str],
    begun: Sequence[str],
    changed: Sequence[str],
) -> Iterator[str]:
    """Sentences about what is not as it was when a checkpoint of that training state was written, and what that does to the order of the
    data.

    streamed: the tasks whose text is. begun: those whose pool of sentences begins anew. changed: those whose text is another.
    """
    now = SamplingLayout.of(run.config, processes)
    was = SamplingLayout(**{**asdict(now), **state.get("division", {})})  # older checkpoints do not say
    drawn, read = was.drawn != now.drawn, bool(streamed) and was.read != now.read
    if drawn or read:
        number = (
            "an update has another number of batches from here on, and "
            if was.batches != now.batches
            else ""
        )
        other = (
            f", but {number}other tasks are drawn{'' if number else ' from here on'}"
            if drawn
            else ""
        )
        divided = (
            "; of streamed text, what is left of the epoch is divided anew, after the sentences that were in memory"
            if read
            else ""
        )
        words = f"was written with {was.words(now)} and goes on with {now.words(was)}"
        yield f"{words}: every text goes on where it was{other}{divided}"
    if begun:
        yield (
            f"the sentences of {abbreviate(begun)} that are in memory together are not those of then, for data, filter or batching have changed: "
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
