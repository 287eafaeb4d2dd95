"""The training loop: updates, log lines, validations and checkpoints."""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor

from polyglot.core.errors import DataError
from polyglot.core.signals import call_on_signal
from polyglot.distributed.processes import LostProcessError, Processes
from polyglot.model.losses import Criterion
from polyglot.model.translation_model import TranslationModel
from polyglot.optim.lr_schedules import LearningRate
from polyglot.runs.checkpoint import Checkpoint
from polyglot.runs.run import Run
from polyglot.tasks.back_translation import BackTranslationTask
from polyglot.tasks.batch import Batch
from polyglot.tasks.noise import add_copy_noise
from polyglot.tasks.sharing import component_names
from polyglot.tasks.transfers import to_host
from polyglot.training.back_translation import Generation, build_back_translator
from polyglot.training.gradient_exchange import build_exchange
from polyglot.training.gradient_scaling import Parameters, average_gradients, clear_gradients
from polyglot.training.local_batches import BatchSource, LocalBatch
from polyglot.training.loss_monitor import LossMonitor, PendingLosses
from polyglot.training.placement import Placement, ScheduledBatch
from polyglot.training.seeds import seed_generators
from polyglot.training.train_state import Progress, Streams, TrainState, last_checkpoint_message
from polyglot.training.training_log import TrainingLog
from polyglot.training.validation import ValidationPass, ValidationResult


