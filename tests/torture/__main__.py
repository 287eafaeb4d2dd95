"""Torture of the program: kills, damage, full disks, races, hostile input; prints one table.

`make torture` runs all trials, `make torture-short` a quarter of them. One seed gives the same
trials; moments of kills differ from machine to machine.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

from tests.torture.damage import damages
from tests.torture.disks import full_disks, permissions
from tests.torture.fuzzing import fuzz
from tests.torture.hostile import hostile_runs, hostile_servers
from tests.torture.kills import command_kills, training_kills, two_process_kills
from tests.torture.races import command_races, new_folder_races
from tests.torture.trial import Outcome, Table, Trial, run_trials
from tests.torture.workplace import Workplace

Area = Callable[[Workplace, Random, int], Iterator[Trial]]

AREAS: dict[str, tuple[Area, int]] = {
    "kills": (training_kills, 120),
    "two-processes": (two_process_kills, 40),
    "command-kills": (command_kills, 100),
    "damage": (damages, 900),
    "disks": (full_disks, 60),
    "permissions": (permissions, 150),
    "new-folder-races": (new_folder_races, 60),
    "races": (command_races, 80),
    "hostile-runs": (hostile_runs, 300),
    "hostile-servers": (hostile_servers, 200),
}
"""Trials of each area, and how many of them a whole run has."""

FUZZ_INPUTS = 1200
"""Configurations, command lines and texts of a whole run."""


def make_trials(
    workplace: Workplace,
    seed: int,
    share: float,
    areas: Sequence[str] = tuple(AREAS),
) -> list[Trial]:
    """Trials of all areas in a random order. share: of the number of trials of a whole run."""
    random = Random(seed)
    trials: list[Trial] = []
    for name, (area, count) in AREAS.items():
        area_random = Random(random.getrandbits(64))  # the same whatever areas are left out
        if name in areas:
            trials += area(workplace, area_random, max(1, round(share * count)))
    random.shuffle(trials)
    return trials


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="share of the trials")
    parser.add_argument("--minutes", type=float, help="stop after this time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--area", action="append", choices=[*AREAS, "fuzz"])
    parser.add_argument("--keep", type=Path, help="folder for the files of trials that fail")
    return parser.parse_args()


def run(arguments: argparse.Namespace, folder: Path) -> Table:
    """Make the intact run, run all trials, and return their table."""
    areas = arguments.area or [*AREAS, "fuzz"]
    print("training the run that the trials damage …", file=sys.stderr)
    workplace = Workplace(folder / "workplace")
    trials = make_trials(workplace, arguments.seed, arguments.share, areas)
    seconds = arguments.minutes * 60 if arguments.minutes else None
    table = run_trials(
        trials,
        folder / "trials",
        seconds=seconds,
        report=lambda line: print(line, file=sys.stderr, flush=True),
    )
    if "fuzz" in areas:
        count = round(arguments.share * FUZZ_INPUTS)
        fuzz(workplace, folder / "fuzz", table, seed=arguments.seed, count=count)
    return table


def main() -> int:
    """Print the table; exit code 1 if a trial was not correct."""
    arguments = parse_arguments()
    begin = time.monotonic()
    folder = arguments.keep or Path(tempfile.mkdtemp(prefix="torture-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        table = run(arguments, folder)
    finally:
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    for failure in table.failures:
        print(failure)
    print(table.markdown())
    minutes = (time.monotonic() - begin) / 60
    print(f"\nseed {arguments.seed}, {minutes:.1f} minutes")
    return 0 if table.total.total() == table.total[Outcome.CORRECT] else 1


if __name__ == "__main__":
    sys.exit(main())
