"""Rows of the benchmarks: measure several systems in turns, and compare them.

A row is one small function. It returns the systems that it compares, each with a function that
measures it once:

    @row("lstm", unit="target tokens/s")
    def lstm(bench: Bench) -> Systems:
        \"\"\"LSTM training in float32\"\"\"
        return bench.each_version(lambda version: version.training_rate(…))

The first system is the one whose ratio to the others is printed. The docstring is the title.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from machine import SECONDS, SIZE, describe_machine, matrix_product_limits
from measuring import THREADS, MeasurementError
from programs import ROOT, OpenNMT, Polyglot, Reading, revision_of_clone, source_tree
from suite_page import page, row_table
from suite_text import TRAINING, Text, prepare_text

from polyglot.core.environment import (
    keep_freed_memory,
    limit_shape_caches,
    reduce_garbage_collection,
)

TOKENS = "target tokens/s"
SENTENCES = "sentences/s"
SECONDS_UNIT = "seconds"
QUICK_UPDATES = 3
QUICK_SETTINGS = (
    "languages=[en,de]",
    "model.embedding.size=32",
    "model.encoder.size=32",
    "model.decoder.size=32",
    "batching.size=32",
)
"""Settings of every training with --quick."""
QUICK_SIZE = 256
QUICK_SECONDS = 0.01
"""Size and time of the matrix products beside a reading with --quick."""

Measure = Callable[[], Reading]
Systems = dict[str, Measure]


@dataclass(frozen=True)
class Bench:
    """Text, versions and peers that the rows measure."""

    text: Text
    work: Path
    versions: Sequence[Polyglot]
    """This version, and perhaps an earlier one."""
    opennmt: OpenNMT | None = None
    threads: int = THREADS
    quick: bool = False

    @property
    def current(self) -> Polyglot:
        return self.versions[0]

    def updates(self, count: int) -> int:
        """Return the number of updates of a training."""
        return QUICK_UPDATES if self.quick else count

    def each_version(self, measure: Callable[[Polyglot], Reading], label: str = "") -> Systems:
        """Return one system for each version. label: what all of them have in common."""
        systems: Systems = {}
        for version in self.versions:
            name = f"{version.name}, {label}" if label else version.name
            systems[name] = lambda version=version: measure(version)
        return systems

    def limits(self) -> dict[str, float]:
        """Return the machine's GFLOP/s of this moment."""
        size = QUICK_SIZE if self.quick else SIZE
        seconds = QUICK_SECONDS if self.quick else SECONDS
        return matrix_product_limits(self.threads, size=size, seconds=seconds)


@dataclass(frozen=True)
class Row:
    """One comparison."""

    name: str
    title: str
    unit: str
    systems: Callable[[Bench], Systems]
    lower_is_better: bool = False
    only_by_name: bool = False
    """Measured only if `--only` names it."""


ROWS: dict[str, Row] = {}


def row(
    name: str, *, unit: str, lower_is_better: bool = False, only_by_name: bool = False
) -> Callable[[Callable[[Bench], Systems]], Callable[[Bench], Systems]]:
    """Decorator: add a row to ROWS."""

    def add(systems: Callable[[Bench], Systems]) -> Callable[[Bench], Systems]:
        assert name not in ROWS, name
        title = systems.__doc__.splitlines()[0].rstrip(".")
        ROWS[name] = Row(name, title, unit, systems, lower_is_better, only_by_name)
        return systems

    return add


@dataclass
class SystemResult:
    """Readings of one system, or the reason why there are none."""

    readings: list[dict] = field(default_factory=list)
    failure: str = ""


def measure_row(row: Row, bench: Bench, repetitions: int) -> dict[str, SystemResult]:
    """Measure all systems of a row in turns. A system that fails is not measured again."""
    try:
        systems = row.systems(bench)
    except MeasurementError as error:
        return {bench.current.name: SystemResult(failure=str(error))}
    results = {name: SystemResult() for name in systems}
    for _ in range(repetitions):
        for name, measure in systems.items():
            result = results[name]
            if result.failure:
                continue
            limits = bench.limits()
            try:
                reading = measure()
            except MeasurementError as error:
                result.failure = str(error)
                continue
            result.readings.append(
                {"value": reading.value, "quality": reading.quality, "limits": limits}
            )
    return results


# Command line


def main(rows: Sequence[str] | None = None, words: Sequence[str] | None = None) -> int:
    """Measure rows, or those that `--only` names; write WORK/benchmarks.md and benchmarks.json.

    rows: names of the rows of this program; by default all. Rows in benchmarks.json that are not
    measured now stay. Return 1 if a system failed.
    """
    arguments = parse_arguments(list(rows or ROWS), words)
    arguments.work.mkdir(parents=True, exist_ok=True)
    # Measurements in this process have the same settings as the commands.
    limit_shape_caches()
    keep_freed_memory()
    reduce_garbage_collection()
    file = arguments.work / "benchmarks.json"
    results = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    failures = 0
    with ExitStack() as stack:
        try:
            bench = prepare(arguments, stack)
        except MeasurementError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        conditions = describe_conditions(bench, arguments)
        for chosen in chosen_rows(arguments):
            start = time.perf_counter()
            systems = measure_row(chosen, bench, arguments.repetitions)
            result = describe_row(chosen, systems, conditions)
            result["seconds"] = time.perf_counter() - start
            failures += sum(bool(system.failure) for system in systems.values())
            results[chosen.name] = result
            print(row_table(result), flush=True)
            file.write_text(json.dumps(results, indent=1), encoding="utf-8")
    text = page(in_order(results))
    (arguments.work / "benchmarks.md").write_text(text, encoding="utf-8")
    print(f"{arguments.work / 'benchmarks.md'} has all rows")
    return 1 if failures else 0


