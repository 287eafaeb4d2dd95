"""Buckets of gradients that are sent between processes together, and the queue that sends them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
import torch.distributed
from torch import Tensor, nn
from torch.distributed import ProcessGroup, Work

from polyglot.distributed.processes import Processes

BACKWARD_ORDER = (
    "decoder",
    "target_embedding",
    "bridge",
    "encoder",
    "source_embedding",
    "embedding",
)
"""Kinds of components in the order in which the backward pass completes their gradients."""


def backward_order(component: str) -> tuple[int, str]:
    """Sort key of a component's name; gives the same order on every rank."""
    kind = component.partition(".")[0]
    return BACKWARD_ORDER.index(kind), component


@dataclass(eq=False)
class GradientBucket:
    """Gradients of one component that are sent as one flat tensor."""

    component: str
    parameters: list[nn.Parameter]
    training_ranks: tuple[int, ...]
    """ranks that train the component in this update"""
    group: ProcessGroup | None
    """ranks that have the component"""
    last_batch: int
    """index of the last local batch that trains the component, among the scheduled batches of the
    update; −1 if there is none"""
    missing_count: int
    """number of gradients that are still missing from the last local batch"""
    flat: Tensor | None = None
    work: Work | None = None

    def is_complete(self, current_batch: int) -> bool:
        """Return whether all local gradients are complete during the backward pass of a batch."""
        if self.last_batch == current_batch:
            return self.missing_count == 0
        return self.last_batch < current_batch

    def fill(self, rank: int) -> None:
        """Create the flat tensor and copy the local gradients into it.

        On ranks that only receive, the tensor is left uninitialised.
        """
        if len(self.training_ranks) > 1 or rank in self.training_ranks:
            self.flat = self._flat_gradients()
        else:
            self.flat = self._uninitialised()

    def send(self) -> None:
        """Start the transfer: a broadcast if a single rank trains the component, else a sum."""
        if len(self.training_ranks) == 1:
            [sender] = self.training_ranks
            self.work = torch.distributed.broadcast(
                self.flat,
                sender,
                group=self.group,
                async_op=True,
            )
        else:
            self.work = torch.distributed.all_reduce(self.flat, group=self.group, async_op=True)

    def set_gradients(self) -> None:
        """Replace the gradients of the parameters by views of the received tensor."""
        sizes = [parameter.numel() for parameter in self.parameters]
        gradients = self.flat.split(sizes)
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.grad = gradient.view_as(parameter)

    @property
    def transferred_bytes(self) -> int:
        return self.flat.numel() * self.flat.element_size()

    def _flat_gradients(self) -> Tensor:
        parts = []
        for parameter in self.parameters:
            gradient = parameter.grad
            if gradient is None:
                gradient = torch.zeros_like(parameter)
            parts.append(gradient.flatten())

        return torch.cat(parts)

    def _uninitialised(self) -> Tensor:
        size = sum(parameter.numel() for parameter in self.parameters)
        return self.parameters[0].new_empty(size)


class BucketQueue:
    """Buckets of one update, sent in the same order on every rank as soon as they are complete."""

    def __init__(
        self,
        processes: Processes,
        buckets: Iterable[GradientBucket] = (),
        *,
        step: int = 0,
    ) -> None:
        self.processes = processes
        self.buckets = list(buckets)
        self.step = step
        self._next = 0
        self._current_batch = -1
        self._bucket_of: dict[nn.Parameter, GradientBucket] = {}
        for bucket in self.buckets:
            for parameter in bucket.parameters:
                self._bucket_of[parameter] = bucket

    def start_batch(self, batch_index: int) -> None:
        """Begin the backward pass of a batch; send the buckets that no later local batch changes.

        batch_index: index among the scheduled batches of the update.
        """
        self._current_batch = batch_index
        self._send_complete()

    def add_gradient(self, parameter: nn.Parameter) -> bool:
        """Count the gradient of a parameter; returns False if no bucket holds it."""
        bucket = self._bucket_of.get(parameter)
        if bucket is None:
            return False

        if bucket.last_batch == self._current_batch:
            bucket.missing_count -= 1
            if bucket.missing_count == 0:
                self._send_complete()
        return True

    def finish(self, number_of_batches: int) -> int:
        """Send the rest and wait for all buckets. Returns the bytes that were transferred."""
        # An index after the last batch: every bucket is now complete.
        self.start_batch(batch_index=number_of_batches)

        transferred = 0
        for bucket in self.buckets:
            with self._waiting_for(bucket):
                bucket.work.wait()
            bucket.set_gradients()
            transferred += bucket.transferred_bytes

        return transferred

    def _send_complete(self) -> None:
        """Send complete buckets from the head of the queue, up to the first incomplete one."""
        while self._next < len(self.buckets):
            bucket = self.buckets[self._next]
            if not bucket.is_complete(self._current_batch):
                return
            bucket.fill(self.processes.rank)
            with self._waiting_for(bucket):
                bucket.send()
            self._next += 1

    def _waiting_for(self, bucket: GradientBucket) -> AbstractContextManager[None]:
        return self.processes.waiting(f"gradients of {bucket.component} at step {self.step}")


def split_into_buckets(
    parameters: Mapping[str, nn.Parameter],
    names: set[str],
    *,
    max_bytes: float,
) -> Iterator[Sequence[str]]:
    """Divide these parameters of a component into buckets, last parameter first.

    A parameter that alone is larger than `max_bytes` has its own bucket.
    """
    bucket: list[str] = []
    bucket_bytes = 0
    for name, parameter in reversed(parameters.items()):
        if name not in names:
            continue
        parameter_bytes = parameter.numel() * parameter.element_size()
        if bucket and bucket_bytes + parameter_bytes > max_bytes:
            yield bucket
            bucket = []
            bucket_bytes = 0
        bucket.append(name)
        bucket_bytes += parameter_bytes

    yield bucket
