"""Starting several processes on this machine that train together."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Sequence

from polyglot.console import aside
from polyglot.errors import ConfigError

GRACE = 12.0
"""Seconds that the others have for ending by themselves when one has failed and could tell them."""
UNTOLD = 45.0
"""The same when it was killed, and they have to miss its signs of life first, or when all of them are interrupted."""


def launched() -> int | None:
    """How many processes a launcher has started together, this one among them: ours, torchrun or accelerate; None where none has.

    Raises ConfigError for several of which this one cannot be told.
    """
    number = os.environ.get("WORLD_SIZE") or None
    if number and not number.isdecimal():
        found = f"WORLD_SIZE is {number!r} in the environment, which is no number of processes"
        raise ConfigError(f"{found}; a launcher sets it: unset it, or use one")
    if number not in (None, "1") and "RANK" not in os.environ:
        raise ConfigError(f"WORLD_SIZE is {number} in the environment, but RANK is not set; a launcher sets both: unset it, or use one")
    return None if number is None else int(number)


def launch(number: int, command: Sequence[str]) -> int:
    """Run a command so many times at once, as processes that train together, and wait for all.

    Returns the exit status of the first that failed, or 0; 130 or 143 after an interruption, which comes to each of them as a polite end
    (SIGTERM): until one deals with that it has nothing to put away, and ends at once. A second Ctrl-C kills them.
    """
    threads = str(max(1, len(os.sched_getaffinity(0)) // number))
    together = {"WORLD_SIZE": str(number), "LOCAL_WORLD_SIZE": str(number), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
    common = {"OMP_NUM_THREADS": threads, **os.environ, **together, "POLYGLOT_LAUNCHED": str(os.getpid())}
    started: list[subprocess.Popen] = []
    heard: list[int] = []
    before = {each: signal.signal(each, lambda sent, _: heard.append(sent)) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        for index in range(number):
            environment = {**common, "RANK": str(index), "LOCAL_RANK": str(index)}
            # A session of its own: Ctrl-C in a terminal comes once to each, from here.
            started.append(subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, start_new_session=True))
        return _wait(started, heard)
    finally:
        for process in started:
            process.kill()
        for each, handler in before.items():
            signal.signal(each, handler)


def _wait(processes: Sequence[subprocess.Popen], heard: Sequence[int]) -> int:
    """Until all have ended; where one fails the others soon do, by themselves or not. heard: signals that have come until now."""
    failed, deadline, passed_on = None, None, 0
    while None in (ends := [process.poll() for process in processes]):
        time.sleep(0.05)
        for number in heard[passed_on:]:
            for process in processes:
                process.send_signal(signal.SIGKILL if passed_on and number == signal.SIGINT else signal.SIGTERM)
            passed_on += 1
        for index, end in enumerate(ends):
            if failed is None and end:
                failed, deadline = end, time.monotonic() + (UNTOLD if end < 0 or heard else GRACE)
                if failed < 0 and not heard:
                    name = signal.Signals(-failed).name
                    hint = "; when nobody sent it, look whether the memory was full" if name == "SIGKILL" else ""
                    _say(f"process {index} was ended by {name}{hint}")
        if deadline and time.monotonic() > deadline:
            for process in processes:
                process.kill()
    failed = failed or next((process.returncode for process in processes if process.returncode), 0)
    if failed and heard:
        if processes[0].returncode < 0:  # otherwise it has said so itself
            _say("interrupted")
        return 128 + heard[0]
    return 128 - failed if failed < 0 else failed


def _say(sentence: str) -> None:
    aside.print(sentence, markup=False, highlight=False, soft_wrap=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
