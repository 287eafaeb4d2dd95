"""Profile the updates of a training on a GPU, and count how often they wait for it.

    python evaluation/benchmarks/gpu_updates.py [--waits] CONFIGURATION [KEY=VALUE …] run=RUN

Trains the configuration, as `polyglot train` does, and looks at five updates. Without `--waits` it
prints the time, the number of kernels and how long the GPU was busy, and PyTorch's table of the
slowest operations. With `--waits` it prints how often each line of Polyglot waited for the GPU,
in the five updates and in the whole program. On a CPU it prints the time and the table.
"""

from __future__ import annotations

import collections
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.profiler import ProfilerActivity, profile

from polyglot.__main__ import main as run_polyglot
from polyglot.training.trainer import Trainer

FIRST = 25
"""Updates before the measured ones: memory and kernels are prepared in these."""
UPDATES = 5
ROWS = 20
"""Rows of the table of operations."""
CALLERS = 4
"""Lines of Polyglot that describe the place of a wait."""


class Waits:
    """Number of waits for the device, by the place in the program."""

    def __init__(self) -> None:
        self.places: collections.Counter[str] = collections.Counter()

    def start(self) -> None:
        """Count from now on."""
        torch.cuda.set_sync_debug_mode("warn")
        warnings.simplefilter("always")
        warnings.showwarning = self._count

    def _count(self, message: Warning, *_: object) -> None:
        if "synchroniz" not in str(message):
            return
        places = []
        for frame in reversed(traceback.extract_stack()):
            if "/polyglot/" in frame.filename:
                file = frame.filename.split("/polyglot/")[-1]
                places.append(f"{file}:{frame.lineno}")
        self.places[" < ".join(places[:CALLERS])] += 1

    def show(self) -> None:
        for place, count in self.places.most_common():
            print(f"{count:6} waits at {place}")


@contextmanager
def measured_updates(waits: Waits | None) -> Iterator[None]:
    """Measure some updates of every trainer within this context."""
    original = Trainer.update
    count = 0
    measurement = None

    def update(trainer: Trainer) -> torch.Tensor:
        nonlocal count, measurement
        if count == FIRST:
            measurement = Measurement(waits)
        if count == FIRST + UPDATES and measurement:
            measurement.show()
        count += 1
        return original(trainer)

    Trainer.update = update
    try:
        yield
    finally:
        Trainer.update = original


class Measurement:
    """Measurement that starts now and ends with `show`."""

    def __init__(self, waits: Waits | None) -> None:
        self.waits = waits
        self.waits_before = waits.places.total() if waits else 0
        self.profiler = None
        synchronize()
        if waits is None:
            activities = [ProfilerActivity.CPU]
            if torch.cuda.is_available():
                activities.append(ProfilerActivity.CUDA)
            self.profiler = profile(activities=activities)
            self.profiler.start()
        self.started = time.perf_counter()

    def show(self) -> None:
        if self.waits:
            count = self.waits.places.total() - self.waits_before
            print(f"waits in {UPDATES} updates: {count}")
            return
        synchronize()
        milliseconds = (time.perf_counter() - self.started) * 1000 / UPDATES
        self.profiler.stop()
        averages = self.profiler.key_averages()
        kernels = [row for row in averages if row.device_type.name == "CUDA"]
        count = sum(row.count for row in kernels) / UPDATES
        busy = sum(row.self_device_time_total for row in kernels) / 1000 / UPDATES
        print(f"an update: {milliseconds:.1f} ms, {count:.0f} kernels, GPU busy {busy:.2f} ms")
        print(averages.table(sort_by="self_cpu_time_total", row_limit=ROWS))


def synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def main() -> None:
    arguments = sys.argv[1:]
    waits = None
    if "--waits" in arguments:
        arguments.remove("--waits")
        if not torch.cuda.is_available():
            sys.exit("error: --waits: this machine has no CUDA device, so nothing waits for it")
        waits = Waits()
        waits.start()
    sys.argv = ["polyglot", "train", *arguments]
    try:
        with measured_updates(waits):
            run_polyglot()
    finally:
        if waits:
            waits.show()


if __name__ == "__main__":
    main()
