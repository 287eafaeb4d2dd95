"""Tools of the benchmarks: child processes and their time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

THREADS = 2
LAST_CHARACTERS = 600
"""Length of the output that the error of a failed process shows."""
ENDLESS = "while True: pass"


class MeasurementError(Exception):
    """A program failed, or lacks what is measured."""


def environment(threads: int = THREADS) -> dict[str, str]:
    """Return the environment variables of a measured process."""
    return {
        **os.environ,
        "OMP_NUM_THREADS": str(threads),
        "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1",  # checkpoints of OpenNMT-py
    }


def run_process(
    command: Sequence[object],
    *,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
    output: Path | None = None,
) -> str:
    """Run a command; return its standard output, or write it to a file.

    Raises MeasurementError with the end of its messages if it fails.
    """
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        cwd=folder,
        env=variables,
        text=True,
        encoding="utf-8",
        errors="replace",
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    if done.returncode:
        messages = done.stderr.strip() or done.stdout.strip()
        raise MeasurementError(f"{program_name(words)} failed: {messages[-LAST_CHARACTERS:]}")
    if output is not None:
        output.write_text(done.stdout, encoding="utf-8")
    # OpenNMT-py writes its log to one of both.
    return done.stdout + done.stderr


def program_name(words: Sequence[str]) -> str:
    """Return the name of the program for messages, without folders: `python -m polyglot train`."""
    names = [Path(word).name for word in words[:5]]
    return " ".join(names)


def seconds_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@contextmanager
def busy_process() -> Iterator[None]:
    """Keep one core busy with another process."""
    process = subprocess.Popen([sys.executable, "-c", ENDLESS])
    try:
        yield
    finally:
        process.kill()
        process.wait()
