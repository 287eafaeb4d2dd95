"""Loss monitoring: stops training when a loss or gradient is NaN or infinite."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from polyglot.core.errors import TrainingError
from polyglot.data.arrays import Indices
from polyglot.distributed.processes import Processes
from polyglot.tasks.transfers import to_host
from polyglot.training.back_translation import Generation
from polyglot.training.gradient_scaling import Parameters
from polyglot.training.local_batches import LocalBatch
from polyglot.training.train_state import Streams

LARGEST_PARAMETER = 1e18
"""Limit for the absolute value of a parameter in a checkpoint. Above it, a sum of squared
parameters overflows float32. The parameters of a model that learns stay far below it."""
LISTED_SENTENCES = 4
"""Number of sentences of a batch that a message names."""


@dataclass(frozen=True, slots=True)
class PendingLosses:
    """Losses of one batch that are still on the device."""

    step: int
    task: str
    tokens: int
    sentences: Indices
    """places of the sentences in the text, as in `LocalBatch`"""
    terms: Mapping[str, Tensor]
    """scalar tensors by name, per target token"""
    text: str
    """name of the task whose stream has the sentences"""
    generation: Generation = Generation()
    """cost of a generated source"""

    @classmethod
    def from_batch(
        cls,
        step: int,
        local: LocalBatch,
        terms: Mapping[str, Tensor],
        generation: Generation,
    ) -> PendingLosses:
        """Losses of a batch, without their computation graph."""
        return cls(
            step,
            local.task.name,
            local.batch.target_tokens,
            local.sentences,
            terms={name: term.detach() for name, term in terms.items()},
            text=local.task.text_name,
            generation=generation,
        )


@dataclass(frozen=True, slots=True)
class BatchLosses:
    """Losses of one batch as numbers, each per target token."""

    task: str
    losses: Mapping[str, float]
    tokens: int
    generation: Generation = Generation()
    """cost of a generated source"""


class LossMonitor:
    """Collects the losses and gradient norms of some steps and reads them from the device together.

    Reading waits for the device, so the trainer reads at each line of the log.
    """

    def __init__(
        self,
        *,
        streams: Streams,
        processes: Processes,
        device: torch.device,
        precision: str,
        advice: Callable[[], str],
    ) -> None:
        """streams: by task name, to name sentences. advice: end of each error message."""
        self.streams = streams
        self.processes = processes
        self.precision = precision
        self.advice = advice
        self.reads_every_step = device.type == "cpu" and processes.world_size == 1
        """True if reading takes no time: there is no device and no other process to wait for"""
        self._losses: list[PendingLosses] = []
        self._norms: list[tuple[int, Tensor]] = []

    def add_losses(self, losses: PendingLosses) -> None:
        self._losses.append(losses)

    def add_norm(self, step: int, norm: Tensor) -> None:
        """Add the gradient norm of an update before clipping, a scalar tensor."""
        self._norms.append((step, norm))

    def read(self) -> list[BatchLosses]:
        """Read everything that was added, on all ranks; returns the losses of all ranks.

        Raises TrainingError, which names task and batch, for a loss or a gradient norm that is not
        finite.
        """
        pending = self._losses
        norms = self._norms
        self._losses = []
        self._norms = []

        losses, norm_values = _to_numbers(pending, norms)
        problem = self._first_problem(pending, losses, norm_values)
        gathered = self.processes.gather(
            (losses, problem),
            tuple[list[BatchLosses], str | None],
            "the losses of all processes",
        )

        for _, rank_problem in gathered:
            if rank_problem:
                raise TrainingError(rank_problem)

        all_losses: list[BatchLosses] = []
        for rank_losses, _ in gathered:
            all_losses += rank_losses
        return all_losses

    def check_parameters(self, step: int, parameters: Parameters) -> None:
        """Raises TrainingError, on all ranks, for parameters that are not finite, or too large."""
        problem = _parameter_problem(parameters)
        gathered = self.processes.gather(
            problem,
            str | None,
            "the parameter checks of all processes",
        )
        for rank_problem in gathered:
            if rank_problem:
                raise TrainingError(f"step {step}: {rank_problem}; {self.advice()}")

    def _first_problem(
        self,
        pending: Sequence[PendingLosses],
        losses: Sequence[BatchLosses],
        norms: Sequence[tuple[int, float]],
    ) -> str | None:
        """Message about the first loss or norm that is not finite, None if all are finite."""
        for batch, batch_losses in zip(pending, losses, strict=True):
            values = batch_losses.losses
            if not all(map(math.isfinite, values.values())):
                return self._message("the loss", values, [batch])

        if self.precision == "fp16":  # the scaler of the accelerator skips such a step
            return None
        for step, norm in norms:
            batches = [batch for batch in pending if batch.step == step]
            if batches and not math.isfinite(norm):
                return self._message("the gradient", {"norm": norm}, batches)
        return None

    def _message(
        self,
        quantity: str,
        values: Mapping[str, float],
        batches: Sequence[PendingLosses],
    ) -> str:
        """Message that names the step, the tasks, the numbers and some of the sentences."""
        numbers = [f"{name} {value}" for name, value in values.items()]
        tasks = [batch.task for batch in batches]
        step = batches[0].step

        sentences: list[str] = []
        for batch in batches:
            stream = self.streams[batch.text]
            sentences += stream.names(batch.sentences)
        listed = sentences[:LISTED_SENTENCES]
        if len(sentences) > LISTED_SENTENCES:
            listed.append("…")

        return (
            f"step {step}, task {', '.join(tasks)}: "
            f"{quantity} is not finite ({', '.join(numbers)}); "
            f"batch of {len(sentences)} sentences: {'; '.join(listed)}; "
            f"{self.advice()}"
        )


def _to_numbers(
    pending: Sequence[PendingLosses],
    norms: Iterable[tuple[int, Tensor]],
) -> tuple[list[BatchLosses], list[tuple[int, float]]]:
    """Copy losses and norms from the device in a single transfer."""
    scalars: list[Tensor] = []
    for batch in pending:
        scalars += [term.float() for term in batch.terms.values()]
    scalars += [norm.float() for _, norm in norms]
    numbers: list[float] = []
    if scalars:
        numbers = to_host(torch.stack(scalars)).tolist()
    values = iter(numbers)

    losses = []
    for batch in pending:
        by_name = {name: next(values) for name in batch.terms}
        losses.append(BatchLosses(batch.task, by_name, batch.tokens, batch.generation))
    return losses, [(step, next(values)) for step, _ in norms]


def _parameter_problem(parameters: Parameters) -> str | None:
    """Message about the first component with parameters that are not finite or too large."""
    maxima = []
    for by_name in parameters.values():
        maxima_of_parameters = []
        for parameter in by_name.values():
            maxima_of_parameters.append(parameter.detach().abs().max())
        maxima.append(torch.stack(maxima_of_parameters).max())  # NaN if any parameter is NaN

    largest_values = to_host(torch.stack(maxima)).tolist()
    for component, largest in zip(parameters, largest_values):
        if not math.isfinite(largest):
            return f"the parameters of {component} are not finite"
        if largest > LARGEST_PARAMETER:
            return f"training has diverged, the parameters of {component} grew to {largest:.1e}"
    return None
