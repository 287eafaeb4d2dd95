"""Share of an update that the optimizer needs, while `polyglot train` runs in this process.

    python evaluation/benchmarks/optimizer_share.py TRAIN_ARGUMENTS…

An update lasts from the end of a step of the optimizer to the end of its next step. The first ones
are a warm-up.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence

from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

WARM_UP = 4


class StepTimes:
    """Begin and end of each step; steps of an optimizer within another one are part of it."""

    def __init__(self) -> None:
        self.begins: list[float] = []
        self.ends: list[float] = []
        self._depth = 0

    def begin(self, optimizer: Optimizer, args: tuple, kwargs: dict) -> None:
        if self._depth == 0:
            self.begins.append(time.perf_counter())
        self._depth += 1

    def end(self, optimizer: Optimizer, args: tuple, kwargs: dict) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.ends.append(time.perf_counter())

    def share(self) -> float:
        """Return the median share of a step in its update."""
        shares = []
        for number in range(1, len(self.ends)):
            end = self.ends[number]
            shares.append((end - self.begins[number]) / (end - self.ends[number - 1]))
        return statistics.median(shares[min(WARM_UP, len(shares) - 1) :])


def main(words: Sequence[str] | None = None) -> None:
    from polyglot.__main__ import main as polyglot_main

    times = StepTimes()
    hooks = [
        register_optimizer_step_pre_hook(times.begin),
        register_optimizer_step_post_hook(times.end),
    ]
    sys.argv = ["polyglot", *(sys.argv[1:] if words is None else words)]
    try:
        polyglot_main()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        for hook in hooks:
            hook.remove()
    print(times.share())


if __name__ == "__main__":
    main()
