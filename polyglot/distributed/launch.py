"""Starting several processes on this machine that train together."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Sequence

from polyglot.core.console import stderr_console
from polyglot.core.errors import ConfigError
from polyglot.core.signals import active_signals, signal_handler

GRACE = 12.0
"""Seconds that the others have for ending by themselves when one has failed and could tell them."""
UNTOLD = 45.0
"""The same when it was killed, and they have to miss its signs of life first, or when all of them are interrupted."""
HALT = [signal.SIGTSTP] if hasattr(signal, "SIGTSTP") else []
"""What Ctrl-Z sends."""

SETS = "a launcher sets these variables: unset them, or use one"


def launched() -> int | None:
    """How many processes a launcher has started together, this one among them: ours, torchrun or accelerate; None where none has.

    Raises ConfigError for several of which this one cannot be told.
    """
    number = os.environ.get("WORLD_SIZE") or None
    if number and not number.isdecimal():
        found = f"WORLD_SIZE is {number!r} in the environment, which is no number of processes"
        raise ConfigError(f"{found}; {SETS}")
    if number not in (None, "1"):
        given = f"WORLD_SIZE is {number} in the environment, but"
        if lacking := [
            name
            for name in ("RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
            if not os.environ.get(name)
        ]:
            raise ConfigError(
                f"{given} {' and '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} not set; {SETS}"
            )
        if not os.environ["RANK"].isdecimal() or int(os.environ["RANK"]) >= int(number):
            raise ConfigError(
                f"{given} RANK is {os.environ['RANK']!r}, and has to be a number below that; {SETS}"
            )
        for name, most in {
            "LOCAL_RANK": int(number) - 1,
            "LOCAL_WORLD_SIZE": int(number),
            "MASTER_PORT": 65535,
        }.items():
            value = os.environ.get(name, "1")
            if not value.isdecimal() or int(value) > most:
                raise ConfigError(
                    f"{given} {name} is {value!r}, and has to be a number up to {most}; {SETS}"
                )
    return None if number is None else int(number)


def launch(number: int, command: Sequence[str]) -> int:
    """Run a command so many times at once, as processes that train together, and wait for all. Raises ConfigError for an environment that
    names no number of threads.

    Returns the exit status of the first that failed, or 0; 130, 143 or 129 after an interruption, which comes to each of them as a polite
    end (SIGTERM): until one deals with that it has nothing to put away, and ends at once. A second Ctrl-C kills them. Ctrl-Z halts all.
    """
    threads = os.environ.get("OMP_NUM_THREADS") or str(
        max(1, len(os.sched_getaffinity(0)) // number)
    )
    if not threads.isdecimal():
        raise ConfigError(
            f"OMP_NUM_THREADS is {threads!r} in the environment, and has to be a number: the threads of each process"
        )
    together = {
        "WORLD_SIZE": str(number),
        "LOCAL_WORLD_SIZE": str(number),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(_free_port()),
    }
    common = {
        **os.environ,
        **together,
        "OMP_NUM_THREADS": threads,
        "POLYGLOT_LAUNCHED": str(os.getpid()),
    }
    started: list[subprocess.Popen] = []
    asked: list[int] = []
    with (
        signal_handler(active_signals(), lambda sent, _: asked.append(sent)),
        signal_handler(active_signals(HALT), lambda *_: _halt(started)),
    ):
        try:
            for index in range(number):
                environment = {**common, "RANK": str(index), "LOCAL_RANK": str(index)}
                # A session of its own: Ctrl-C in a terminal comes once to each, from here.
                started.append(
                    subprocess.Popen(
                        command, env=environment, stdin=subprocess.DEVNULL, start_new_session=True
                    )
                )
            return _wait(started, asked)
        finally:
            for process in started:
                process.kill()


def _halt(processes: Sequence[subprocess.Popen]) -> None:
    """All of them and then this one, until somebody lets it go on; where nobody could, the system does not stop it either."""
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    with signal_handler(HALT, signal.SIG_DFL):
        signal.raise_signal(signal.SIGTSTP)
    for process in processes:
        process.send_signal(signal.SIGCONT)


def _wait(processes: Sequence[subprocess.Popen], asked: Sequence[int]) -> int:
    """Until all have ended; where one fails the others soon do, by themselves or not. asked: the signals that have come until now."""
    failed, deadline, passed_on, hurried = None, None, 0, False
    while None in (ends := [process.poll() for process in processes]):
        time.sleep(0.05)
        for number in asked[passed_on:]:
            hurried |= passed_on > 0 and number == signal.SIGINT
            for process in processes:
                process.send_signal(signal.SIGKILL if hurried else signal.SIGTERM)
            passed_on += 1
        for index, end in enumerate(ends):
            if failed is None and end:
                failed, deadline = end, time.monotonic() + (UNTOLD if end < 0 or asked else GRACE)
                if failed < 0 and not asked:
                    name = signal.Signals(-failed).name
                    hint = (
                        "; when nobody sent it, look whether the memory was full"
                        if name == "SIGKILL"
                        else ""
                    )
                    _say(
                        f"process {index} was ended by {name}{hint}; the others end within a minute"
                    )
        if deadline and time.monotonic() > deadline:
            for process in processes:
                process.kill()
    failed = failed or next((process.returncode for process in processes if process.returncode), 0)
    if failed and asked:
        if (
            processes[0].returncode < 0 and not hurried
        ):  # otherwise it has said so itself, or had begun to
            _say("interrupted")
        return 128 + asked[0]
    return 128 - failed if failed < 0 else failed


def _say(sentence: str) -> None:
    stderr_console.print(sentence, markup=False, highlight=False, soft_wrap=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
