"""Heartbeats between the processes: detect a failed or lost process, so that no process waits."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from functools import partial

from polyglot.core.console import stderr_console
from polyglot.core.errors import TrainingError
from polyglot.core.signals import continue_when_parent_ends
from polyglot.distributed.launch import LAUNCHER_PROCESS
from polyglot.distributed.store import (
    HEARTBEAT_TIMEOUT,
    SHORT_TIMEOUT,
    call_with_timeout,
    claim_report,
    connect_store,
)

HEARTBEAT_INTERVAL = 2.0
"""Seconds between two heartbeats."""
EXIT_GRACE = 5.0
"""Seconds in which the main thread can end by itself after a failure."""
LOST = "is gone: it was killed or stopped, or its machine is off"


class HeartbeatMonitor(threading.Thread):
    """Thread that sends heartbeats and checks those of other ranks.

    Rank 0 checks all ranks; the other ranks check rank 0. After a failure, the main thread gets
    an exception wherever it waits; if it cannot be woken, this thread ends the process.
    """

    def __init__(self, rank: int, world_size: int) -> None:
        super().__init__(name="watch", daemon=True)
        self.rank = rank
        self.store = connect_store()
        self.watched_ranks = [0]
        if rank == 0:
            self.watched_ranks = list(range(1, world_size))
        self.failure: str | None = None
        """The clause about the process that failed first, or None."""
        self.awaited = ""
        """The thing that the main thread waits for, for the message."""
        self.checkpoint_message: Callable[[], str] = str
        """Returns the clause about the last good checkpoint."""
        self.is_silent = False
        """True if rank 0 finds the same failure and reports it."""
        self._stopped = threading.Event()
        self._failure_detected = threading.Event()
        self._launcher = os.environ.get(LAUNCHER_PROCESS)
        if self._launcher:
            continue_when_parent_ends()

    def run(self) -> None:
        """Send and check heartbeats until the monitor is stopped or a process fails."""
        last_beats: dict[int, tuple[int, float]] = {}
        last_check = time.monotonic()
        while not self._stopped.wait(HEARTBEAT_INTERVAL):
            now = time.monotonic()
            if now - last_check > 3 * HEARTBEAT_INTERVAL:  # stopped, and perhaps all ranks were
                last_beats = {}
            last_check = now
            try:
                call_with_timeout(partial(self._check, last_beats, now), HEARTBEAT_TIMEOUT)
            except RuntimeError:
                self._fail(0, LOST)
            if not self.failure and self._has_lost_launcher():
                self._fail(self.rank, "is alone: the program that started the processes is gone")
                self.is_silent = self.rank > 0
            if self.failure:
                self._end_process()
                return

    def stop(self) -> None:
        """Stop the thread."""
        self._stopped.set()
        if self.is_alive():
            self.join(SHORT_TIMEOUT)

    def connection_error(self) -> TrainingError:
        """Return the error for a broken connection; waits until the lost process is known."""
        try:
            call_with_timeout(partial(self.store.set, "connection lost", ""), SHORT_TIMEOUT)
        except RuntimeError:
            self._fail(0, LOST)
        if not self._failure_detected.wait(2 * HEARTBEAT_TIMEOUT):
            self._fail(self.rank, "lost its connection to another process")
        return TrainingError(self.message())

    def message(self) -> str:
        """Return the message: failed process; what this one waited for; last checkpoint."""
        parts = [self.failure]
        if self.awaited:
            parts.append(f"process {self.rank} waited for {self.awaited}")
        try:
            parts.append(call_with_timeout(self.checkpoint_message, SHORT_TIMEOUT))
        except RuntimeError:  # perhaps the disk belongs to the lost machine
            pass
        return "; ".join(part for part in parts if part)

    def _check(self, last_beats: dict[int, tuple[int, float]], now: float) -> None:
        """Send a heartbeat, read the record of a failure, and check the watched ranks.

        last_beats: for each rank its number of heartbeats, and when that number was first read.
        """
        self.store.add(f"beat/{self.rank}", 1)
        timeout = HEARTBEAT_TIMEOUT
        if self.store.check(["connection lost"]):
            timeout = SHORT_TIMEOUT
        if self.store.check(["failed"]):
            record = json.loads(self.store.get("failed"))
            self._fail(record["process"], record["reason"])
        for rank in self.watched_ranks:
            count = self.store.add(f"beat/{rank}", 0)
            if rank not in last_beats or last_beats[rank][0] != count:
                last_beats[rank] = (count, now)
                continue
            silence = now - last_beats[rank][1]
            if silence > timeout:
                reason = f"is gone: it gave no sign of life for {silence:.0f} s"
                record = json.dumps({"process": rank, "reason": reason})
                self.store.compare_set("failed", "", record)
                self._fail(rank, reason)

    def _has_lost_launcher(self) -> bool:
        """Return True if the launcher of Polyglot has ended: another process is the parent."""
        if self._launcher is None:
            return False
        return self._launcher != str(os.getppid())

    def _fail(self, rank: int, reason: str) -> None:
        """Record the first failure."""
        if not self.failure:
            self.failure = f"process {rank} {reason}"
            self._failure_detected.set()

    def _end_process(self) -> None:
        """Let the main thread end the process, or end it here if the main thread is blocked."""
        if self._stopped.wait(EXIT_GRACE):
            return
        try:
            message = self.message()
            if not self.is_silent and claim_report(self.store):
                stderr_console.show_cursor()
                line = f"error: {message}"
                stderr_console.print(line, markup=False, highlight=False, soft_wrap=True)
        finally:
            os._exit(2)
