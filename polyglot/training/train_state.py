"""Training state: what a checkpoint needs besides the model, for an exact resume."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

import torch
from accelerate import Accelerator
from torch import Tensor

from polyglot.core.errors import CheckpointError
from polyglot.data.batching import BatchStream
from polyglot.data.streaming import StreamedBatches
from polyglot.distributed.processes import Processes
from polyglot.model.translation_model import TranslationModel
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs import checkpoint_writing
from polyglot.runs.checkpoint import Checkpoint
from polyglot.runs.run import Run
from polyglot.tasks.transfers import to_host
from polyglot.training.placement import Placement
from polyglot.training.resume import (
    SamplingLayout,
    StreamChanges,
    load_training_state,
    resume_warnings,
    validation_warning,
)

logger = logging.getLogger("polyglot")

Value = TypeVar("Value")
Streams = Mapping[str, BatchStream | StreamedBatches]
"""Streams of batches by task name."""
AnnealedValues = dict[str, dict[str, float]]
"""Annealed quantities, such as a softmax temperature, by option, then by name."""
Position = dict[str, Any]
"""Position in the text of a task, as a checkpoint stores it."""

StreamStates = dict[str, tuple[Position, str]]
"""Position in the text and fingerprint of the text, by task."""


@dataclass
class Progress:
    """Progress of a run: steps, training time, tokens, and the best validation."""

    step: int = 0
    """number of updates"""
    seconds: float = 0.0
    """training time, including the time before the run was resumed"""
    tokens: dict[str, int] = field(default_factory=dict)
    """target tokens that were trained on, by task"""
    best: dict[str, Any] | None = None
    """best validation: `step`, `by` (name of the metric) and `value`"""
    validations_since_best: int = 0
    """number of validations after the best one"""

    def record_validation(self, *, by: str, value: float) -> bool:
        """Record the result of a validation; returns whether it is the best so far.

        A loss is better when lower, BLEU when higher. A value that is not finite is never best,
        and a value of another metric than before always is.
        """
        better = math.isfinite(value) and self._improves(by, value)
        if better:
            self.best = {"step": self.step, "by": by, "value": value}
            self.validations_since_best = 0
        else:
            self.validations_since_best += 1
        return better

    def _improves(self, by: str, value: float) -> bool:
        if self.best is None or self.best["by"] != by:
            return True
        if by == "loss":
            return value < self.best["value"]
        return value > self.best["value"]

    def add_tokens(self, task: str, tokens: int) -> None:
        self.tokens[task] = self.tokens.get(task, 0) + tokens

    def to_dict(self) -> dict[str, Any]:
        """Values for `training.json`, where `validations_since_best` is named `without_better`."""
        values = asdict(self)
        values["without_better"] = values.pop("validations_since_best")
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Progress:
        """Progress from `training.json`; older checkpoints lack some values."""
        values = dict(values)
        if "without_better" in values:
            values["validations_since_best"] = values.pop("without_better")
        return cls(**values)


class TrainState:
    """State of a training run: writes it to checkpoints and restores it."""

    def __init__(
        self,
        run: Run,
        *,
        model: TranslationModel,
        optimizer: torch.optim.Optimizer,
        accelerator: Accelerator,
        streams: Streams,
        placement: Placement,
        processes: Processes,
        validation_texts: Mapping[str, str] | None = None,
    ) -> None:
        """model, streams: those of this process.

        validation_texts: fingerprint of the validation text by pair; None without validation.
        """
        self.run = run
        self.model = model
        self.parameters = model.component_parameters()
        self.annealed = model.annealed()
        self.optimizer = optimizer
        self.accelerator = accelerator
        self.streams = streams
        self.placement = placement
        self.processes = processes
        self.validation: dict[str, Any] | None = None
        """metric that decides the best checkpoint, and fingerprints of the validation text"""
        if validation_texts is not None:
            best_by = run.config.validation.best_by
            self.validation = {"by": best_by, "texts": dict(validation_texts)}
        self.progress = Progress()
        self.saved_step: int | None = None
        """step of the last checkpoint that was written or restored"""

    # Saving ----------------------------------------------------------------------------------

    def save(self) -> Checkpoint:
        """Write a checkpoint, mark it if it is the best one, and remove old checkpoints."""
        checkpoint = checkpoint_writing.write(
            self.run.checkpoints,
            step=self.progress.step,
            components=self._written_here(self.model.component_tensors()),
            training=self._optimizer_tensors(),
            state=self._state(),
            configuration=self.run.built_from,  # settings that determine the components
            settings=self.run.settings,  # all settings
            processes=self.processes,
        )
        self.saved_step = self.progress.step

        if self.processes.is_main:
            best = self.progress.best
            if best and best["step"] == self.progress.step:
                checkpoints.mark_best(self.run.checkpoints, best)
            keep = self.run.config.training.checkpoint.keep
            checkpoints.prune(self.run.checkpoints, keep=keep)
        return checkpoint

    def annealed_values(self) -> AnnealedValues:
        """Annealed quantities of the last update, such as temperatures, by option and name."""
        values: AnnealedValues = {}
        for option, annealed in self.annealed.items():
            values[option] = {}
            for name, value in annealed.values().items():
                rounded = f"{to_host(value).item():.6g}"
                values[option][name] = float(rounded)
        return values

    def _state(self) -> dict[str, Any]:
        """Content of `training.json`; gathers from all ranks."""
        config = self.run.config
        positions, fingerprints = self._gather_streams()
        layout = SamplingLayout.from_config(config, self.processes.world_size)
        scaler = self.accelerator.scaler
        return {
            "progress": self.progress.to_dict(),
            "annealed": self._gather_annealed(),
            "positions": positions,
            "data": fingerprints,
            "batching": config.batching.model_dump(mode="json"),
            "optimizer": config.optimizer.type,
            "division": asdict(layout),  # an old name, which the file format keeps
            "scaler": scaler and scaler.state_dict(),
            "validation": self.validation,
        }

    def _gather_streams(self) -> tuple[dict[str, Position], dict[str, str]]:
        """Positions in the text and fingerprints of the text, by task, gathered from all ranks."""
        local = {}
        for name, stream in self.streams.items():
            local[name] = (stream.position, stream.fingerprint)

        positions: dict[str, Position] = {}
        fingerprints: dict[str, str] = {}
        gathered = self.processes.gather(local, StreamStates, "the positions in the text")
        for rank_streams in gathered:
            for name, (position, fingerprint) in rank_streams.items():
                # The position is equal on all ranks; for streamed text each reader adds its own
                # entry.
                positions.setdefault(name, {}).update(position)
                fingerprints[name] = fingerprint
        return self._in_task_order(positions), self._in_task_order(fingerprints)

    def _in_task_order(self, by_task: Mapping[str, Value]) -> dict[str, Value]:
        ordered = {}
        for task in self.run.config.tasks:
            ordered[task.name] = by_task[task.name]
        return ordered

    def _gather_annealed(self) -> AnnealedValues:
        values: AnnealedValues = {}
        gathered = self.processes.gather(
            self.annealed_values(),
            AnnealedValues,
            "annealed values",
        )
        for rank_values in gathered:
            values.update(rank_values)
        return values

    def _written_here(self, components: Mapping[str, Value]) -> dict[str, Value]:
        """Components that this rank writes: it is the first rank that has them."""
        written = {}
        for name, component in components.items():
            first_rank = self.placement.ranks_of(name)[0]
            if first_rank == self.processes.rank:
                written[name] = component
        return written

    def _optimizer_tensors(self) -> dict[str, Tensor]:
        """Tensors of the optimizer, named `component/parameter/quantity`."""
        tensors: dict[str, Tensor] = {}
        for component, parameters in self._written_here(self.parameters).items():
            for name, parameter in parameters.items():
                state = self.optimizer.state.get(parameter, {})
                for quantity, value in state.items():
                    if isinstance(value, Tensor):
                        tensors[f"{component}/{name}/{quantity}"] = value
        return tensors

    # Restoring -------------------------------------------------------------------------------

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore everything from a checkpoint; logs a warning for each setting that changed.

        Raises CheckpointError for a checkpoint that this run cannot resume from.
        """
        state = load_training_state(self.run, checkpoint)
        checkpoint.load_into(self.model.component_tensors())
        self._restore_optimizer(checkpoint)
        self._restore_scaler(state)
        self.progress = Progress.from_dict(state["progress"])
        self.saved_step = self.progress.step
        self._restore_best_mark()
        self._forget_best_if_validation_changed(state, checkpoint)
        changes = self._restore_streams(state)
        warnings = resume_warnings(self.run, state, self.processes.world_size, changes)
        for warning in warnings:
            logger.warning(f"{checkpoint.path}: {warning}")

    def _restore_optimizer(self, checkpoint: Checkpoint) -> None:
        tensors = checkpoint.training_tensors(self.parameters)
        for key, value in tensors.items():
            parameter_name, _, quantity = key.rpartition("/")
            component, _, name = parameter_name.partition("/")
            parameter = self.parameters[component].get(name)
            is_scalar = value.dim() == 0
            if parameter is None or not (is_scalar or value.shape == parameter.shape):
                raise CheckpointError(
                    f"{checkpoint.path}: damaged: the optimizer state {key!r} fits no parameter "
                    "of the model"
                )
            # Fused optimizers keep the step count on the device of the parameter, too.
            value = value.to(parameter.device, copy=True)
            self.optimizer.state[parameter][quantity] = value

    def _restore_scaler(self, state: Mapping[str, Any]) -> None:
        if self.accelerator.scaler and state.get("scaler"):
            self.accelerator.scaler.load_state_dict(state["scaler"])

    def _restore_best_mark(self) -> None:
        """Mark the best checkpoint if the run stopped between writing it and marking it."""
        best = self.progress.best
        if not best or not self.processes.is_main:
            return
        folder = self.run.checkpoints
        exists = best["step"] in checkpoints.steps(folder)
        if exists and best["step"] != checkpoints.best_step(folder):
            checkpoints.mark_best(folder, best)

    def _forget_best_if_validation_changed(
        self,
        state: Mapping[str, Any],
        checkpoint: Checkpoint,
    ) -> None:
        """Forget the best value and the patience if the checkpoint has another validation.

        That is another text or another metric.
        """
        warning = validation_warning(state["progress"], state.get("validation"), self.validation)
        if warning:
            self.progress.best = None
            self.progress.validations_since_best = 0
            logger.warning(f"{checkpoint.path}: {warning}")

    def _restore_streams(self, state: Mapping[str, Any]) -> StreamChanges:
        """Move every stream to its position; returns what changed in the text of any rank."""
        restarted = []
        changed = []
        streamed = []
        fingerprints = state.get("data", {})  # absent from older checkpoints
        for name, stream in self.streams.items():
            try:
                was_restarted = stream.seek(state["positions"][name])
            except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
                raise CheckpointError(
                    f"{self.run.checkpoints}: the position in the text of {name} cannot be used "
                    f"({type(error).__name__}: {error}); choose an earlier checkpoint"
                ) from None
            if was_restarted:
                restarted.append(name)
            if fingerprints.get(name, stream.fingerprint) != stream.fingerprint:
                changed.append(name)
            if isinstance(stream, StreamedBatches):
                streamed.append(name)

        local = StreamChanges(streamed=streamed, restarted=restarted, changed=changed)
        gathered = self.processes.gather(local, StreamChanges, "the changes of the text")
        return StreamChanges(
            streamed=self._union([changes.streamed for changes in gathered]),
            restarted=self._union([changes.restarted for changes in gathered]),
            changed=self._union([changes.changed for changes in gathered]),
        )

    def _union(self, names_by_rank: Sequence[Sequence[str]]) -> list[str]:
        """Names of the tasks that any rank lists, in the order of the configuration."""
        listed = set().union(*names_by_rank)
        tasks = self.run.config.tasks
        return [task.name for task in tasks if task.name in listed]


def last_checkpoint_message(run: Run) -> str:
    """Sentence about the newest checkpoint on disk, for error messages."""
    steps = checkpoints.steps(run.checkpoints)
    if steps:
        return f"the last good checkpoint is step {steps[-1]}"
    return "there is no checkpoint yet"
