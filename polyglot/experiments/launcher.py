"""Training processes of an experiment: `polyglot train`, for several runs at once."""

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
from types import FrameType

from rich.progress import Progress

from polyglot.core.errors import TrainingError
from polyglot.core.signals import TERMINATION_SIGNALS, active_signals, signal_handler
from polyglot.experiments.runs import ExperimentRun, last_training_record

PROGRESS_INTERVAL = 1.0  # seconds between two readings of the log of a run
INTERRUPT_PATIENCE = 10.0
"""Seconds that an interrupted run has to save its work before it also gets SIGTERM."""


class TrainingLauncher:
    """Trains each run with `polyglot train` in its own process, so that runs are independent.

    A single run prints to this terminal. Several runs at once print to `logs/` of the experiment,
    and each has a progress line here. Each has an equal part of the cores, unless
    `OMP_NUM_THREADS` is set, and they use the GPUs in turn.
    """

    def __init__(
        self,
        folder: Path,
        parallel: int,
        progress: Progress,
    ) -> None:
        """progress: gets a line for each of several runs at once."""
        self.folder = folder
        self.parallel = parallel
        self.progress = progress
        self.processes: set[subprocess.Popen] = set()
        self._places: SimpleQueue[int] = SimpleQueue()  # free places for parallel runs
        for place in range(parallel):
            self._places.put(place)

    @contextmanager
    def interruptible(self) -> Iterator[TrainingLauncher]:
        """Pass termination signals on to every running training.

        The terminal sends Ctrl-C (SIGINT) to all processes itself, but another program may send
        SIGINT to this process only. So a training run that continues after SIGINT gets SIGTERM
        later. A second SIGINT would prevent it from finishing its step.
        """
        terminations = [number for number in active_signals() if number != signal.SIGINT]
        interrupts = active_signals([signal.SIGINT])
        previous_interrupt = signal.getsignal(signal.SIGINT)
        was_interrupted = False

        def pass_on(number: int, frame: FrameType | None) -> None:
            for ignored in terminations:  # a closed terminal sends its signal twice
                signal.signal(ignored, signal.SIG_IGN)
            self._send(number)
            raise KeyboardInterrupt(number)

        def pass_on_later(number: int, frame: FrameType | None) -> None:
            nonlocal was_interrupted
            delay = 0 if was_interrupted else INTERRUPT_PATIENCE
            timer = threading.Timer(delay, self._send, (signal.SIGTERM,))
            # A second Ctrl-C can end this process before the signal is sent, so it is awaited.
            timer.daemon = not was_interrupted
            was_interrupted = True
            timer.start()
            previous_interrupt(number, frame)

        with signal_handler(terminations, pass_on), signal_handler(interrupts, pass_on_later):
            yield self

    def _send(self, number: int) -> None:
        for process in list(self.processes):
            process.send_signal(number)

    def train(self, run: ExperimentRun, arguments: Sequence[str]) -> None:
        """Train a run; return when it is complete.

        Raise TrainingError if it was not completed, and KeyboardInterrupt if it was interrupted.
        """
        command = [sys.executable, "-m", "polyglot", "train", *arguments]
        if self.parallel == 1:
            self._wait(subprocess.Popen(command), arguments, messages="above")
            return
        log = self.folder / "logs" / f"{run.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        place = self._places.get()
        try:
            with log.open("a", encoding="utf-8") as file:
                process = subprocess.Popen(
                    command,
                    env=self._environment(place),
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                )
                with self._progress_line(run):
                    self._wait(process, arguments, messages=f"in {log}")
        finally:
            self._places.put(place)

    def _wait(
        self,
        process: subprocess.Popen,
        arguments: Sequence[str],
        *,
        messages: str,
    ) -> None:
        """Wait for the end of a process. messages: place of its messages"""
        self.processes.add(process)
        with process:
            try:
                status = process.wait()
            except KeyboardInterrupt:  # the process got it too, and saves a checkpoint
                process.wait()
                raise
            finally:
                self.processes.discard(process)
        for number in TERMINATION_SIGNALS:
            if status in (128 + number, -number):
                raise KeyboardInterrupt(number)
        if status != 0:
            raise TrainingError(
                f"polyglot train {shlex.join(arguments)}: ended with exit code {status}; "
                f"its error message is {messages}"
            )

    def _environment(self, place: int) -> dict[str, str]:
        """Environment of the process at one place: its number of threads and its GPU."""
        import torch

        cores = len(os.sched_getaffinity(0))
        environment = {"OMP_NUM_THREADS": str(max(1, cores // self.parallel)), **os.environ}
        count = torch.cuda.device_count()
        if count > 1:
            all_devices = ",".join(map(str, range(count)))
            devices = os.environ.get("CUDA_VISIBLE_DEVICES", all_devices).split(",")
            environment["CUDA_VISIBLE_DEVICES"] = devices[place % len(devices)]
        return environment

    @contextmanager
    def _progress_line(self, run: ExperimentRun) -> Iterator[None]:
        """Show a progress line during the training, read from the log of the run."""
        row = self.progress.add_task(run.name, total=run.config.training.steps, state="starts")
        is_over = threading.Event()

        def update() -> None:
            while not is_over.wait(PROGRESS_INTERVAL):
                record = last_training_record(run.path)
                if record:
                    speed = f"{record['tokens_per_second']:,.0f} tokens/s"
                    state = f"loss {record['loss']:.3f} · {speed}"
                    self.progress.update(row, completed=record["step"], state=state)

        watcher = threading.Thread(target=update)
        watcher.start()
        try:
            yield
        finally:
            is_over.set()
            watcher.join()
            self.progress.remove_task(row)
