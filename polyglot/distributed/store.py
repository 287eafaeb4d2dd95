"""Key-value store shared by all processes, with requests that always end.

The processes of Polyglot's launcher share a file that only their user can open; no port is open.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

from torch.distributed import FileStore, PrefixStore, Store, TCPStore

from polyglot.distributed.launch import RESTART_COUNT, STORE

HEARTBEAT_TIMEOUT = 30.0
"""Seconds without an answer or a heartbeat after which a process counts as lost."""
SHORT_TIMEOUT = 6.0
"""The timeout in seconds when a connection is broken, so that a process must be lost."""
POLL_INTERVAL = 0.5
"""Seconds between two checks of a waiting thread; longer waits would count time when stopped."""


def file_store(prefix: str) -> Store | None:
    """Return the store of Polyglot's launcher: a file of this user. None with other launchers."""
    path = os.environ.get(STORE)
    if not path:
        return None
    return PrefixStore(prefix, FileStore(path, -1))


def connect_store() -> Store:
    """Return the common store over a new connection: a file, or TCP with other launchers.

    The connection is separate from that of the process group: a request does not wait until
    another thread has its answer.
    """
    restart = os.environ.get(RESTART_COUNT, "0")
    prefix = f"polyglot/{restart}"
    store = file_store(prefix)
    if store is not None:
        return store
    connection = TCPStore(
        os.environ["MASTER_ADDR"],
        int(os.environ["MASTER_PORT"]),
        is_master=False,
        wait_for_workers=False,
        timeout=timedelta(seconds=HEARTBEAT_TIMEOUT),
    )
    return PrefixStore(prefix, connection)


def claim_report(store: Store) -> bool:
    """Return True if this process is the first that reports the failure.

    If the store is lost, one process on each machine reports it.
    """
    try:
        reports = call_with_timeout(partial(store.add, "reports", 1), SHORT_TIMEOUT)
    except RuntimeError:  # rank 0, which holds the store, is lost
        return _is_machine_reporter(int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"]))
    return reports == 1


def _is_machine_reporter(rank: int, local_rank: int) -> bool:
    """Return True for the first process of a machine, or the second if rank 0 is the first."""
    if rank == 0:
        return True
    if rank == local_rank:  # the machine of rank 0
        return local_rank == 1
    return local_rank == 0


def call_with_timeout(request: Callable[[], Any], timeout: float) -> Any:
    """Return the result of a request to the store or the disk.

    A stopped process or a machine that is off never answers, so the request runs in a thread.
    Time in which this process was stopped does not count.

    Raises RuntimeError if the request fails, or has no answer within the timeout (seconds).
    """
    finished = threading.Event()
    results: list[Any] = []
    errors: list[Exception] = []

    def run_request() -> None:
        try:
            results.append(request())
        except Exception as error:
            errors.append(error)
        finished.set()

    threading.Thread(target=run_request, daemon=True).start()
    if not wait_for_event(finished, timeout):
        raise RuntimeError("no answer")
    if errors:
        raise RuntimeError(str(errors[0])) from errors[0]
    return results[0]


def wait_for_event(event: threading.Event, timeout: float) -> bool:
    """Return True if the event happens within the timeout (seconds).

    Time in which this process was stopped does not count, except one interval.
    """
    for _ in range(round(timeout / POLL_INTERVAL)):
        if event.wait(POLL_INTERVAL):
            return True
    return False
