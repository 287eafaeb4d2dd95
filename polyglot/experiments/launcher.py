"""Start the trainings of an experiment as programs of their own, several at a time."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from rich.progress import Progress

from polyglot.core.errors import TrainingError
from polyglot.core.signals import TERMINATION_SIGNALS, active_signals, signal_handler

if TYPE_CHECKING:
    from polyglot.experiments.runs import Member


LOOK = 1.0
"""Seconds between looks at the logs of runs that train beside each other."""


HEARD = 10.0
"""Seconds that a run which Ctrl-C came to has for what it puts away, before it hears of a polite end as well."""


class Trainings:
    """`polyglot train` as a program of its own for each run, so that no run is touched by another.

    A single one speaks here. Several at once speak into `logs/` of the experiment, and here each has a line of progress;
    each has its share of the cores, unless `OMP_NUM_THREADS` says otherwise, and they take turns at the GPUs.
    """

    def __init__(self, folder: Path, parallel: int, bar: Progress) -> None:
        """bar: gets a line for each run that trains beside others."""
        self.folder, self.parallel, self.bar = folder, parallel, bar
        self.places: SimpleQueue[int] = SimpleQueue()
        for place in range(parallel):
            self.places.put(place)
        self.processes: set[subprocess.Popen] = set()

    @contextmanager
    def interruptible(self) -> Iterator[Trainings]:
        """An end that somebody else sends comes to every run that trains; Ctrl-C in a terminal does so by itself.

        What sounds like Ctrl-C may have been sent to this process alone: a run that goes on in spite of it hears of it as a polite end,
        as a second Ctrl-C would not let it finish its step.
        """

        polite = [number for number in active_signals() if number != signal.SIGINT]
        interrupt, hurried = signal.getsignal(signal.SIGINT), False

        def send(number: int) -> None:
            for process in list(self.processes):
                process.send_signal(number)

        def pass_on(sent: int, frame: object) -> None:
            for number in polite:  # a terminal that is closed says so twice
                signal.signal(number, signal.SIG_IGN)
            send(sent)
            raise KeyboardInterrupt(sent)

        def wait_and_pass_on(sent: int, frame: object) -> None:
            nonlocal hurried
            later = threading.Timer(0 if hurried else HEARD, send, (signal.SIGTERM,))
            later.daemon = not hurried  # nobody waits for a first one, but a second Ctrl-C may end this process before it is sent
            hurried = True
            later.start()
            interrupt(sent, frame)

        with signal_handler(polite, pass_on), signal_handler(active_signals([signal.SIGINT]), wait_and_pass_on):
            yield self

    def train(self, member: Member, arguments: Sequence[str]) -> None:
        """Raises TrainingError when a run was not completed, and KeyboardInterrupt when it was interrupted."""
        command = [sys.executable, "-m", "polyglot", "train", *arguments]
        if self.parallel == 1:
            self._wait(subprocess.Popen(command), arguments, where="above")
            return
        log, place = self.folder / "logs" / f"{member.name}.log", self.places.get()
        log.parent.mkdir(parents=True, exist_ok=True)
        try:
            with log.open("a", encoding="utf-8") as file:
                process = subprocess.Popen(
                    command,
                    env=self._environment(place),
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                )
                with self._shown(member):
                    self._wait(process, arguments, where=f"in {log}")
        finally:
            self.places.put(place)

    def _wait(self, process: subprocess.Popen, arguments: Sequence[str], *, where: str) -> None:
        self.processes.add(process)
        with process:
            try:
                status = process.wait()
            except (
                KeyboardInterrupt
            ):  # which the training has heard, too: it finishes its step and leaves a checkpoint
                process.wait()
                raise
            finally:
                self.processes.discard(process)
        for number in TERMINATION_SIGNALS:
            if status in (128 + number, -number):  # it was stopped, and has said so
                raise KeyboardInterrupt(number)
        if status != 0:
            raise TrainingError(
                f"polyglot train {shlex.join(arguments)}: ended with status {status}; what was wrong is said {where}"
            )

    def _environment(self, place: int) -> dict[str, str]:
        import torch

        threads, devices = (
            max(1, len(os.sched_getaffinity(0)) // self.parallel),
            torch.cuda.device_count(),
        )
        given = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(devices)))).split(
            ","
        )
        device = {"CUDA_VISIBLE_DEVICES": given[place % len(given)]} if devices > 1 else {}
        return {"OMP_NUM_THREADS": str(threads), **os.environ, **device}

    @contextmanager
    def _shown(self, member: Member) -> Iterator[None]:
        """A line of progress as long as it trains, read from its log."""
        from polyglot.experiments.runs import last_line

        row = self.bar.add_task(member.name, total=member.config.training.steps, state="starts")
        over = threading.Event()

        def look() -> None:
            while not over.wait(LOOK):
                if said := last_line(member.path):
                    state = f"loss {said['loss']:.3f} · {said['tokens_per_second']:,.0f} tokens/s"
                    self.bar.update(row, completed=said["step"], state=state)

        watcher = threading.Thread(target=look)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
            self.bar.remove_task(row)
