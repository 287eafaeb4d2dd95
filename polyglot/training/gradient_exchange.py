"""Exchange of gradients between processes, for the components that at least one process trained.

The gradients of a component are sent in buckets, in a fixed order, while the backward pass still
runs. If one rank trained a component, it broadcasts the gradients; if several ranks trained it, the
gradients are summed. A batch is weighted by its number of target tokens (or of sentences), divided
by that of all batches of the update. The ranks gather these counts before each update, so that
several processes compute the same update as one process that accumulates the same batches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
import torch.distributed
from torch import Tensor, nn

from polyglot.config.schema import Config
from polyglot.distributed.processes import Processes
from polyglot.tasks.pairs import LanguagePair
from polyglot.tasks.sharing import SharingConfig, component_names
from polyglot.training.gradient_buckets import (
    BucketQueue,
    GradientBucket,
    backward_order,
    split_into_buckets,
)
from polyglot.training.gradient_scaling import (
    Parameters,
    clip_gradients,
    flatten_parameters,
    gradient_norm,
    trainable_parameters,
)
from polyglot.training.parameter_checksums import compare_parameters
from polyglot.training.placement import Placement, ScheduledBatch

MEBIBYTE = 2**20

NamesByComponent = dict[str, set[str]]
"""Names of parameters by component."""


def build_exchange(
    config: Config,
    processes: Processes,
    placement: Placement,
    parameters: Parameters,
) -> NoOpExchange | GradientExchange:
    """Exchange of a run. parameters: those of this process, by component."""
    if processes.world_size == 1:
        return NoOpExchange()
    return GradientExchange(
        processes,
        placement,
        parameters,
        config.sharing,
        max_bucket_mib=config.parallel.bucket,
    )


class NoOpExchange:
    """No-op exchange for single-process training."""

    stop_signal = 0
    transferred_bytes = 0

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def create_process_groups(self) -> None:
        pass

    def begin(
        self,
        step: int,
        scheduled_batches: Sequence[ScheduledBatch],
        local_counts: Mapping[int, int],
        *,
        stop_signal: int,
    ) -> None:
        self._counts = dict(local_counts)

    def counts(self) -> dict[int, int]:
        return self._counts

    @contextmanager
    def during_backward(self, batch_index: int) -> Iterator[None]:
        yield

    def finish(self) -> None:
        pass

    def clip(self, trained: Parameters, max_norm: float | None) -> Tensor:
        return clip_gradients(flatten_parameters(trained), max_norm)

    def verify(self, components: Sequence[str]) -> None:
        pass


class GradientExchange:
    """Sums the gradients of an update over all processes."""

    def __init__(
        self,
        processes: Processes,
        placement: Placement,
        parameters: Parameters,
        sharing: SharingConfig,
        *,
        max_bucket_mib: float,
    ) -> None:
        """parameters: those of this process, by component."""
        self.processes = processes
        self.placement = placement
        self.sharing = sharing
        self.parameters = trainable_parameters(parameters)
        self.max_bucket_bytes = max_bucket_mib * MEBIBYTE

        self.stop_signal = 0
        """signal that asked a process to stop before this update; the same value on all ranks"""
        self.transferred_bytes = 0
        """gradient bytes that were sent or received so far"""
        self.parameters_with_gradient: dict[str, NamesByComponent] = {}
        """names of the parameters that get a gradient from a task, by task

        Other parameters of its components keep `grad = None`, which an optimizer does not treat
        like 0.
        """
        self._device = flatten_parameters(parameters)[0].device
        self._step = 0
        self._scheduled_batches: Sequence[ScheduledBatch] = ()
        self._finish_gathering: Callable[[], list[list[int]]] | None = None
        """waits for the rows of all ranks, whose gathering `begin` has started"""
        self._queue = BucketQueue(processes)

        self._local_batches: set[int] = set()
        """indices of the batches of this rank among the scheduled batches"""

        # The first update of a task records which parameters get a gradient from its batches.
        self._recording = False
        self._recorded: dict[int, set[nn.Parameter]] = {}
        self._current_batch = -1
        self._unexpected: set[nn.Parameter] = set()
        self._exchanged = self._exchanged_parameters()
        for parameter in flatten_parameters(self.parameters):
            parameter.register_post_accumulate_grad_hook(self._on_gradient)

    def create_process_groups(self) -> None:
        """Create process groups for shared components; collective, same order on every rank."""
        for ranks in self.placement.sharing_rank_groups:
            with self.processes.waiting("the process group of ranks that share components"):
                self.processes.group(ranks)

    def begin(
        self,
        step: int,
        scheduled_batches: Sequence[ScheduledBatch],
        local_counts: Mapping[int, int],
        *,
        stop_signal: int,
    ) -> None:
        """Start to gather the counts of all scheduled batches of an update.

        local_counts: number of target tokens (or of sentences) of each batch of this rank.
        stop_signal: signal that asked this process to stop, or 0.
        """
        self._step = step
        self._scheduled_batches = scheduled_batches
        self._finish_gathering = self._start_gathering(local_counts, stop_signal)

        self._local_batches = set(local_counts)
        self._recorded = {batch_index: set() for batch_index in local_counts}
        self._recording = any(
            batch.task.name not in self.parameters_with_gradient for batch in scheduled_batches
        )
        if self._recording:
            # Nothing is sent before `finish`, which knows the parameters with a gradient.
            self._queue = BucketQueue(self.processes)
        else:
            self._queue = self._build_queue()

    def counts(self) -> dict[int, int]:
        """Return the counts of all scheduled batches, by their index; once in each update.

        Called after the first forward pass, so that a GPU computes while this process waits for
        the others.
        """
        assert self._finish_gathering is not None
        rows = self._finish_gathering()
        self.stop_signal = max(row[0] for row in rows)

        # The counts of a rank are in the order of its batches.
        counts_by_rank = [deque(row[1:]) for row in rows]
        counts = {}
        for batch_index, batch in enumerate(self._scheduled_batches):
            counts[batch_index] = counts_by_rank[batch.rank].popleft()
        return counts

    @contextmanager
    def during_backward(self, batch_index: int) -> Iterator[None]:
        """Context for the backward pass of a local batch; sends buckets once they are complete.

        batch_index: index among the scheduled batches.
        """
        self._current_batch = batch_index
        self._queue.start_batch(batch_index)
        yield

    def finish(self) -> None:
        """Wait until every gradient of the update is the sum over all processes."""
        if self._recording:
            self._share_parameters_with_gradient()
            self._queue = self._build_queue()
        assert not self._unexpected, (
            "a task gives a gradient to a parameter that had none in its first batch"
        )

        self.transferred_bytes += self._queue.finish(len(self._scheduled_batches))

    def clip(self, trained: Parameters, max_norm: float | None) -> Tensor:
        """Scale gradients down to a global norm of at most `max_norm`.

        A component that several ranks have counts once. Returns the norm before clipping, a scalar
        tensor on the device.
        """
        parameters = flatten_parameters(trained)
        if self.placement.replicated:
            return clip_gradients(parameters, max_norm)

        norm = self._global_norm(trained)
        if max_norm is not None and parameters:
            gradients = [parameter.grad for parameter in parameters]
            factor = torch.clamp(max_norm / (norm + 1e-6), max=1.0)
            torch._foreach_mul_(gradients, factor)
        return norm

    def verify(self, components: Sequence[str]) -> None:
        """Compare the parameters of these components between the ranks that have them.

        Raises TrainingError for the first component that differs.
        """
        compare_parameters(self.processes, self.parameters, components, step=self._step)

    def _exchanged_parameters(self) -> set[nn.Parameter]:
        """Parameters of the components that more than one rank has."""
        exchanged: set[nn.Parameter] = set()
        for name, parameters in self.parameters.items():
            if len(self.placement.ranks_of(name)) > 1:
                exchanged.update(parameters.values())
        return exchanged

    def _start_gathering(
        self,
        local_counts: Mapping[int, int],
        stop_signal: int,
    ) -> Callable[[], list[list[int]]]:
        """Gather one row of integers per rank: the stop signal, then the counts of its batches.

        Rows have the same length on every rank; shorter ones are filled up with zeros.
        """
        batches_by_rank = [0] * self.processes.world_size
        for batch in self._scheduled_batches:
            batches_by_rank[batch.rank] += 1
        padding = [0] * (max(batches_by_rank) - len(local_counts))
        row = [stop_signal, *local_counts.values(), *padding]

        return self.processes.start_gathering(
            row,
            f"the batch sizes of all processes at step {self._step}",
        )

    def _on_gradient(self, parameter: nn.Parameter) -> None:
        """Hook that runs when the backward pass has completed the gradient of a parameter."""
        if self._recording:
            self._recorded[self._current_batch].add(parameter)
        elif not self._queue.add_gradient(parameter) and parameter in self._exchanged:
            self._unexpected.add(parameter)

    def _share_parameters_with_gradient(self) -> None:
        """Gather which parameters got a gradient from each task of this update, and store them."""
        local: dict[str, NamesByComponent] = {}
        for batch_index, recorded in self._recorded.items():
            task = self._scheduled_batches[batch_index].task
            local[task.name] = self._names_by_component(task.pair, recorded)

        gathered = self.processes.gather(
            local,
            dict[str, NamesByComponent],
            f"the components trained at step {self._step}",
        )
        for by_task in gathered:
            for task_name, by_component in by_task.items():
                task_names = self.parameters_with_gradient.setdefault(task_name, {})
                for component, names in by_component.items():
                    task_names.setdefault(component, set()).update(names)

    def _names_by_component(
        self,
        pair: LanguagePair,
        recorded: set[nn.Parameter],
    ) -> NamesByComponent:
        """Names of the recorded parameters, by component of the pair."""
        names: NamesByComponent = {}
        for component in component_names(pair, self.sharing):
            parameters = self.parameters.get(component)
            if parameters:
                names[component] = set()
                for name, parameter in parameters.items():
                    if parameter in recorded:
                        names[component].add(name)
        return names

    def _build_queue(self) -> BucketQueue:
        """Buckets of this update, in the order of the backward pass; the same on every rank."""
        batches_by_component: dict[str, list[int]] = {}
        for batch_index, batch in enumerate(self._scheduled_batches):
            for name in component_names(batch.task.pair, self.sharing):
                if name in self.parameters:
                    batches_by_component.setdefault(name, []).append(batch_index)

        buckets: list[GradientBucket] = []
        for name in sorted(batches_by_component, key=backward_order):
            if len(self.placement.ranks_of(name)) > 1:
                buckets += self._component_buckets(name, batches_by_component[name])

        return BucketQueue(self.processes, buckets, step=self._step)

    def _component_buckets(
        self,
        component: str,
        batch_indices: Sequence[int],
    ) -> list[GradientBucket]:
        """Buckets of one component that these scheduled batches train."""
        names_with_gradient: set[str] = set()
        for batch_index in batch_indices:
            names_with_gradient |= self._names_with_gradient(batch_index, component)
        if not names_with_gradient:
            return []

        training_ranks = dict.fromkeys(
            self._scheduled_batches[index].rank for index in batch_indices
        )
        group = self.processes.group(self.placement.ranks_of(component))
        # Local gradients are complete after the backward pass of the last local batch.
        last_batch = max(self._local_batches.intersection(batch_indices), default=-1)
        if last_batch >= 0:
            names_in_last_batch = self._names_with_gradient(last_batch, component)
        else:
            names_in_last_batch = set()

        parameters = self.parameters[component]
        buckets = []
        for names in split_into_buckets(
            parameters,
            names_with_gradient,
            max_bytes=self.max_bucket_bytes,
        ):
            buckets.append(
                GradientBucket(
                    component,
                    [parameters[name] for name in names],
                    tuple(training_ranks),
                    group,
                    last_batch,
                    missing_count=len(names_in_last_batch.intersection(names)),
                )
            )
        return buckets

    def _names_with_gradient(self, batch_index: int, component: str) -> set[str]:
        """Names of the parameters of a component that get a gradient from a scheduled batch."""
        task = self._scheduled_batches[batch_index].task
        return self.parameters_with_gradient[task.name].get(component, set())

    def _global_norm(self, trained: Parameters) -> Tensor:
        """Norm over all ranks; only the first rank that has a component includes it."""
        included = {}
        for name, parameters in trained.items():
            if self.placement.ranks_of(name)[0] == self.processes.rank:
                included[name] = parameters

        local_norm = gradient_norm(flatten_parameters(included))
        square = local_norm.to(self._device).square()
        with self.processes.waiting(f"the norm of the gradients at step {self._step}"):
            torch.distributed.all_reduce(square)
        return square.sqrt()
