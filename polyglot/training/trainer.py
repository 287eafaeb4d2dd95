"""The training loop."""

from __future__ import annotations

import logging
import math
import signal
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor

from polyglot import checkpoint as checkpoints
from polyglot.batch import Batch
from polyglot.checkpoint import Checkpoint
from polyglot.data.batching import BatchStream
from polyglot.errors import CheckpointError, TrainingError
from polyglot.model.losses import Criterion, Losses
from polyglot.model.model import TranslationModel
from polyglot.optim import LearningRate
from polyglot.run import Run
from polyglot.schedule import Schedule
from polyglot.training.gradients import clip, count_by_component, to_means
from polyglot.training.log import Log
from polyglot.training.progress import Progress
from polyglot.validation import Validation

logger = logging.getLogger("polyglot")

DIVERGED = 1e18
"""No parameter of a checkpoint is larger: a sum of such squares leaves float32, which learning never comes near."""


@dataclass(frozen=True, slots=True)
class Trained:
    """What is remembered of a batch until its losses are read from the device."""

    step: int
    task: str
    tokens: int
    indices: Any
    terms: Mapping[str, Tensor]


class Trainer:
    """Trains a model on the tasks of a schedule, one update at a time."""

    def __init__(
        self,
        run: Run,
        *,
        model: TranslationModel,
        optimizer: torch.optim.Optimizer,
        learning_rate: LearningRate,
        schedule: Schedule,
        streams: Mapping[str, BatchStream],
        criterion: Criterion,
        accelerator: Accelerator,
        validate: Callable[[], Validation] | None,
    ) -> None:
        """streams: by task name. validate: looks at held-out text; None when there is none."""
        self.run, self.settings, self.accelerator = run, run.config.training, accelerator
        self.model = model.to(accelerator.device)
        self.optimizer = accelerator.prepare_optimizer(optimizer)
        self.learning_rate, self.schedule, self.streams = learning_rate, schedule, streams
        self.criterion, self.validate = criterion, validate
        self.parameters = self.model.component_parameters()
        self.annealed = self.model.annealed()
        self.base_rates = [group["lr"] for group in optimizer.param_groups]
        self.progress = Progress()
        self.pending: list[Trained] = []
        self.norms: list[tuple[int, Tensor]] = []
        self.saved: int | None = None
        self.interrupted = 0
        """The signal that asked for an end, if one did."""

    def train(self) -> None:
        """Go on until the last step, an early stop, or an interruption; every end leaves a checkpoint."""
        progress, settings = self.progress, self.settings
        with self._log() as self.log, self._interruptible():
            while progress.step < settings.steps and not self.interrupted and not self._out_of_patience():
                started = time.perf_counter()
                norm = self.update()
                progress.step += 1
                self._look_at_losses(norm)
                progress.seconds += time.perf_counter() - started
                self.log.advance(progress.step)
                if self._due(settings.log_every):
                    self._report(norm)
                if self.validate and self._due(self.run.config.validation.every):
                    self._validate()
                if self._due(settings.checkpoint.every):
                    self.save()
            self.save()

    def update(self) -> Tensor:
        """One step: batches of the scheduled tasks, their gradients, the optimizer. Returns the gradient norm on the device."""
        step = self.progress.step
        torch.manual_seed(zlib.crc32(f"{self.run.config.seed}/{step}/{self.accelerator.process_index}".encode()))
        self._set_learning_rate(step)
        for quantities in self.annealed.values():
            quantities.move_to(step)
        place = {"process": self.accelerator.process_index, "processes": self.accelerator.num_processes}
        drawn = [(self._next_batch(task.name), self.streams[task.name].last_indices) for task in self.schedule.at(step, **place)]
        batches = [batch for batch, _ in drawn]
        count = self.criterion.count
        counts = count_by_component(batches, self.parameters, self.run.config.sharing, count=count)
        total = sum(map(count, batches))
        self.model.train()
        for batch, indices in drawn:
            with self.accelerator.autocast():
                losses = self.criterion(self.model(batch), batch)
            self.accelerator.backward(losses.total * (count(batch) / total))
            self._remember(batch, indices, losses)
        to_means(self.parameters, counts, total=total)
        trained = [parameter for name in counts for parameter in self.parameters[name].values() if parameter.grad is not None]
        self.accelerator.unscale_gradients(self.optimizer)
        norm = clip(trained, self.settings.clip_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return norm

    def save(self) -> None:
        """Write a checkpoint, and mark it when the last validation was the best one; once a step is enough."""
        if self.saved == self.progress.step:
            return
        self._check_numbers()
        checkpoint = checkpoints.write(
            self.run.checkpoints,
            step=self.progress.step,
            components=self.model.component_tensors(),
            training=self._optimizer_tensors(),
            state={
                "progress": self.progress.to_dict(),
                "annealed": self._annealed_values(),
                "positions": {name: stream.position for name, stream in self.streams.items()},
                "data": {name: stream.dataset.fingerprint for name, stream in self.streams.items()},
                "optimizer": self.run.config.optimizer.type,
                "scaler": self.accelerator.scaler and self.accelerator.scaler.state_dict(),
            },
            configuration=self.run.built_from,
        )
        self.saved = self.progress.step
        if self.progress.best and self.progress.best["step"] == self.progress.step:
            checkpoints.mark_best(self.run.checkpoints, self.progress.best)
        checkpoints.prune(self.run.checkpoints, keep=self.settings.checkpoint.keep)
        self.log.write(f"step {self.progress.step} · checkpoint in {checkpoint.path}", step=self.progress.step, kind="checkpoint")

    def resume(self, checkpoint: Checkpoint) -> None:
        """Go on exactly where a checkpoint was written."""
        self.run.check_same(checkpoint)
        state, optimizer = checkpoint.training_state(), self.run.config.optimizer.type
        if "progress" not in state:
            raise CheckpointError(f"{checkpoint.path}: was taken out of another run and cannot be continued; begin a new run with `initialize`")
        if state.get("optimizer", optimizer) != optimizer:
            raise CheckpointError(
                f"{checkpoint.path}: the optimizer was another one, {state['optimizer']!r}; the configuration says {optimizer!r}"
            )
        if state["progress"]["step"] > self.settings.steps:
            raise CheckpointError(
                f"{checkpoint.path}: the run is past training.steps {self.settings.steps} already; name more steps than that"
            )
        checkpoint.load_into(self.model.component_tensors())
        named = {f"{component}/{name}": one for component, own in self.parameters.items() for name, one in own.items()}
        for key, value in checkpoint.training_tensors().items():
            name, _, quantity = key.rpartition("/")
            # Fused optimizers keep the step count beside the parameter too.
            self.optimizer.state[named[name]][quantity] = value.to(named[name].device, copy=True)
        if self.accelerator.scaler and state.get("scaler"):
            self.accelerator.scaler.load_state_dict(state["scaler"])
        self.progress = Progress.from_dict(state["progress"])
        self.saved = self.progress.step
        best = self.progress.best
        if best and best["step"] in checkpoints.steps(self.run.checkpoints) and best["step"] != checkpoints.best_step(self.run.checkpoints):
            checkpoints.mark_best(self.run.checkpoints, best)  # it comes after the checkpoint, and somebody was stopped between the two
        for name, position in state["positions"].items():
            self.streams[name].seek(position)
        written = state.get("data", {})  # older checkpoints do not say
        if changed := [name for name, value in written.items() if value != self.streams[name].dataset.fingerprint]:
            logger.warning(
                f"{checkpoint.path}: the training text of {', '.join(changed)} is not what it was when this was written; "
                "the run goes on at the same place in the text of now, so some sentences of this epoch may come twice or not at all"
            )

    # The loop's calls, in its order -----------------------------------------------------------------------------------------

    def _log(self) -> Log:
        start, seconds = self.progress.step, self.progress.seconds
        return Log(self.run.log, accelerator=self.accelerator, steps=self.settings.steps, start=start, seconds=seconds)

    def _due(self, every: int) -> bool:
        return self.progress.step % every == 0 or self.progress.step == self.settings.steps

    def _out_of_patience(self) -> bool:
        patience = self.run.config.validation.patience
        return patience is not None and self.progress.without_better >= patience

    def _set_learning_rate(self, step: int) -> None:
        for group, base in zip(self.optimizer.param_groups, self.base_rates):
            group["lr"] = base * self.learning_rate.factor(step)

    def _next_batch(self, task: str) -> Batch:
        return self.streams[task].next().to(self.accelerator.device)

    def _remember(self, batch: Batch, indices: Any, losses: Losses) -> None:
        terms = {name: term.detach() for name, term in losses.terms.items()}
        self.pending.append(Trained(self.progress.step + 1, batch.task.name, batch.target_tokens, indices, terms))

    def _look_at_losses(self, norm: Tensor | None, *, flush: bool = False) -> None:
        """Read the losses of the last steps from the device: at each line of the log, so that no step has to wait for them.

        Raises TrainingError for a loss or a gradient that is no number, naming task and batch.
        """
        if norm is not None:
            self.norms.append((self.progress.step, norm))
        due = norm is not None and self._due(self.settings.log_every)
        if not due and not flush and self.accelerator.device.type != "cpu":
            return
        (pending, self.pending), (norms, self.norms) = (self.pending, []), (self.norms, [])
        numbers = [term.float() for batch in pending for term in batch.terms.values()] + [norm.float() for _, norm in norms]
        values = iter(torch.stack(numbers).tolist() if numbers else [])
        for batch in pending:
            losses = {name: next(values) for name in batch.terms}
            if not all(map(math.isfinite, losses.values())):
                raise TrainingError(self._not_a_number("the loss", losses, [batch]))
            self.log.window.add(batch.task, losses, batch.tokens)
            self.progress.tokens[batch.task] = self.progress.tokens.get(batch.task, 0) + batch.tokens
        for (step, _), value in zip(norms, values):
            if not math.isfinite(value) and self.settings.precision != "fp16":  # there the scaler skips such a step
                raise TrainingError(self._not_a_number("the gradient", {"norm": value}, [batch for batch in pending if batch.step == step]))

    def _report(self, norm: Tensor) -> None:
        """A line of the log; the losses of its steps have been read."""
        rate, annealed = self.optimizer.param_groups[0]["lr"], self._annealed_values()
        figures = {"learning_rate": rate, "gradient_norm": norm.item(), **({"annealed": annealed} if annealed else {})}
        self.log.training(self.progress.step, seconds=self.progress.seconds, **figures)

    def _annealed_values(self) -> dict[str, dict[str, float]]:
        """By option and name, as they were in the last update."""
        return {name: {key: value.item() for key, value in one.values().items()} for name, one in self.annealed.items()}

    def _not_a_number(self, what: str, values: Mapping[str, float], batches: Sequence[Trained]) -> str:
        lines = [line for batch in batches for line in self.streams[batch.task].dataset.names(batch.indices)]
        found = ", ".join(f"{name} {value}" for name, value in values.items())
        return (
            f"step {batches[0].step}, task {', '.join(batch.task for batch in batches)}: {what} is no longer a number ({found}); "
            f"batch of {len(lines)} sentences: {'; '.join(lines[:4])}{'; …' if len(lines) > 4 else ''}; {self._what_to_do()}"
        )

    def _check_numbers(self) -> None:
        """Raises TrainingError rather than judge or keep what a step spoilt: what is no number, and parameters beyond DIVERGED."""
        self._look_at_losses(None, flush=True)
        for name, own in self.parameters.items():
            largest = torch.stack([parameter.detach().abs().max() for parameter in own.values()]).max().item()  # NaN when one is NaN
            if not math.isfinite(largest):
                raise TrainingError(f"step {self.progress.step}: the parameters of {name} are no longer numbers; {self._what_to_do()}")
            if largest > DIVERGED:
                grown = f"training has diverged, the parameters of {name} grew to {largest:.1e}"
                raise TrainingError(f"step {self.progress.step}: {grown}; {self._what_to_do()}")

    def _what_to_do(self) -> str:
        kept = checkpoints.steps(self.run.checkpoints)
        good = f"the last good checkpoint is step {kept[-1]}" if kept else "there is no checkpoint yet"
        return f"{good}; try a lower learning rate or a smaller training.clip_norm"

    def _validate(self) -> None:
        self._check_numbers()
        self.model.eval()
        result = self.validate()
        by = self.run.config.validation.best_by
        value = result.value(by)
        better = self.progress.judge(by=by, value=value)
        scores = " ".join(f"{pair} {score:.1f}" for pair, score in result.bleu.items())
        line = f"step {self.progress.step} · validation · {by} {value:.3f}{' (best so far)' if better else ''}"
        line += f" · BLEU {scores}" if scores else ""
        figures = {"value": value, "by": by, "best": better, "losses": dict(result.losses), "bleu": dict(result.bleu)}
        self.log.write(line, step=self.progress.step, kind="validation", **figures)
        if better:
            self.save()

    def _optimizer_tensors(self) -> dict[str, Tensor]:
        state = self.optimizer.state
        return {
            f"{component}/{name}/{quantity}": value
            for component, parameters in self.parameters.items()
            for name, parameter in parameters.items()
            for quantity, value in state.get(parameter, {}).items()
            if isinstance(value, Tensor)
        }

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Ctrl-C and a polite end finish the step and leave a checkpoint; a second Ctrl-C does not wait."""

        def stop(number: int, frame: Any) -> None:
            self.interrupted = number
            signal.signal(signal.SIGINT, signal.default_int_handler)

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
