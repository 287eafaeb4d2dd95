"""Training speed of multi30k/tiny and multi30k/paper: precisions, threads and the optimizer.

    python evaluation/benchmarks/multi30k.py [DATA] WORK [--previous REV] [--only ROW]

The rows are part of `make benchmarks`: docs/develop/benchmarks.md.
"""

from __future__ import annotations

import shutil
import sys

from measuring import busy_process
from programs import HERE, Polyglot, Reading
from suite import TOKENS, Bench, Systems, main, row

from polyglot.core.errors import pluralize

UPDATES = {"tiny": 16, "paper": 40}
PRECISIONS = {"bf16": "bf16", "float32": "no"}
"""Name of each precision, and its value in a configuration."""


@row("tiny", unit=TOKENS)
def tiny(bench: Bench) -> Systems:
    """Training of multi30k/tiny"""
    return precisions(bench, "tiny")


@row("paper", unit=TOKENS)
def paper(bench: Bench) -> Systems:
    """Training of multi30k/paper"""
    return precisions(bench, "paper")


def precisions(bench: Bench, preset: str) -> Systems:
    systems: Systems = {}
    for precision in PRECISIONS:

        def measure(version: Polyglot, precision: str = precision) -> Reading:
            return training_rate(bench, version, preset, precision)

        systems |= bench.each_version(measure, precision)
    return systems


@row("threads_quiet", unit=TOKENS)
def threads_quiet(bench: Bench) -> Systems:
    """Training of multi30k/tiny in bf16, quiet machine"""
    return thread_counts(bench)


@row("threads_busy", unit=TOKENS)
def threads_busy(bench: Bench) -> Systems:
    """Training of multi30k/tiny in bf16, next to a process that keeps one core busy"""
    systems: Systems = {}
    for name, measure in thread_counts(bench).items():

        def measure_beside(measure=measure) -> Reading:
            with busy_process():
                return measure()

        systems[name] = measure_beside
    return systems


def thread_counts(bench: Bench) -> Systems:
    systems: Systems = {}
    for threads in (bench.threads, 1):

        def measure(version: Polyglot, threads: int = threads) -> Reading:
            return training_rate(bench, version, "tiny", "bf16", threads=threads)

        systems |= bench.each_version(measure, pluralize(threads, "thread"))
    return systems


@row("optimizer", unit="share of an update", lower_is_better=True)
def optimizer(bench: Bench) -> Systems:
    """Step of the optimizer in the training of multi30k/tiny in bf16"""

    def measure(version: Polyglot) -> Reading:
        run = version.folder / "optimizer"
        shutil.rmtree(run, ignore_errors=True)
        command = version.training_command(
            run, "multi30k/tiny", settings(bench, "bf16"), updates=bench.updates(UPDATES["tiny"])
        )
        printed = version.run(HERE / "optimizer_share.py", *command)
        return Reading(float(printed.split()[-1]))

    return bench.each_version(measure)


def training_rate(
    bench: Bench, version: Polyglot, preset: str, precision: str, *, threads: int | None = None
) -> Reading:
    return version.training_rate(
        preset,
        f"multi30k/{preset}",
        settings(bench, precision),
        updates=bench.updates(UPDATES[preset]),
        threads=threads,
    )


def settings(bench: Bench, precision: str) -> list[str]:
    """Return the settings that differ from the preset."""
    values = [f"training.precision={PRECISIONS[precision]}"]
    if bench.text.has_few_words:
        values.append(f"vocabulary.size={bench.text.vocabulary_size}")
    return values


if __name__ == "__main__":
    sys.exit(main(["tiny", "paper", "threads_quiet", "threads_busy", "optimizer"]))
