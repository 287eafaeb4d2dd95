"""Starting several processes on this machine that train together."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress

from polyglot.console import aside

GRACE = 45.0
"""Seconds that the others have for ending by themselves when one has failed."""


def is_launched() -> bool:
    """Whether this process is one of several already: of ours, of torchrun or of accelerate."""
    return "RANK" in os.environ


def launch(number: int, command: Sequence[str]) -> int:
    """Run a command so many times at once, as processes that train together, and wait for all.

    Returns the exit status of the first that failed, or 0. An interruption is passed on to each of them.
    """
    threads = str(max(1, len(os.sched_getaffinity(0)) // number))
    together = {"WORLD_SIZE": str(number), "LOCAL_WORLD_SIZE": str(number), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
    common = {"OMP_NUM_THREADS": threads, **os.environ, **together, "POLYGLOT_LAUNCHED": "1"}
    started: list[subprocess.Popen] = []

    def pass_on(sent: int, frame: object) -> None:
        for process in started:
            if process.poll() is None:
                process.send_signal(sent)

    before = {each: signal.signal(each, pass_on) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        for index in range(number):
            environment = {**common, "RANK": str(index), "LOCAL_RANK": str(index)}
            # A session of its own: Ctrl-C in a terminal comes once to each, from here.
            started.append(subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, start_new_session=True))
        return _wait(started)
    finally:
        for process in started:
            process.kill()
        for each, handler in before.items():
            signal.signal(each, handler)


def _wait(processes: Sequence[subprocess.Popen]) -> int:
    """Until all have ended; where one fails the others soon do, by themselves or not."""
    failed, deadline = None, None
    while None in (ends := [process.poll() for process in processes]):
        time.sleep(0.05)
        for index, end in enumerate(ends):
            if failed is None and end:
                failed, deadline = end, time.monotonic() + GRACE
                if failed < 0:
                    name = signal.Signals(-failed).name
                    hint = "; when nobody sent it, look whether the memory was full" if name == "SIGKILL" else ""
                    aside.print(f"process {index} was ended by {name}{hint}", markup=False, highlight=False, soft_wrap=True)
        if deadline and time.monotonic() > deadline:
            for process in processes:
                with suppress(ProcessLookupError):
                    process.kill()
    if failed is None:
        failed = next((process.returncode for process in processes if process.returncode), 0)
    return 128 - failed if failed < 0 else failed


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