class Trainer:
    """Trains a model on the tasks of a schedule, one update at a time."""

    def __init__(
        self,
        run: Run,
        *,
        model: TranslationModel,
        optimizer: torch.optim.Optimizer,
        learning_rate_schedule: LearningRate,
        placement: Placement,
        streams: Streams,
        criterion: Criterion,
        accelerator: Accelerator,
        validate: ValidationPass | None,
        processes: Processes = Processes(),
    ) -> None:
        """streams: by task name. validate: one validation pass; None without validation text."""
        self.run = run
        self.settings = run.config.training
        self.accelerator = accelerator
        self.processes = processes
        self.model = model.to(accelerator.device)
        self.optimizer = accelerator.prepare_optimizer(optimizer)
        self.base_rates = [group["lr"] for group in optimizer.param_groups]
        self.learning_rate_schedule = learning_rate_schedule
        self.placement = placement
        self.streams = streams
        self.batch_source = BatchSource(streams, rank=processes.rank, device=accelerator.device)
        self.criterion = criterion
        self.validate = validate
        self.parameters = self.model.component_parameters()
        self.back_translator = build_back_translator(run.config, self.model)
        self.exchange = build_exchange(run.config, processes, placement, self.parameters)
        self.loss_monitor = LossMonitor(
            streams=streams,
            processes=processes,
            device=accelerator.device,
            precision=self.settings.precision,
            advice=self._advice,
        )
        self.state = TrainState(
            run,
            model=self.model,
            optimizer=self.optimizer,
            accelerator=accelerator,
            streams=streams,
            placement=placement,
            processes=processes,
            validation_texts=validate.texts if validate else None,
        )
        self.received_signal = 0
        """number of the signal that asked to stop, 0 if there was none"""
        self.log: TrainingLog | None = None
        """open only while `train` runs"""
        # If a process is lost, the error message says from where the run can be resumed.
        processes.set_checkpoint_message(self._last_checkpoint_message)

    @property
    def progress(self) -> Progress:
        return self.state.progress

    def resume(self, checkpoint: Checkpoint) -> None:
        """Continue exactly where a checkpoint was written."""
        self.state.restore(checkpoint)

    # The loop --------------------------------------------------------------------------------

    def train(self) -> None:
        """Train until the last step, an early stop or a signal; each leaves a checkpoint.

        After Ctrl-C or a termination signal, the current step is finished. A second Ctrl-C stops
        at once.
        """
        self.model.train()
        self.exchange.create_process_groups()
        with self._open_log() as log, call_on_signal(self._request_stop):
            self.log = log
            while not self._is_finished():
                started = time.perf_counter()
                norm = self.update()
                self.progress.step += 1
                self._monitor(norm)
                self.progress.seconds += time.perf_counter() - started

                log.advance(self.progress.step)
                if self._is_due(self.settings.log_every):
                    self._write_log_line(norm)
                if self.validate and self._is_due(self.run.config.validation.every):
                    self._run_validation()
                if self._is_due(self.settings.checkpoint.every):
                    self.save()
            self.save()
        # Each process now reports the signal that any of them received.
        self.received_signal = self._stop_signal()

    def update(self) -> Tensor:
        """Train one step.

        Returns the gradient norm before clipping, a scalar tensor on the device.
        """
        step = self.progress.step
        self._set_learning_rate(step)
        self._set_annealed_quantities(step)

        scheduled_batches = self.placement.batches_at(step)
        batches = self._next_batches(scheduled_batches)
        self._begin_exchange(step, scheduled_batches, batches)
        counts = self._accumulate_gradients(step, batches)
        self.exchange.finish()

        trained = self._average_gradients(scheduled_batches, counts)
        norm = self._clip_gradients(trained)
        self.optimizer.step()
        clear_gradients(trained)
        self._verify_parameters(step, scheduled_batches)
        return norm

    def save(self) -> None:
        """Write a checkpoint of the present step, unless there is one already."""
        if self.state.saved_step == self.progress.step:
            return
        self._check_finite()
        checkpoint = self.state.save()
        step = self.progress.step
        self.log.write(
            f"step {step} · checkpoint in {checkpoint.path}",
            step=step,
            kind="checkpoint",
        )

    # Steps of an update ----------------------------------------------------------------------

    def _set_learning_rate(self, step: int) -> None:
        for group, base_rate in zip(self.optimizer.param_groups, self.base_rates):
            group["lr"] = base_rate * self.learning_rate_schedule.factor(step)

    def _set_annealed_quantities(self, step: int) -> None:
        for annealed in self.state.annealed.values():
            annealed.set_step(step)

    def _next_batches(self, scheduled_batches: Sequence[ScheduledBatch]) -> dict[int, LocalBatch]:
        """Batches of this rank, by their index in the scheduled batches of the update.

        If streamed text cannot be used, a checkpoint is written first, so that no step is lost.
        With several processes there is none, because the others do not know that this one ends.
        """
        try:
            return self.batch_source.next_batches(scheduled_batches)
        except DataError as error:
            if self.processes.world_size == 1:
                self.batch_source.rewind()
                self.save()
            raise DataError(f"{error}; {self._last_checkpoint_message()}") from None

    def _begin_exchange(
        self,
        step: int,
        scheduled_batches: Sequence[ScheduledBatch],
        batches: Mapping[int, LocalBatch],
    ) -> None:
        """Tell the other ranks the number of target tokens (or sentences) of each local batch."""
        local_counts = {}
        for batch_index, local in batches.items():
            local_counts[batch_index] = self.criterion.divisor(local.batch)
        self.exchange.begin(
            step,
            scheduled_batches,
            local_counts,
            stop_signal=self.received_signal,
        )

    def _accumulate_gradients(
        self,
        step: int,
        batches: Mapping[int, LocalBatch],
    ) -> dict[int, int]:
        """Add the gradients of each local batch, weighted by its share of the update.

        Returns the number of target tokens (or of sentences) of each batch of the update, by its
        index.
        """
        counts: dict[int, int] = {}
        for batch_index, local in batches.items():
            batch, generation = self._prepare_batch(step, batch_index, local)
            with self.accelerator.autocast():
                losses = self.criterion(self.model(batch), batch)
            if not counts:
                # Only now: the other ranks send their counts during the first forward pass.
                counts = self.exchange.counts()
            share = counts[batch_index] / sum(counts.values())
            with self.exchange.during_backward(batch_index):
                self.accelerator.backward(losses.total * share)
            # Logged steps count from 1.
            pending = PendingLosses.from_batch(step + 1, local, losses.terms, generation)
            self.loss_monitor.add_losses(pending)
        return counts or self.exchange.counts()

    def _prepare_batch(
        self,
        step: int,
        batch_index: int,
        local: LocalBatch,
    ) -> tuple[Batch, Generation]:
        """Batch with its generated source or its noise, and the cost of the generation.

        Seeds the random generator, for the generation and again for the training.
        """
        batch = local.batch
        generation = Generation()
        if isinstance(local.task, BackTranslationTask):
            self._seed(step, batch_index, "back-translation")
            # A separate context: autocast caches converted weights, here without gradients.
            with self.accelerator.autocast():
                batch, generation = self.back_translator.with_generated_source(batch, local.task)
        self._seed(step, batch_index)
        return add_copy_noise(batch, self.run.config.schedule.copy_noise), generation

    def _seed(self, step: int, batch_index: int, *purpose: str) -> None:
        """Seed the random generator for a batch, independently of its rank."""
        key = "/".join(map(str, (self.run.config.seed, step, batch_index, *purpose)))
        seed_generators(zlib.crc32(key.encode()), self.accelerator.device)

    def _average_gradients(
        self,
        scheduled_batches: Sequence[ScheduledBatch],
        counts: Mapping[int, int],
    ) -> Parameters:
        """Scale the gradients of each component to their mean; returns the trained parameters."""
        batch_counts = []
        for batch_index, count in counts.items():
            pair = scheduled_batches[batch_index].task.pair
            batch_counts.append((pair, count))
        return average_gradients(self.parameters, batch_counts, self.run.config.sharing)

    def _clip_gradients(self, trained: Parameters) -> Tensor:
        """Clip to `training.clip_norm`; returns the norm before clipping."""
        self.accelerator.unscale_gradients(self.optimizer)
        return self.exchange.clip(trained, self.settings.clip_norm)

    def _verify_parameters(
        self,
        step: int,
        scheduled_batches: Sequence[ScheduledBatch],
    ) -> None:
        """Compare the trained components between ranks, every `parallel.verify` updates."""
        every = self.run.config.parallel.verify
        if not every or (step + 1) % every != 0:
            return
        components: set[str] = set()
        for batch in scheduled_batches:
            components.update(component_names(batch.task.pair, self.run.config.sharing))
        self.exchange.verify(sorted(components))

    # Steps of the loop -----------------------------------------------------------------------

    def _open_log(self) -> TrainingLog:
        return TrainingLog(
            self.run.log,
            accelerator=self.accelerator,
            steps=self.settings.steps,
            start=self.progress.step,
            seconds=self.progress.seconds,
        )

    def _is_finished(self) -> bool:
        """Return whether to stop: after the last step, on a signal, or by early stopping."""
        if self.progress.step >= self.settings.steps or self._stop_signal():
            return True
        patience = self.run.config.validation.patience
        return patience is not None and self.progress.validations_since_best >= patience

    def _stop_signal(self) -> int:
        """Signal that asked to stop, or 0.

        With several processes it is the signal that all ranks know, so that they stop at the same
        step.
        """
        if self.processes.world_size == 1:
            return self.received_signal
        return self.exchange.stop_signal

    def _is_due(self, every: int) -> bool:
        """Return whether a repeated action is due; it is always due at the last step."""
        step = self.progress.step
        return step % every == 0 or step == self.settings.steps

    def _monitor(self, norm: Tensor) -> None:
        """Record the gradient norm; read the losses at each line of the log.

        Where reading takes no time, they are read at every step.
        """
        self.loss_monitor.add_norm(self.progress.step, norm)
        if self.loss_monitor.reads_every_step or self._is_due(self.settings.log_every):
            self._read_losses()

    def _read_losses(self) -> None:
        for batch in self.loss_monitor.read():
            self.log.window.add(batch.task, batch.losses, batch.tokens)
            self.log.window.add_generation(batch.generation)
            self.progress.add_tokens(batch.task, batch.tokens)

    def _write_log_line(self, norm: Tensor) -> None:
        values: dict[str, Any] = {
            "learning_rate": self.optimizer.param_groups[0]["lr"],
            "gradient_norm": to_host(norm).item(),
        }
        annealed = self.state.annealed_values()
        if annealed:
            values["annealed"] = annealed
        self.log.write_training(self.progress.step, seconds=self.progress.seconds, **values)

    def _run_validation(self) -> None:
        """Validate, and save a checkpoint if the result is the best so far."""
        self._check_finite()
        result = self._validate()
        metric = self.run.config.validation.best_by
        value = result.value(metric)
        is_best = self.progress.record_validation(by=metric, value=value)
        self.log.write_validation(
            self.progress.step,
            by=metric,
            value=value,
            is_best=is_best,
            losses=result.losses,
            bleu=result.bleu,
        )
        if is_best:
            self.save()

    def _validate(self) -> ValidationResult:
        """Run one validation pass. If it fails, write a checkpoint, so that no step is lost."""
        self.model.eval()
        try:
            return self.validate()
        except LostProcessError:
            raise  # a checkpoint needs all processes
        except Exception:
            # Whatever failed, also in a library: the steps since the last checkpoint are kept.
            self.save()
            raise
        finally:
            # Here and not in every step, because `train()` visits the modules of all languages.
            self.model.train()

    def _check_finite(self) -> None:
        """Raises TrainingError if a loss, a gradient or a parameter is not finite.

        Called before each validation and each checkpoint.
        """
        self._read_losses()
        self.loss_monitor.check_parameters(self.progress.step, self.parameters)

    def _last_checkpoint_message(self) -> str:
        return last_checkpoint_message(self.run)

    def _advice(self) -> str:
        checkpoint_message = self._last_checkpoint_message()
        return f"{checkpoint_message}; try a lower learning rate or a smaller training.clip_norm"

    def _request_stop(self, signal_number: int) -> None:
        self.received_signal = signal_number
