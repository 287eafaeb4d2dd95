"""Gradients between processes: those of the components that anybody trained, and of no other.

Each component's are sent in flat pieces, in a fixed order, while the backward pass still runs. What one process alone has
trained is sent from there; what several have is added up. Weights are the target tokens (or sentences) of each batch over those of all,
which the processes tell each other before the update, so that several processes do what one does that accumulates the same batches.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
import torch.distributed
from torch import Tensor, nn

from polyglot.core.errors import TrainingError
from polyglot.distributed.processes import Processes
from polyglot.tasks.sharing import SharingConfig, component_names
from polyglot.training.gradient_buckets import GradientBucket, _turn
from polyglot.training.gradient_scaling import clip_gradients
from polyglot.training.placement import ScheduledBatch, Placement

Parameters = Mapping[str, Mapping[str, nn.Parameter]]


class NoOpExchange:
    """What is left of an exchange with nobody else there."""

    stop = 0
    bytes = 0

    def join_groups(self) -> None:
        pass

    def begin(
        self, step: int, plan: Sequence[ScheduledBatch], own: Mapping[int, int], *, stop: int
    ) -> dict[int, int]:
        return dict(own)

    @contextmanager
    def backward_of(self, number: int) -> Iterator[None]:
        yield

    def finish(self) -> None:
        pass

    def clip(self, trained: Parameters, largest: float | None) -> Tensor:
        return clip_gradients([one for own in trained.values() for one in own.values()], largest)

    def verify(self, trained: Sequence[str]) -> None:
        pass


class GradientExchange:
    """Adds up the gradients of an update over all processes."""

    def __init__(
        self,
        processes: Processes,
        placement: Placement,
        parameters: Parameters,
        sharing: SharingConfig,
        *,
        bucket: float,
    ) -> None:
        """parameters: of this process, by component. bucket: MiB."""
        self.processes, self.placement, self.sharing = processes, placement, sharing
        self.parameters = {
            name: {key: one for key, one in own.items() if one.requires_grad}
            for name, own in parameters.items()
        }
        self._device = next(one.device for own in parameters.values() for one in own.values())
        self.size = bucket * 2**20
        self.stop = 0
        """The signal that asked any of the processes for an end before this update, as all of them know by now."""
        self.bytes = 0
        """Handed to the others or taken from them so far."""
        self.reached: dict[str, dict[str, set[str]]] = {}
        """The parameters that a task gives gradients to, by component; the others have none, which is not the same as 0 to an optimizer."""
        self._queue, self._next = list[GradientBucket](), 0
        self._bucket_of: dict[nn.Parameter, GradientBucket] = {}
        self._current = -1
        self._unforeseen: set[nn.Parameter] = set()
        self._given: dict[int, set[nn.Parameter]] = {}
        self._sent: set[nn.Parameter] = set()
        """All that are ever sent."""
        for name, own in self.parameters.items():
            for parameter in own.values():
                parameter.register_post_accumulate_grad_hook(self._on_gradient)
            if len(placement.holders(name)) > 1:
                self._sent.update(own.values())

    def join_groups(self) -> None:
        """Connect those that have components in common, which waits for all of them; in the same order everywhere."""
        for members in self.placement.groups:
            with self.processes.waiting("those that it has components in common with"):
                self.processes.group(members)

    def begin(
        self, step: int, plan: Sequence[ScheduledBatch], own: Mapping[int, int], *, stop: int
    ) -> dict[int, int]:
        """Say how much the own batches count, in target tokens or sentences, by their number in the plan, and hear it of all.

        stop: the signal that asked this process for an end, or 0.
        """
        self._step, self._plan = step, plan
        largest = max(
            sum(one == process for one, _ in plan) for process in range(self.processes.number)
        )
        told = [stop, *own.values(), *[0] * (largest - len(own))]
        heard = self.processes.gather_numbers(told, f"the others at the beginning of step {step}")
        self.stop = max(row[0] for row in heard)
        left = [iter(row[1:]) for row in heard]
        parts = {number: next(left[process]) for number, (process, _) in enumerate(plan)}
        self._given = {number: set() for number in own}
        self._learning = any(task.name not in self.reached for _, task in plan)
        if not self._learning:
            self._line_up()
        return parts

    @contextmanager
    def backward_of(self, number: int) -> Iterator[None]:
        """Around the backward pass of one of the own batches: what is complete is sent off meanwhile."""
        self._current = number
        self._send_off()
        yield

    def finish(self) -> None:
        """Every gradient of the update as the sum over all processes."""
        if self._learning:
            self._learn()
            self._line_up()
        assert not self._unforeseen, (
            "a task gives gradients to a parameter that its first batch did not reach"
        )
        self._current = len(self._plan)
        self._send_off()
        for bucket in self._queue:
            with self.processes.waiting(f"its part of {bucket.component} at step {self._step}"):
                bucket.work.wait()
            parts = bucket.flat.split([one.numel() for one in bucket.parameters])
            for parameter, part in zip(bucket.parameters, parts, strict=True):
                parameter.grad = part.view_as(parameter)
            self.bytes += bucket.flat.numel() * bucket.flat.element_size()

    def clip(self, trained: Parameters, largest: float | None) -> Tensor:
        """Scale gradients down to a global norm of at most `largest`, counting what several have once; returns the norm before, on the
        device."""
        everything = [one for own in trained.values() for one in own.values()]
        if self.placement.everywhere:
            return clip_gradients(everything, largest)
        own = [
            one
            for name, part in trained.items()
            if self.placement.holders(name)[0] == self.processes.index
            for one in part.values()
        ]
        square = clip_gradients(own, None).to(self._device).square()
        with self.processes.waiting(f"the norm of the gradients at step {self._step}"):
            torch.distributed.all_reduce(square)
        norm = square.sqrt()
        if largest is not None and everything:
            torch._foreach_mul_(
                [one.grad for one in everything], torch.clamp(largest / (norm + 1e-6), max=1.0)
            )
        return norm

    def verify(self, trained: Sequence[str]) -> None:
        """Raises TrainingError naming components that are not the same on all processes that have them."""
        sums = {name: _checksum(own) for name in trained if (own := self.parameters.get(name))}
        everybody = self.processes.gather(sums, f"checksums at step {self._step}")
        for name in trained:
            values = {process: own[name] for process, own in enumerate(everybody) if name in own}
            if len(set(values.values())) > 1:
                alike = [
                    ", ".join(str(one) for one in values if values[one] == value)
                    for value in dict.fromkeys(values.values())
                ]
                raise TrainingError(
                    f"step {self._step}: {name} is no longer the same on all processes: that of {' is not that of '.join(alike)}; "
                    "do all machines have the same version of the program and of its libraries?"
                )

    def _learn(self) -> None:
        """Which parameters the tasks of this update have reached, once for each task."""
        found: dict[str, dict[str, list[str]]] = {}
        for number, given in self._given.items():
            pair = self._plan[number][1].pair
            components = {
                name: self.parameters.get(name, {}) for name in component_names(pair, self.sharing)
            }
            found[str(pair)] = {
                name: [key for key, one in own.items() if one in given]
                for name, own in components.items()
                if own
            }
        for known in self.processes.gather(found, f"what the tasks of step {self._step} train"):
            for task, components in known.items():
                before = self.reached.setdefault(task, {})
                before.update(
                    {name: before.get(name, set()).union(keys) for name, keys in components.items()}
                )

    def _line_up(self) -> None:
        """What will be sent in this update, in the same order everywhere: as the backward pass gives it, decoders first."""
        self._queue, self._next, self._current = [], 0, -1
        trains = [component_names(task.pair, self.sharing) for _, task in self._plan]
        trained = {name for own in trains for name in own if name in self.parameters}
        for name in sorted(trained, key=_turn):
            holders = self.placement.holders(name)
            of = [number for number, own in enumerate(trains) if name in own]
            reached = set().union(
                *(self.reached[self._plan[number][1].name].get(name, ()) for number in of)
            )
            if len(holders) == 1 or not reached:
                continue
            trainers = tuple(dict.fromkeys(self._plan[number][0] for number in of))
            last = max((number for number in of if number in self._given), default=-1)
            late = self.reached[self._plan[last][1].name].get(name, ()) if last >= 0 else ()
            group = self.processes.group(holders)
            for keys in self._cut(name, reached):
                parameters, missing = (
                    [self.parameters[name][key] for key in keys],
                    sum(key in late for key in keys),
                )
                self._queue.append(GradientBucket(name, parameters, trainers, group, last, missing))
        self._bucket_of = {
            parameter: bucket for bucket in self._queue for parameter in bucket.parameters
        }

    def _cut(self, name: str, reached: set[str]) -> Iterator[list[str]]:
        keys, size = [], 0
        for key, parameter in reversed(self.parameters[name].items()):
            if key in reached:
                own = parameter.numel() * parameter.element_size()
                if keys and size + own > self.size:
                    yield keys
                    keys, size = [], 0
                keys.append(key)
                size += own
        yield keys

    def _on_gradient(self, parameter: nn.Parameter) -> None:
        if self._learning:
            self._given[self._current].add(parameter)
        elif bucket := self._bucket_of.get(parameter):
            if bucket.last == self._current:
                bucket.missing -= 1
                if not bucket.missing:
                    self._send_off()
        elif parameter in self._sent:
            self._unforeseen.add(parameter)

    def _send_off(self) -> None:
        """From the head of the queue, what is complete; whoever does not train it has nothing to wait for."""
        while self._next < len(self._queue):
            bucket = self._queue[self._next]
            if bucket.last >= self._current and (bucket.last > self._current or bucket.missing):
                return
            self._send(bucket)
            self._next += 1

    def _send(self, bucket: GradientBucket) -> None:
        trains = self.processes.index in bucket.trainers
        if len(bucket.trainers) == 1 and not trains:
            bucket.flat = bucket.parameters[0].new_empty(
                sum(one.numel() for one in bucket.parameters)
            )
        else:
            gradients = [
                torch.zeros_like(one) if one.grad is None else one.grad for one in bucket.parameters
            ]
            bucket.flat = torch.cat([one.flatten() for one in gradients])
        with self.processes.waiting(f"its part of {bucket.component} at step {self._step}"):
            if len(bucket.trainers) == 1:
                bucket.work = torch.distributed.broadcast(
                    bucket.flat, bucket.trainers[0], group=bucket.group, async_op=True
                )
            else:
                bucket.work = torch.distributed.all_reduce(
                    bucket.flat, group=bucket.group, async_op=True
                )


def _checksum(parameters: Mapping[str, nn.Parameter]) -> int:
    """Of the bytes of all."""
    result = 0
    for parameter in parameters.values():
        result = zlib.crc32(parameter.detach().cpu().contiguous().view(torch.uint8).numpy(), result)
    return result
