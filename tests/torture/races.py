"""Two commands at once on one run or into one new folder."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.torture.kills import check_trained
from tests.torture.trial import CORRECT, Finding, Outcome, Trial
from tests.torture.workplace import COMMANDS, RUN, Call, Workplace, call, finish, start

PAIRS = (
    ("evaluate", "evaluate"),
    ("evaluate", "report"),
    ("report", "report"),
    ("evaluate", "translate"),
    ("average", "average"),
    ("resume", "resume"),
    ("resume", "evaluate"),
)


def new_folder_races(workplace: Workplace, random: Random, count: int) -> Iterator[Trial]:
    """Two trainings into one new folder: one trains, the other is refused."""
    for _ in range(count):
        delay = random.uniform(0.0, 0.3)

        def attempt(folder: Path, delay: float = delay) -> Finding:
            workplace.copy_text(folder)
            train = ("train", "mine.yaml")
            first, second = run_both(folder, train, train, delay)
            for result in (first, second):
                problem = result.problem()
                if problem:
                    return problem
            successes = [result for result in (first, second) if not result.status]
            if len(successes) != 1:
                return Finding(Outcome.LOST_DATA, f"{len(successes)} of 2 trainings succeeded")
            return check_trained(workplace.trained, folder, successes[0])

        yield Trial("races for a new folder", f"second after {delay:.3f} s", attempt)


def command_races(workplace: Workplace, random: Random, count: int) -> Iterator[Trial]:
    """Two commands on one run: each gives the results of the intact run or is refused."""
    for _ in range(count):
        names = random.choice(PAIRS)
        delay = random.uniform(0.0, 0.5)

        def attempt(folder: Path, names: tuple[str, str] = names, delay: float = delay) -> Finding:
            workplace.copy(folder)
            if "evaluate" in names:
                shutil.rmtree(folder / RUN / "evaluation")
            results = run_both(folder, COMMANDS[names[0]], COMMANDS[names[1]], delay)
            for result in results:
                problem = result.problem()
                if problem:
                    return problem
            if all(result.status for result in results):
                return Finding(Outcome.LOST_DATA, f"both refused: {results[0].errors[-500:]}")
            return _check_again(workplace, folder, names)

        yield Trial("races on a run", f"{' and '.join(names)}, {delay:.2f} s apart", attempt)


def _check_again(workplace: Workplace, folder: Path, names: tuple[str, str]) -> Finding:
    """After a race, the first command gives the results of the intact run."""
    if names == ("average", "average"):
        return CORRECT  # the new folder exists: once more is refused
    result = call(folder, *COMMANDS[names[0]])
    problem = result.problem()
    if problem:
        return problem
    if result.status:
        return Finding(Outcome.LOST_DATA, f"refused after the race: {result.errors[-500:]}")
    return workplace.results.comparison(names[0], result, folder)


def run_both(
    folder: Path,
    first: tuple[str, ...],
    second: tuple[str, ...],
    delay: float,
) -> tuple[Call, Call]:
    """Start two calls, the second a moment later, and wait for both."""
    begin = time.monotonic()
    processes = []
    copies = []
    for number, arguments in enumerate((first, second)):
        streams = folder / f"streams-{number}"
        streams.mkdir()
        processes.append(start(folder, *arguments, streams=streams))
        copies.append(streams)
        time.sleep(delay)
    results = []
    for process, streams in zip(processes, copies):
        results.append(finish(process, streams, begin))
    return results[0], results[1]
