"""Launch several processes on this machine that train one run together."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from polyglot.core.console import stderr_console
from polyglot.core.errors import USER_ERROR, ConfigError
from polyglot.core.signals import active_signals, signal_handler

FAILURE_GRACE = 12.0
"""Seconds in which the other processes can end by themselves after one has failed."""
KILL_GRACE = 45.0
"""Seconds for the other processes to end after one was killed, or all were interrupted: they
notice a killed process by its missing heartbeats."""
POLL_INTERVAL = 0.05  # seconds
SUSPEND_SIGNALS = []
"""The signal of Ctrl-Z."""
if hasattr(signal, "SIGTSTP"):
    SUSPEND_SIGNALS.append(signal.SIGTSTP)

RANK_VARIABLES = ("RANK", "LOCAL_RANK")
ADDRESS_VARIABLES = ("MASTER_ADDR", "MASTER_PORT")
"""Variables with the address where the processes of other launchers find each other."""
STORE = "POLYGLOT_STORE"
"""File through which the processes of Polyglot's launcher find each other."""
LAUNCHER_PROCESS = "POLYGLOT_LAUNCHED"
"""Number of the process of Polyglot's launcher."""
RESTART_COUNT = "TORCHELASTIC_RESTART_COUNT"
"""Number of earlier starts of the processes, as torchrun counts them."""
SHARED_MEMORY = "/dev/shm"
LARGEST_DIGITS = 9
"""Digits of the largest number in a variable; more would take long to read."""
LAUNCHER_HINT = "a launcher sets these variables: unset them, or use one"


def launcher_world_size() -> int | None:
    """Return the number of processes that a launcher has started, or None without a launcher.

    The launcher is Polyglot, torchrun or accelerate; it sets environment variables.

    Raises ConfigError if a variable of several processes is missing or has a wrong value.
    """
    world_size = os.environ.get("WORLD_SIZE") or None
    if world_size is None:
        return None
    count = whole_number(world_size)
    if count is None:
        raise ConfigError(
            f"WORLD_SIZE is {world_size!r} in the environment, which is not a number of processes; "
            f"{LAUNCHER_HINT}"
        )
    if count != 1:
        _check_launcher_variables(count)
    return count


def whole_number(text: str) -> int | None:
    """Return the number in an environment variable; None for any text but one to nine digits."""
    if text.isdecimal() and len(text) <= LARGEST_DIGITS:
        return int(text)
    return None


def _check_launcher_variables(world_size: int) -> None:
    """Raise ConfigError for the first variable that is missing or wrong."""
    start = f"WORLD_SIZE is {world_size} in the environment, but"
    required = RANK_VARIABLES
    if not os.environ.get(STORE):
        required += ADDRESS_VARIABLES
    missing = [name for name in required if not os.environ.get(name)]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise ConfigError(f"{start} {' and '.join(missing)} {verb} not set; {LAUNCHER_HINT}")
    rank = os.environ["RANK"]
    number = whole_number(rank)
    if number is None or number >= world_size:
        raise ConfigError(
            f"{start} RANK is {rank!r}; it must be a whole number below WORLD_SIZE; {LAUNCHER_HINT}"
        )
    largest = {
        "LOCAL_RANK": world_size - 1,
        "LOCAL_WORLD_SIZE": world_size,
        "MASTER_PORT": 65535,
    }
    for name, limit in largest.items():
        value = os.environ.get(name, "1")
        number = whole_number(value)
        if number is None or number > limit:
            raise ConfigError(
                f"{start} {name} is {value!r}; it must be a whole number, at most {limit}; "
                f"{LAUNCHER_HINT}"
            )


def restart_count() -> int:
    """Return how often the processes of this run were started again by their launcher."""
    count = os.environ.get(RESTART_COUNT, "")
    return whole_number(count) or 0


def launch(world_size: int, command: Sequence[str], *, restarts: int = 0) -> int:
    """Run a command in several processes, one per rank, and wait for all of them.

    restarts: how often all processes are started again after one was killed or crashed. They read
    the number of restarts from their environment, and continue from the last checkpoint.

    Returns the exit code of the first process that failed, or 0; after an interruption 130
    (Ctrl-C), 143 (SIGTERM) or 129 (SIGHUP).

    An interruption is passed to each process as SIGTERM. A process that does not handle it has no
    work to save, and ends at once. A second Ctrl-C kills all processes. Ctrl-Z stops all of them.

    Raises ConfigError if OMP_NUM_THREADS is not a number.
    """
    environment = _common_environment(world_size)
    interruptions: list[int] = []
    for restart in range(restarts + 1):
        environment[RESTART_COUNT] = str(restart)
        status, has_lost_process = _launch_once(world_size, command, environment, interruptions)
        if not has_lost_process or interruptions:
            break
        if restart < restarts:
            _print(f"restart {restart + 1} of {restarts}, from the last checkpoint")
    return status


