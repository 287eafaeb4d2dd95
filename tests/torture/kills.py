"""Kills of a training, an evaluation, embeddings and a report at a random moment."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random

from tests.torture.trial import CORRECT, Finding, Outcome, Trial
from tests.torture.workplace import (
    COMMANDS,
    RUN,
    STEPS,
    TIME_LIMIT,
    Call,
    Workplace,
    call,
    finish,
    parameters,
    start,
)

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def training_kills(workplace: Workplace, random: Random, count: int) -> Iterator[Trial]:
    """Kill a training, continue it, and compare the parameters with those of one never killed."""
    for _ in range(count):
        moment = random.uniform(0.0, 1.1) * workplace.training_seconds
        number = random.choice(SIGNALS)

        def attempt(folder: Path, moment: float = moment, number: int = number) -> Finding:
            workplace.copy_text(folder)
            return kill_and_continue(workplace, folder, moment, number)

        name = signal.Signals(number).name
        yield Trial("kills of a training", f"{name} after {moment:.2f} s", attempt)


def two_process_kills(workplace: Workplace, random: Random, count: int) -> Iterator[Trial]:
    """Kill one of two processes, or all of them, and continue."""
    for _ in range(count):
        moment = random.uniform(0.2, 2.5) * workplace.training_seconds
        victim = random.choice(("launcher", "first", "last", "all"))

        def attempt(folder: Path, moment: float = moment, victim: str = victim) -> Finding:
            workplace.copy_text(folder)
            begin = time.monotonic()
            process = start(folder, "train", "mine.yaml", "--processes", "2")
            time.sleep(moment)
            workers = _children(process.pid)
            for pid in _victims(process, victim):
                _send(pid, signal.SIGKILL)
            ended = finish(process, folder, begin)
            _send(-process.pid, signal.SIGKILL)
            problem = ended.problem_of_killed() or _wait_for_end(workers)
            return problem or continue_training(workplace, folder, processes=2)

        yield Trial("kills of two processes", f"{victim} after {moment:.2f} s", attempt)


def _victims(process: subprocess.Popen[bytes], victim: str) -> list[int]:
    workers = _children(process.pid)
    if victim == "all":
        return [process.pid, *workers]
    if victim == "launcher" or not workers:
        return [process.pid]
    return [workers[0] if victim == "first" else workers[-1]]


def _children(pid: int) -> list[int]:
    """Processes that a process has started, in order."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    try:
        return sorted(int(child) for child in path.read_text().split())
    except OSError:  # the process has ended
        return []


def _wait_for_end(pids: list[int]) -> Finding | None:
    """Wait for processes that are not ours; those without a launcher notice it, and end.

    Until then they may still create the run, or remove the one that they have just begun.
    """
    end = time.monotonic() + TIME_LIMIT
    while any(map(_is_running, pids)):
        if time.monotonic() > end:
            for pid in pids:
                _send(pid, signal.SIGKILL)
            return Finding(Outcome.HANG, f"processes without a launcher run on for {TIME_LIMIT} s")
        time.sleep(0.05)
    return None


def _is_running(pid: int) -> bool:
    """Return False for a process that has ended, also if its parent has not asked for it yet."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    _, _, after_name = status.rpartition(") ")
    return not after_name.startswith("Z")


def _send(pid: int, number: int) -> None:
    """Send a signal to a process, or with a negative number to a group."""
    try:
        if pid < 0:
            os.killpg(-pid, number)
        else:
            os.kill(pid, number)
    except ProcessLookupError:
        pass  # it has ended before


def command_kills(workplace: Workplace, random: Random, count: int) -> Iterator[Trial]:
    """Kill an evaluation, embeddings or a report; the same command then gives the same results."""
    for _ in range(count):
        name = random.choice(("evaluate", "embed", "report", "translate"))
        moment = random.uniform(0.0, 1.0)

        def attempt(folder: Path, name: str = name, moment: float = moment) -> Finding:
            workplace.copy(folder)
            arguments = COMMANDS[name]
            if name == "evaluate":
                shutil.rmtree(folder / RUN / "evaluation")
            begin = time.monotonic()
            process = start(folder, *arguments)
            time.sleep(moment)
            _send(process.pid, signal.SIGKILL)
            killed = finish(process, folder, begin)
            problem = killed.problem_of_killed()
            if problem:
                return problem
            again = call(folder, *arguments)
            problem = again.problem()
            if problem:
                return problem
            if again.status:
                return Finding(Outcome.LOST_DATA, f"{name} is refused: {again.errors[-500:]}")
            return workplace.results.comparison(name, again, folder)

        yield Trial("kills of other commands", f"{name} after {moment:.2f} s", attempt)


def kill_and_continue(workplace: Workplace, folder: Path, moment: float, number: int) -> Finding:
    """Kill a new training after some seconds, and continue it."""
    begin = time.monotonic()
    process = start(folder, "train", "mine.yaml")
    time.sleep(moment)
    _send(process.pid, number)
    killed = finish(process, folder, begin)
    return killed.problem_of_killed() or continue_training(workplace, folder)


def continue_training(workplace: Workplace, folder: Path, *, processes: int = 1) -> Finding:
    """Continue a training that ended early; its last checkpoint is that of one never killed."""
    options = ("--processes", "2") if processes == 2 else ()
    if (folder / RUN / "config.yaml").is_file():
        result = call(folder, "train", RUN, "--resume", *options)
    else:
        result = call(folder, "train", "mine.yaml", *options)
    expected = workplace.trained_by_two if processes == 2 else workplace.trained
    return check_trained(expected, folder, result)


def check_trained(expected: Mapping[str, str], folder: Path, result: Call) -> Finding:
    """Check that a training has ended with these parameters."""
    problem = result.problem()
    if problem:
        return problem
    if result.status:
        return Finding(Outcome.LOST_DATA, f"cannot be continued: {result.errors[-500:]}")
    if parameters(folder, STEPS) != expected:
        return Finding(Outcome.SILENT_ERROR, "the parameters differ from a run never killed")
    return CORRECT
