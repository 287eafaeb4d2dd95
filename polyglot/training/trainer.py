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
from dataclasses import asdict, dataclass
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor

from polyglot.core.errors import DataError, TrainingError
from polyglot.core.signals import active_signals, signal_handler
from polyglot.data.batching import BatchStream
from polyglot.data.streaming import StreamedBatches
from polyglot.distributed.processes import Processes
from polyglot.model.losses import Criterion, Losses
from polyglot.model.translation_model import TranslationModel
from polyglot.optim.lr_schedules import LearningRate
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.checkpoint import Checkpoint
from polyglot.runs.run import Run
from polyglot.tasks.batch import Batch
from polyglot.tasks.sharing import component_names
from polyglot.training.gradient_exchange import NoOpExchange, GradientExchange
from polyglot.training.gradient_scaling import count_by_component, scale_to_means
from polyglot.training.placement import ScheduledBatch, Placement
from polyglot.training.progress import Progress
from polyglot.training.resume import SamplingLayout, load_training_state, resume_warnings
from polyglot.training.training_log import TrainingLog
from polyglot.training.validation import ValidationResult

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
        placement: Placement,
        streams: Mapping[str, BatchStream | StreamedBatches],
        criterion: Criterion,
        accelerator: Accelerator,
        validate: Callable[[], ValidationResult] | None,
        processes: Processes = Processes(),
    ) -> None:
        """streams: by task name. validate: looks at held-out text; None when there is none."""
        self.run, self.settings, self.accelerator, self.processes = (
            run,
            run.config.training,
            accelerator,
            processes,
        )
        self.model = model.to(accelerator.device)
        self.optimizer = accelerator.prepare_optimizer(optimizer)
        self.learning_rate, self.placement, self.streams = learning_rate, placement, streams
        self.criterion, self.validate = criterion, validate
        self.parameters = self.model.component_parameters()
        self.exchange = self._exchange()
        self.annealed = self.model.annealed()
        self.base_rates = [group["lr"] for group in optimizer.param_groups]
        self.progress = Progress()
        self.pending: list[Trained] = []
        self.norms: list[tuple[int, Tensor]] = []
        self.saved: int | None = None
        self.interrupted = 0
        """The signal that asked for an end, if one did."""
        processes.tells_what_is_kept(self._kept)

    def train(self) -> None:
        """Go on until the last step, an early stop, or an interruption; every end leaves a checkpoint."""
        progress, settings = self.progress, self.settings
        self.model.train()
        self.exchange.join_groups()
        with self._log() as self.log, self._interruptible():
            while (
                progress.step < settings.steps
                and not self._asked_to_end()
                and not self._out_of_patience()
            ):
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
        self.interrupted = self._asked_to_end()

    def update(self) -> Tensor:
        """One step: batches of the scheduled tasks, their gradients, the optimizer. Returns the gradient norm on the device."""
        step = self.progress.step
        self._set_learning_rate(step)
        for quantities in self.annealed.values():
            quantities.move_to(step)
        plan = self.placement.at(step)
        batches = self._next_batches(plan)
        parts = {number: self.criterion.count(batch) for number, (batch, _) in batches.items()}
        parts = self.exchange.begin(step, plan, parts, stop=self.interrupted)
        total = sum(parts.values())
        for number, (batch, indices) in batches.items():
            self._seed(step, number)
            with self.accelerator.autocast():
                losses = self.criterion(self.model(batch), batch)
            with self.exchange.backward_of(number):
                self.accelerator.backward(losses.total * (parts[number] / total))
            self._remember(batch, losses, indices)
        self.exchange.finish()
        pairs = ((plan[number][1].pair, part) for number, part in parts.items())
        counts = count_by_component(pairs, self.parameters, self.run.config.sharing)
        scale_to_means(self.parameters, counts, total=total)
        trained = {
            name: {key: one for key, one in self.parameters[name].items() if one.grad is not None}
            for name in counts
        }
        self.accelerator.unscale_gradients(self.optimizer)
        norm = self.exchange.clip(trained, self.settings.clip_norm)
        self.optimizer.step()
        for own in trained.values():
            for one in own.values():
                one.grad = None
        if (every := self.run.config.parallel.verify) and (step + 1) % every == 0:
            self.exchange.verify(
                sorted(
                    {
                        name
                        for _, task in plan
                        for name in component_names(task.pair, self.run.config.sharing)
                    }
                )
            )
        return norm

    def save(self) -> None:
        """Write a checkpoint, and mark it when the last validation was the best one; once a step is enough."""
        if self.saved == self.progress.step:
            return
        self._check_numbers()
        texts = self._texts_of_all()
        checkpoint = checkpoints.write(
            self.run.checkpoints,
            step=self.progress.step,
            components=self._owned(self.model.component_tensors()),
            training=self._optimizer_tensors(),
            state={
                "progress": self.progress.to_dict(),
                "annealed": dict(
                    one
                    for own in self.processes.gather(self._annealed_values(), "annealed values")
                    for one in own.items()
                ),
                "positions": {name: position for name, (position, _) in texts.items()},
                "data": {name: fingerprint for name, (_, fingerprint) in texts.items()},
                "batching": self.run.config.batching.model_dump(mode="json"),
                "optimizer": self.run.config.optimizer.type,
                "division": asdict(SamplingLayout.of(self.run.config, self.processes.number)),
                "scaler": self.accelerator.scaler and self.accelerator.scaler.state_dict(),
            },
            configuration=self.run.built_from,
            processes=self.processes,
        )
        self.saved = self.progress.step
        if self.processes.main:
            if self.progress.best and self.progress.best["step"] == self.progress.step:
                checkpoints.mark_best(self.run.checkpoints, self.progress.best)
            checkpoints.prune(self.run.checkpoints, keep=self.settings.checkpoint.keep)
        self.log.write(
            f"step {self.progress.step} · checkpoint in {checkpoint.path}",
            step=self.progress.step,
            kind="checkpoint",
        )

    def resume(self, checkpoint: Checkpoint) -> None:
        """Go on exactly where a checkpoint was written."""
        state = load_training_state(self.run, checkpoint)
        checkpoint.load_into(self.model.component_tensors())
        named = {
            f"{component}/{name}": one
            for component, own in self.parameters.items()
            for name, one in own.items()
        }
        for key, value in checkpoint.training_tensors(self.parameters).items():
            name, _, quantity = key.rpartition("/")
            # Fused optimizers keep the step count beside the parameter too.
            self.optimizer.state[named[name]][quantity] = value.to(named[name].device, copy=True)
        if self.accelerator.scaler and state.get("scaler"):
            self.accelerator.scaler.load_state_dict(state["scaler"])
        self.progress = Progress.from_dict(state["progress"])
        self.saved = self.progress.step
        best = self.progress.best
        if (
            self.processes.main
            and best
            and best["step"] in checkpoints.steps(self.run.checkpoints)
            and best["step"] != checkpoints.best_step(self.run.checkpoints)
        ):
            checkpoints.mark_best(
                self.run.checkpoints, best
            )  # it comes after the checkpoint, and somebody was stopped between the two
        begun = [
            name for name, stream in self.streams.items() if stream.seek(state["positions"][name])
        ]
        written = state.get("data", {})  # older checkpoints do not say
        changed = [
            name
            for name, own in self.streams.items()
            if name in written and written[name] != own.fingerprint
        ]
        streamed = [
            name for name, stream in self.streams.items() if isinstance(stream, StreamedBatches)
        ]
        everybody = self.processes.gather((begun, changed, streamed), "what has changed")
        begun, changed, streamed = (
            [task.name for task in self.run.config.tasks if any(task.name in own for own in of)]
            for of in zip(*everybody)
        )
        for sentence in resume_warnings(
            self.run, state, self.processes.number, streamed=streamed, begun=begun, changed=changed
        ):
            logger.warning(f"{checkpoint.path}: {sentence}")

    # The loop's calls, in its order -----------------------------------------------------------------------------------------

    def _exchange(self) -> NoOpExchange | GradientExchange:
        if self.processes.number == 1:
            return NoOpExchange()
        config = self.run.config
        return GradientExchange(
            self.processes,
            self.placement,
            self.parameters,
            config.sharing,
            bucket=config.parallel.bucket,
        )

    def _log(self) -> TrainingLog:
        start, seconds = self.progress.step, self.progress.seconds
        return TrainingLog(
            self.run.log,
            accelerator=self.accelerator,
            steps=self.settings.steps,
            start=start,
            seconds=seconds,
        )

    def _asked_to_end(self) -> int:
        """The signal that did; among several processes what all have heard of, so that they end at the same step."""
        return self.interrupted if self.processes.number == 1 else self.exchange.stop

    def _due(self, every: int) -> bool:
        return self.progress.step % every == 0 or self.progress.step == self.settings.steps

    def _out_of_patience(self) -> bool:
        patience = self.run.config.validation.patience
        return patience is not None and self.progress.without_better >= patience

    def _set_learning_rate(self, step: int) -> None:
        for group, base in zip(self.optimizer.param_groups, self.base_rates):
            group["lr"] = base * self.learning_rate.factor(step)

    def _next_batches(self, plan: Sequence[ScheduledBatch]) -> dict[int, tuple[Batch, Any]]:
        """The batches of this process by their number in the plan, and what each is made of; the others' are passed over.

        So the streams of every process are where those of one alone would be, but for streamed text, of which each reads its own.
        """
        batches = {}
        for number, (process, task) in enumerate(plan):
            if stream := self.streams.get(task.name):
                try:
                    indices = stream.take(own=process == self.processes.index)
                except DataError as error:  # text that is read only now
                    raise DataError(f"{error}; {self._kept()}") from None
                if process == self.processes.index:
                    batches[number] = stream.batch(indices).to(self.accelerator.device), indices
        return batches

    def _seed(self, step: int, number: int) -> None:
        """Each batch of an update has random numbers of its own, whichever process it is on."""
        torch.manual_seed(zlib.crc32(f"{self.run.config.seed}/{step}/{number}".encode()))

    def _remember(self, batch: Batch, losses: Losses, indices: Any) -> None:
        terms = {name: term.detach() for name, term in losses.terms.items()}
        self.pending.append(
            Trained(self.progress.step + 1, batch.task.name, batch.target_tokens, indices, terms)
        )

    def _look_at_losses(self, norm: Tensor | None, *, flush: bool = False) -> None:
        """Read the losses of the last steps from the device: at each line of the log, so that no step has to wait for them.

        Raises TrainingError for a loss or a gradient that is no number, naming task and batch.
        """
        if norm is not None:
            self.norms.append((self.progress.step, norm))
        due = norm is not None and self._due(self.settings.log_every)
        if (
            not due
            and not flush
            and (self.accelerator.device.type != "cpu" or self.processes.number > 1)
        ):
            return
        (pending, self.pending), (norms, self.norms) = (self.pending, []), (self.norms, [])
        numbers = [term.float() for batch in pending for term in batch.terms.values()] + [
            norm.float() for _, norm in norms
        ]
        values = iter(torch.stack(numbers).tolist() if numbers else [])
        seen, problems = [], []
        for batch in pending:
            losses = {name: next(values) for name in batch.terms}
            seen.append((batch.task, losses, batch.tokens))
            if not all(map(math.isfinite, losses.values())):
                problems.append(self._not_a_number("the loss", losses, [batch]))
        for (step, _), value in zip(norms, values):
            own = [batch for batch in pending if batch.step == step]
            if (
                not math.isfinite(value) and own and self.settings.precision != "fp16"
            ):  # there the scaler skips such a step
                problems.append(self._not_a_number("the gradient", {"norm": value}, own))
        everybody = self.processes.gather((seen, problems[:1]), "the losses of the others")
        for problem in (one for _, found in everybody for one in found):
            raise TrainingError(problem)
        for task, losses, tokens in (one for own, _ in everybody for one in own):
            self.log.window.add(task, losses, tokens)
            self.progress.tokens[task] = self.progress.tokens.get(task, 0) + tokens

    def _report(self, norm: Tensor) -> None:
        """A line of the log; the losses of its steps have been read."""
        rate, annealed = self.optimizer.param_groups[0]["lr"], self._annealed_values()
        figures = {
            "learning_rate": rate,
            "gradient_norm": norm.item(),
            **({"annealed": annealed} if annealed else {}),
        }
        self.log.training(self.progress.step, seconds=self.progress.seconds, **figures)

    def _annealed_values(self) -> dict[str, dict[str, float]]:
        """By option and name, as they were in the last update."""
        return {
            name: {key: float(f"{value.item():.6g}") for key, value in one.values().items()}
            for name, one in self.annealed.items()
        }

    def _not_a_number(
        self, what: str, values: Mapping[str, float], batches: Sequence[Trained]
    ) -> str:
        lines = [
            line for batch in batches for line in self.streams[batch.task].names(batch.indices)
        ]
        found = ", ".join(f"{name} {value}" for name, value in values.items())
        return (
            f"step {batches[0].step}, task {', '.join(batch.task for batch in batches)}: {what} is no longer a number ({found}); "
            f"batch of {len(lines)} sentences: {'; '.join(lines[:4])}{'; …' if len(lines) > 4 else ''}; {self._what_to_do()}"
        )

    def _check_numbers(self) -> None:
        """Raises TrainingError rather than judge or keep what a step spoilt: what is no number, and parameters beyond DIVERGED."""
        self._look_at_losses(None, flush=True)
        for problem in self.processes.gather(
            next(self._spoilt(), None), "the parameters of the others"
        ):
            if problem:
                raise TrainingError(f"step {self.progress.step}: {problem}; {self._what_to_do()}")

    def _spoilt(self) -> Iterator[str]:
        for name, own in self.parameters.items():
            largest = (
                torch.stack([parameter.detach().abs().max() for parameter in own.values()])
                .max()
                .item()
            )  # NaN when one is NaN
            if not math.isfinite(largest):
                yield f"the parameters of {name} are no longer numbers"
            elif largest > DIVERGED:
                yield f"training has diverged, the parameters of {name} grew to {largest:.1e}"

    def _kept(self) -> str:
        """What is on the disk to go on from: also a checkpoint that is just complete."""
        kept = checkpoints.steps(self.run.checkpoints)
        return (
            f"the last good checkpoint is step {kept[-1]}" if kept else "there is no checkpoint yet"
        )

    def _what_to_do(self) -> str:
        return f"{self._kept()}; try a lower learning rate or a smaller training.clip_norm"

    def _validate(self) -> None:
        self._check_numbers()
        self.model.eval()
        result = self.validate()
        self.model.train()  # here and not in every step: it goes through the modules of all languages
        by = self.run.config.validation.best_by
        value = result.value(by)
        better = self.progress.judge(by=by, value=value)
        scores = " ".join(f"{pair} {score:.1f}" for pair, score in result.bleu.items())
        line = f"step {self.progress.step} · validation · {by} {value:.3f}{' (best so far)' if better else ''}"
        line += f" · BLEU {scores}" if scores else ""
        figures = {
            "value": value,
            "by": by,
            "best": better,
            "losses": dict(result.losses),
            "bleu": dict(result.bleu),
        }
        self.log.write(line, step=self.progress.step, kind="validation", **figures)
        if better:
            self.save()

    def _texts_of_all(self) -> dict[str, tuple[dict[str, Any], str]]:
        """Where each task is in its text, and what that text is, by task in their order; also those of other processes alone."""
        own = {name: (stream.position, stream.fingerprint) for name, stream in self.streams.items()}
        found: dict[str, tuple[dict[str, Any], str]] = {}
        for texts in self.processes.gather(own, "where the texts are"):
            for name, (position, fingerprint) in texts.items():
                found[name] = (
                    {**found.get(name, ({},))[0], **position},
                    fingerprint,
                )  # the same of all, or of each its own
        return {task.name: found[task.name] for task in self.run.config.tasks}

    def _owned(self, components: Mapping[str, Any]) -> dict[str, Any]:
        """What this process writes: the first that has a component does."""
        return {
            name: own
            for name, own in components.items()
            if self.placement.holders(name)[0] == self.processes.index
        }

    def _optimizer_tensors(self) -> dict[str, Tensor]:
        state = self.optimizer.state
        return {
            f"{component}/{name}/{quantity}": value
            for component, parameters in self._owned(self.parameters).items()
            for name, parameter in parameters.items()
            for quantity, value in state.get(parameter, {}).items()
            if isinstance(value, Tensor)
        }

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Ctrl-C and a polite end finish the step and leave a checkpoint; a second Ctrl-C does not wait."""

        numbers = active_signals()

        def stop(number: int, frame: Any) -> None:
            self.interrupted = number
            if signal.SIGINT in numbers:
                signal.signal(signal.SIGINT, signal.default_int_handler)

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        with signal_handler(numbers, stop):
            yield