def _launch_once(
    world_size: int,
    command: Sequence[str],
    environment: Mapping[str, str],
    interruptions: list[int],
) -> tuple[int, bool]:
    """Start the processes once; return the exit code, and True if one was killed or crashed.

    interruptions: signal handlers append to the list.
    """
    processes: list[subprocess.Popen] = []

    def interrupt(number: int, _frame: object) -> None:
        interruptions.append(number)

    def suspend(*_: object) -> None:
        _suspend(processes)

    with (
        signal_handler(active_signals(), interrupt),
        signal_handler(active_signals(SUSPEND_SIGNALS), suspend),
        _private_store() as store,
    ):
        try:
            for rank in range(world_size):
                process = subprocess.Popen(
                    command,
                    env={
                        **environment,
                        STORE: store,
                        "RANK": str(rank),
                        "LOCAL_RANK": str(rank),
                    },
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C in a terminal is passed on once, from here
                )
                processes.append(process)
            supervisor = _Supervisor(processes, interruptions)
            return supervisor.wait(), supervisor.has_lost_process
        finally:
            for process in processes:
                process.kill()


def _common_environment(world_size: int) -> dict[str, str]:
    """Return the environment variables that are equal for all ranks."""
    cores = len(os.sched_getaffinity(0))
    threads = os.environ.get("OMP_NUM_THREADS") or str(max(1, cores // world_size))
    if not threads.isdecimal():
        raise ConfigError(
            f"OMP_NUM_THREADS is {threads!r} in the environment; it must be a whole number: "
            "the threads of each process"
        )
    return {
        **os.environ,
        "WORLD_SIZE": str(world_size),
        "LOCAL_WORLD_SIZE": str(world_size),
        "OMP_NUM_THREADS": threads,
        LAUNCHER_PROCESS: str(os.getpid()),
    }


@contextmanager
def _private_store() -> Iterator[str]:
    """Path of a new file through which the processes find each other.

    It is in a folder that only this user can enter, so that no port is open to others. In memory:
    a full disk does not end the training.
    """
    parent = SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="polyglot-", dir=parent)
    try:
        yield os.path.join(folder, "store")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _suspend(processes: Sequence[subprocess.Popen]) -> None:
    """Stop all processes and then this one, until the user continues it.

    In a session without job control, the system does not stop this process either.
    """
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    with signal_handler(SUSPEND_SIGNALS, signal.SIG_DFL):
        signal.raise_signal(signal.SIGTSTP)
    for process in processes:
        process.send_signal(signal.SIGCONT)


class _Supervisor:
    """Waits for the processes, passes signals on, and ends the others after a failure.

    interruptions: the signals until now; a signal handler appends to the list.
    """

    def __init__(self, processes: Sequence[subprocess.Popen], interruptions: Sequence[int]) -> None:
        self.processes = processes
        self.interruptions = interruptions
        self.has_lost_process = False
        """True at the end if a process was killed, or crashed."""
        self._passed_on = 0
        self._is_killing = False
        self._failure: int | None = None
        self._deadline: float | None = None

    def wait(self) -> int:
        """Wait until all processes have ended; return the exit code for the shell."""
        while True:
            exit_codes = [process.poll() for process in self.processes]
            if None not in exit_codes:
                break
            time.sleep(POLL_INTERVAL)
            self._pass_on_signals()
            self._check_failure(exit_codes)
            if self._deadline and time.monotonic() > self._deadline:
                self._send(signal.SIGKILL)
        # Starting the processes again would not help after an error of the user.
        lost = [code for code in exit_codes if code not in (0, USER_ERROR)]
        self.has_lost_process = bool(lost)
        return self._exit_code(exit_codes)

    def _send(self, number: int) -> None:
        for process in self.processes:
            process.send_signal(number)

    def _pass_on_signals(self) -> None:
        """Send SIGTERM for each new interruption, or SIGKILL from the second Ctrl-C on."""
        for number in self.interruptions[self._passed_on :]:
            if self._passed_on > 0 and number == signal.SIGINT:
                self._is_killing = True
            self._send(signal.SIGKILL if self._is_killing else signal.SIGTERM)
            self._passed_on += 1

    def _check_failure(self, exit_codes: Sequence[int | None]) -> None:
        """Set the deadline for the other processes after the first failure."""
        if self._failure is not None:
            return
        for rank, code in enumerate(exit_codes):
            if not code:
                continue
            was_killed = code < 0
            if was_killed or self.interruptions:
                grace = KILL_GRACE
            else:
                grace = FAILURE_GRACE
            self._failure = code
            self._deadline = time.monotonic() + grace
            if was_killed and not self.interruptions:
                _print_killed(rank, signal.Signals(-code).name)
            return

    def _exit_code(self, exit_codes: Sequence[int]) -> int:
        """Return the exit code for the shell; print `interrupted` if no process has done so."""
        failures = [code for code in exit_codes if code]
        if self._failure is not None:
            failures.insert(0, self._failure)
        if not failures:
            return 0
        if self.interruptions:
            if exit_codes[0] < 0 and not self._is_killing:  # else rank 0 has printed it itself
                _print("interrupted")
            return 128 + self.interruptions[0]
        failure = failures[0]
        if failure < 0:
            return 128 - failure
        return failure


def _print_killed(rank: int, signal_name: str) -> None:
    hint = ""
    if signal_name == "SIGKILL":
        hint = "; if nobody sent it, check whether the memory was full"
    _print(f"process {rank} was ended by {signal_name}{hint}; the others end within a minute")


def _print(line: str) -> None:
    stderr_console.print(line, markup=False, highlight=False, soft_wrap=True)
