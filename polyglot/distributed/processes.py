"""Ranks of one run: barriers, broadcast and gathering of values besides gradients."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
import torch.distributed
from torch import Tensor
from torch.distributed import ProcessGroup

from polyglot.core.errors import PolyglotError, TrainingError
from polyglot.core.signals import default_signal_handling, exit_code
from polyglot.distributed.connection import COLLECTIVE_TIMEOUT, connect, connection_timeout
from polyglot.distributed.launch import launcher_world_size
from polyglot.distributed.messages import gather_values
from polyglot.distributed.store import (
    SHORT_TIMEOUT,
    call_with_timeout,
    claim_report,
    connect_store,
)
from polyglot.distributed.watch import HeartbeatMonitor
from polyglot.tasks.transfers import to_device, to_host

logger = logging.getLogger("polyglot")

STORE_LINGER = 6.0
"""Seconds that rank 0, which holds the store, waits at the end until the other ranks have left."""
WAIT_INTERVAL = 0.05  # seconds between two looks for a key
CONNECTION_ERROR = re.compile(r"gloo|nccl|connection|socket|broken pipe", re.IGNORECASE)
"""Messages of a RuntimeError about a broken connection."""


class LostProcessError(TrainingError):
    """Another process has failed or is gone."""


class Processes:
    """This process and the other ranks of a run; for a single process every call returns at once.

    `awaited` in the methods below names the thing that a rank waits for. The error message for a
    lost process quotes it.
    """

    def __init__(self, rank: int = 0, world_size: int = 1) -> None:
        self.rank = rank
        self.world_size = world_size
        self.monitor: HeartbeatMonitor | None = None
        self._groups: dict[tuple[int, ...], ProcessGroup | None] = {}
        self._groups[tuple(range(world_size))] = None  # the default group
        if world_size > 1:
            self.store = connect_store()
            self.monitor = HeartbeatMonitor(rank, world_size)
            # Values are exchanged on the CPU, without waiting for the device.
            self._cpu_group = torch.distributed.new_group(
                backend="gloo", timeout=COLLECTIVE_TIMEOUT
            )
            self.monitor.start()

    @property
    def is_main(self) -> bool:
        """True for rank 0, which writes files and logs."""
        return self.rank == 0

    @classmethod
    @contextmanager
    def connected(cls) -> Iterator[Processes]:
        """Connect the processes of a launcher, by its environment variables.

        Without a launcher, this process is the only rank. If a rank fails, the others end within
        a minute, and each error is reported once.

        Raises ConfigError if the processes cannot connect, or if environment variables ask for
        what this program cannot do.
        """
        world_size = launcher_world_size()
        if world_size in (None, 1):
            yield cls()
            return
        with default_signal_handling(), connection_timeout():
            state = connect()
            processes = cls(state.process_index, state.num_processes)
        if not processes.is_main:
            logger.setLevel(logging.CRITICAL)
        try:
            yield processes
            processes.barrier("end")
        except BaseException as error:
            processes._handle_failure(error)
            raise
        processes.monitor.stop()
        processes._leave()
        state.destroy_process_group()

    def set_checkpoint_message(self, message: Callable[[], str]) -> None:
        """Set the function that names the last good checkpoint; called when a process is lost."""
        if self.monitor:
            self.monitor.checkpoint_message = message

    def gather(self, value: Any, kind: Any, awaited: str = "the others") -> list[Any]:
        """Return the values of all ranks, ordered by rank. Collective.

        kind: type of the values, such as `dict[str, float]`; they travel as JSON and are checked.
        """
        if self.world_size == 1:
            return [value]
        with self.waiting(awaited):
            return gather_values(value, kind, self._cpu_group, self.world_size)

    def start_gathering(
        self,
        numbers: Sequence[int],
        awaited: str,
    ) -> Callable[[], list[list[int]]]:
        """Start to gather the integers of all ranks, equally many per rank; for every update.

        The returned function waits for them and returns them.
        """
        local = torch.tensor(numbers, dtype=torch.int64)
        rows = [torch.empty_like(local) for _ in range(self.world_size)]
        with self.waiting(awaited):
            work = torch.distributed.all_gather(rows, local, group=self._cpu_group, async_op=True)

        def finish() -> list[list[int]]:
            with self.waiting(awaited):
                work.wait()
            return [row.tolist() for row in rows]

        return finish

    def group(self, ranks: Sequence[int]) -> ProcessGroup | None:
        """Return the process group of some ranks, for tensors on the device.

        Collective: all ranks ask for the same groups in the same order.
        """
        ranks = tuple(ranks)
        if ranks not in self._groups:
            self._groups[ranks] = torch.distributed.new_group(
                list(ranks), timeout=COLLECTIVE_TIMEOUT
            )
        return self._groups[ranks]

    def copy(self, tensors: Sequence[Tensor], *, sender: int, receiver: int, awaited: str) -> None:
        """Copy float32 tensors of one rank into those of another; the other ranks do not wait.

        They travel together through main memory: on GPUs, a direct transfer would create a
        communicator for each pair of ranks.
        """
        if self.rank not in (sender, receiver) or not tensors:
            return
        if self.rank == sender:
            flat = to_host(torch.cat([tensor.detach().flatten() for tensor in tensors]))
            with self.waiting(awaited):
                torch.distributed.send(flat, receiver, group=self._cpu_group)
            return
        sizes = [tensor.numel() for tensor in tensors]
        flat = torch.empty(sum(sizes))
        with self.waiting(awaited):
            torch.distributed.recv(flat, sender, group=self._cpu_group)
        for tensor, values in zip(tensors, flat.split(sizes)):
            tensor.copy_(to_device(values.view(tensor.shape), tensor.device))

    def barrier(self, place: str) -> None:
        """Wait until all ranks have reached this place, without a time limit."""
        if self.world_size == 1:
            return
        self._set(f"{place}/{self.rank}", "")
        for rank in range(self.world_size):
            self._wait_for(f"{place}/{rank}", f"process {rank} ({place})")

    def main_first(self, place: str, work: Callable[[], Any]) -> Any:
        """Do some work on rank 0, and only then on the other ranks, which find its files.

        There is no time limit.
        """
        if not self.is_main:
            self._wait_for(place, f"what the first process prepares ({place})")
        result = work()
        if self.is_main and self.world_size > 1:
            self._set(place, "")
        return result

    def broadcast(self, key: str, value: Any) -> Any:
        """Return the value of rank 0 on every rank, as JSON holds it; without a time limit."""
        if self.world_size == 1:
            return value
        if self.is_main:
            self._set(key, json.dumps(value))
        self._wait_for(key, f"a value of the first process ({key})")
        return json.loads(self.store.get(key))

    @contextmanager
    def waiting(self, awaited: str) -> Iterator[None]:
        """Turn a broken connection into an error that names the lost process and what it owed.

        Other errors, such as memory that does not suffice, keep their type and message.
        """
        self.monitor.awaited = awaited
        try:
            yield
        except RuntimeError as error:
            if not is_connection_error(error):
                raise
            logger.debug("%s", error)
            raise self._lost_process() from None
        self.monitor.awaited = ""

    def _wait_for(self, key: str, awaited: str) -> None:
        """Wait for a key of the store, without a time limit."""
        with self.waiting(awaited):
            while not self.store.check([key]):
                if self.monitor.failure:
                    raise self._lost_process()
                time.sleep(WAIT_INTERVAL)

    def _set(self, key: str, value: str) -> None:
        with self.waiting("the store of the first process"):
            self.store.set(key, value)

    def _lost_process(self) -> LostProcessError:
        return LostProcessError(str(self.monitor.connection_error()))

    def _handle_failure(self, error: BaseException) -> None:
        """Record the error for the other ranks, and wait until they have read it.

        Ends the process without a message if another rank reports the same error.
        """
        self.monitor.stop()
        if isinstance(error, LostProcessError):
            is_silent = self.monitor.is_silent or not claim_report(self.store)
        else:
            is_silent = self._record_failure(error)
        self._leave()
        if is_silent:
            status = 2
            if isinstance(error, KeyboardInterrupt):
                status = exit_code(error)
            raise SystemExit(status) from None

    def _record_failure(self, error: BaseException) -> bool:
        """Record the error in the store; return True if another rank reports it.

        Rank 0 reports an interruption; the first rank reports an error that several ranks find.
        """
        is_interrupted = isinstance(error, KeyboardInterrupt)
        is_silent = is_interrupted and not self.is_main
        reason = _failure_reason(error)
        record = json.dumps({"process": self.rank, "reason": reason})
        try:
            if not is_silent and isinstance(error, (PolyglotError, KeyboardInterrupt)):
                claim_report(self.store)  # the other ranks read this error and need not report it
            request = partial(self.store.compare_set, "failed", "", record)
            first_record = json.loads(call_with_timeout(request, SHORT_TIMEOUT))
        except RuntimeError:  # rank 0, which holds the store, has ended
            return is_silent
        is_known = first_record["process"] != self.rank and first_record["reason"] == reason
        return is_silent or (is_known and not is_interrupted)

    def _leave(self) -> None:
        """Count this rank as left; rank 0 waits for the others, which read its store until then."""
        try:
            left = call_with_timeout(partial(self.store.add, "left", 1), SHORT_TIMEOUT)
            deadline = time.monotonic() + STORE_LINGER
            while self.is_main and left < self.world_size and time.monotonic() < deadline:
                time.sleep(0.1)
                left = self.store.add("left", 0)
        except RuntimeError:
            pass


def is_connection_error(error: RuntimeError) -> bool:
    """Return True for an error of the communication between processes.

    gloo raises plain RuntimeErrors, whose messages name its source files.
    """
    if isinstance(error, torch.distributed.DistError):
        return True
    return CONNECTION_ERROR.search(str(error)) is not None


def _failure_reason(error: BaseException) -> str:
    """Return the clause about the failure of this process, which follows `process 1`."""
    if isinstance(error, KeyboardInterrupt):
        return "was interrupted"
    if isinstance(error, PolyglotError):
        return f"has failed: {error}"
    return f"has failed: {type(error).__name__} {error}"
