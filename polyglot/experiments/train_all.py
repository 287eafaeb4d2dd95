"""Training of the missing runs of an experiment, one after the other or several at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from polyglot.core.errors import ConfigError
from polyglot.experiments.runs import ExperimentRun

Train = Callable[[ExperimentRun, Sequence[str]], None]
"""Trains a run with these arguments of `polyglot train`; raises if the run is not completed."""


def train_all(
    runs: Sequence[ExperimentRun],
    train: Train,
    *,
    parallel: int = 1,
) -> None:
    """Train every incomplete run, in order, at most `parallel` of them at once.

    A run waits for the runs that it starts from. After a failure or an interruption no further
    run is started, running ones are awaited, and the first failure is raised.

    Raise ConfigError for runs that wait for each other.
    """
    waiting = [run for run in runs if not run.is_complete]
    if parallel == 1:
        while waiting:
            run = _ready_runs(waiting, ())[0]
            _train_run(run, train)
            waiting.remove(run)
    else:
        _train_in_parallel(waiting, train, parallel)


def _train_in_parallel(
    waiting: list[ExperimentRun],
    train: Train,
    parallel: int,
) -> None:
    running: dict[Future[None], ExperimentRun] = {}
    failure: BaseException | None = None
    with ThreadPoolExecutor(max_workers=parallel) as pool:
        while running or (waiting and not failure):
            free_places = 0 if failure else parallel - len(running)
            running_paths = {run.path for run in running.values()}
            for run in _ready_runs(waiting, running_paths)[:free_places]:
                waiting.remove(run)
                running[pool.submit(_train_run, run, train)] = run
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                running.pop(future)
                failure = failure or future.exception()
    if failure:
        raise failure


def _ready_runs(waiting: Sequence[ExperimentRun], running: Collection[Path]) -> list[ExperimentRun]:
    """Return the runs that start from no incomplete run."""
    incomplete = {run.path for run in waiting}.union(running)
    ready = [run for run in waiting if not run.initialized_from & incomplete]
    if waiting and not ready and not running:
        names = ", ".join(run.name for run in waiting)
        raise ConfigError(f"{names}: each starts from a run that is not trained before it")
    return ready


def _train_run(run: ExperimentRun, train: Train) -> None:
    arguments = run.arguments
    if run.is_started:
        arguments = [str(run.path), "--resume"]
    train(run, arguments)
    run.mark_complete()