def parse_arguments(rows: Sequence[str], words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Measure this version of Polyglot next to an earlier one and other programs.",
        usage="%(prog)s [DATA] WORK [options]",
    )
    parser.add_argument(
        "folders",
        nargs="*",
        type=Path,
        metavar="[DATA] WORK",
        help="DATA: Multi30k, as `polyglot fetch multi30k DATA` writes it; default: the folder "
        "multi30k in POLYGLOT_DATA or in data/, else the phrasebook. WORK: folder of the results",
    )
    parser.add_argument("--peer", type=Path, help="bin folder of an environment with OpenNMT-py")
    parser.add_argument("--previous", metavar="REV", help="git revision of an earlier version")
    parser.add_argument(
        "--only", choices=rows, action="append", metavar="ROW", help="only this row"
    )
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--quick", action="store_true", help="little text, few updates: a trial")
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
    arguments = parser.parse_args(words)
    arguments.rows = rows
    if arguments.list:
        list_rows(rows)
        parser.exit()
    if len(arguments.folders) not in (1, 2):
        parser.error(
            "name the folder for the results, and before it perhaps the folder of the text"
        )
    *data, work = [folder.resolve() for folder in arguments.folders]
    arguments.work = work
    arguments.data = data[0] if data else find_multi30k()
    for folder in [*data, *([arguments.peer] if arguments.peer else [])]:
        if not folder.is_dir():
            parser.error(f"{folder} is no folder")
    return arguments


def list_rows(rows: Sequence[str]) -> None:
    for name in rows:
        chosen = ROWS[name]
        note = " (only with --only)" if chosen.only_by_name else ""
        print(f"{name:20} {chosen.title}{note}")


def find_multi30k() -> Path | None:
    """Return the folder of Multi30k, or None for the phrasebook."""
    folders = [ROOT / "data"]
    if "POLYGLOT_DATA" in os.environ:
        folders.insert(0, Path(os.environ["POLYGLOT_DATA"]).resolve())
    for folder in folders:
        if (folder / "multi30k" / f"{TRAINING}.en.gz").exists():
            return folder / "multi30k"
    return None


def chosen_rows(arguments: argparse.Namespace) -> Iterator[Row]:
    for name in arguments.only or arguments.rows:
        if arguments.only or not ROWS[name].only_by_name:
            yield ROWS[name]


def prepare(arguments: argparse.Namespace, stack: ExitStack) -> Bench:
    """Write the text, and find the versions and peers. The stack removes temporary folders."""
    text = prepare_text(arguments.data, arguments.work, quick=arguments.quick)
    folder = arguments.work / text.label
    threads = arguments.threads
    settings = QUICK_SETTINGS if arguments.quick else ()
    versions = [Polyglot("Polyglot", ROOT, folder / "this", text, threads, settings)]
    if arguments.previous:
        source = stack.enter_context(source_tree(arguments.previous))
        name = f"Polyglot {arguments.previous}"
        runs = folder / arguments.previous
        versions.append(Polyglot(name, source, runs, text, threads, settings))
    opennmt = None
    if arguments.peer:
        # The link to Python in the folder must stay a link.
        programs = arguments.peer.absolute()
        opennmt = OpenNMT(programs, folder / "opennmt", text, threads)
    return Bench(text, folder, versions, opennmt, threads, arguments.quick)


def describe_conditions(bench: Bench, arguments: argparse.Namespace) -> dict:
    """Return machine, text and versions, which the results of each row record."""
    programs = [f"Polyglot {revision_of_clone()}"]
    programs += [version.name for version in bench.versions[1:]]
    if bench.opennmt:
        programs.append(bench.opennmt.version())
    return {
        "machine": describe_machine(bench.threads),
        "text": bench.text.name,
        "programs": programs,
        "repetitions": arguments.repetitions,
        "quick": bench.quick,
    }


def describe_row(row: Row, systems: Mapping[str, SystemResult], conditions: Mapping) -> dict:
    """Return the result of a row for benchmarks.json."""
    return {
        "title": row.title,
        "unit": row.unit,
        "lower_is_better": row.lower_is_better,
        "measured": datetime.datetime.now().isoformat(" ", "minutes"),
        **conditions,
        "systems": {name: vars(system) for name, system in systems.items()},
    }


def in_order(results: Mapping[str, dict]) -> dict[str, dict]:
    """Return results in the order of the rows; those of other programs come last."""
    names = [name for name in ROWS if name in results]
    names += [name for name in results if name not in ROWS]
    return {name: results[name] for name in names}
