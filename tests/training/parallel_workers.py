"""Several processes that train tiny runs together, one job after the other.

`Workers` forks them from the process of the tests, which has PyTorch already. The runs, and
`JOB.RANK.json` with facts about each process, stay in the folder.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.state import AcceleratorState, PartialState

from polyglot.config.loading import check_config
from polyglot.core.errors import TrainingError
from polyglot.distributed.processes import Processes
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from polyglot.training.build import build_trainer
from polyglot.training.trainer import Trainer
from polyglot.training.validation import Validator
from tests.builders.forked import SLOW_IMPORTS
from tests.builders.runs import tiny_run, tiny_settings
from tests.training.parallel_cases import (
    STEPS,
    STOP_STEP,
    half_settings,
    settings,
    write_streamed_text,
)

STOPPED = " stopped"
"""end of the name of a job that stops and resumes a case"""
CONTINUED = "continued"
DIVERGING = "diverging"
FAILING = "failing"


class Workers:
    """Processes that train jobs on request; each job is trained once."""

    def __init__(self, number: int, folder: Path) -> None:
        self.folder = folder
        self._finished: set[str] = set()
        write_streamed_text(folder)
        for library in SLOW_IMPORTS:
            importlib.import_module(library)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]

        forks = multiprocessing.get_context("fork")
        self._processes = []
        self._queues = []
        self._answers = []
        for rank in range(number):
            jobs = forks.SimpleQueue()
            receiver, sender = forks.Pipe(duplex=False)
            process = forks.Process(
                target=work,
                args=(folder, jobs, sender),
                kwargs={"rank": rank, "number": number, "port": port},
                daemon=True,
            )
            process.start()
            sender.close()
            self._processes.append(process)
            self._queues.append(jobs)
            self._answers.append(receiver)

    def train(self, job: str) -> Path:
        """Train a job unless that was done before; returns the folder of its results."""
        if job not in self._finished:
            for jobs in self._queues:
                jobs.put(job)
            for receiver in self._answers:
                try:
                    answer = receiver.recv()
                except EOFError:
                    pytest.fail("a process failed; its message is above")
                assert answer == job
            self._finished.add(job)
        return self.folder

    def facts(self, job: str, rank: int) -> Any:
        """Content of `JOB.RANK.json`."""
        return json.loads((self.train(job) / f"{job}.{rank}.json").read_text())

    def close(self) -> None:
        """End the processes, which must all succeed. If one has failed, the others end."""
        for jobs in self._queues:
            jobs.put(None)
        for process in self._processes:
            process.join(timeout=60)
        assert all(process.exitcode == 0 for process in self._processes)


def work(folder: Path, jobs: Any, finished: Any, *, rank: int, number: int, port: int) -> None:
    """Process of one rank: run each job of a queue until it holds None."""
    PartialState._reset_state()
    os.environ["RANK"] = str(rank)
    os.environ["LOCAL_RANK"] = str(rank)
    os.environ["WORLD_SIZE"] = str(number)
    os.environ["LOCAL_WORLD_SIZE"] = str(number)
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    with Processes.connected() as processes:
        for job in iter(jobs.get, None):
            run_job(folder, job, processes)
            finished.send(job)


# The jobs ----------------------------------------------------------------------------------------


def run_job(folder: Path, job: str, processes: Processes) -> None:
    if job == CONTINUED:
        train_half_alone_half_together(folder, processes)
    elif job == DIVERGING:
        train_with_different_parameters(folder, processes)
    elif job == FAILING:
        train_with_failing_validation(folder, processes)
    elif job.endswith(STOPPED):
        train_stop_and_resume(folder, job, processes)
    else:
        train_case(folder, job, processes)


def train_case(folder: Path, name: str, processes: Processes) -> None:
    """Train a case; record the bytes that each update exchanges, and its tasks."""
    trainer = make_case_trainer(folder, name, processes)
    transferred = []

    def record(update: Callable[[], Any]) -> Any:
        before = trainer.exchange.transferred_bytes
        plan = trainer.placement.batches_at(trainer.progress.step)
        norm = update()
        pairs = sorted({str(batch.task.pair) for batch in plan})
        transferred.append([trainer.exchange.transferred_bytes - before, pairs])
        return norm

    wrap_update(trainer, record)
    trainer.train()

    exchanged = []
    for component in trainer.parameters:
        if len(trainer.placement.ranks_of(component)) > 1:
            exchanged.append(component)
    facts = {
        "transferred": transferred,
        "step": trainer.progress.step,
        "exchanged": exchanged,
    }
    write_facts(folder, name, processes, facts)


def train_stop_and_resume(folder: Path, job: str, processes: Processes) -> None:
    """Train a case in two parts: a signal reaches the second process, new trainers resume."""
    trainer = make_case_trainer(folder, job.removesuffix(STOPPED), processes, run_name=job)

    def interrupt(update: Callable[[], Any]) -> Any:
        if trainer.progress.step + 1 == STOP_STEP and processes.rank == 1:
            trainer.received_signal = signal.SIGINT
        return update()

    wrap_update(trainer, interrupt)
    trainer.train()

    run = Run.open(folder / job)
    [stopped] = checkpoints.choose(run.checkpoints, "last")
    assert stopped.step == STOP_STEP
    trainer = make_trainer(run, f"{job} and resumed", processes)
    trainer.resume(stopped)
    trainer.train()


def train_half_alone_half_together(folder: Path, processes: Processes) -> None:
    """Train half of the steps on one process with everything, the others partitioned."""
    if processes.is_main:
        AcceleratorState._reset_state()
        build_trainer(tiny_run(folder, CONTINUED, **half_settings()), no_validation).train()
    processes.barrier("half")

    run = Run.open_with_overrides(folder / CONTINUED, [f"training.steps={STEPS}"])
    trainer = make_trainer(run, CONTINUED, processes)
    trainer.resume(checkpoints.choose(run.checkpoints, "last")[0])
    trainer.train()


def train_with_different_parameters(folder: Path, processes: Processes) -> None:
    """Train a case in which one process changes a parameter; record the error message."""
    trainer = make_case_trainer(folder, "mixed", processes, run_name=DIVERGING)

    def change_parameter(update: Callable[[], Any]) -> Any:
        if trainer.progress.step == 7 and processes.rank == 1:
            with torch.no_grad():
                trainer.model.bridge.hidden.weight[0, 0] += 1e-6
        return update()

    wrap_update(trainer, change_parameter)
    try:
        trainer.train()
    except TrainingError as error:
        write_facts(folder, DIVERGING, processes, str(error))
    processes.barrier(DIVERGING)


def train_with_failing_validation(folder: Path, processes: Processes) -> None:
    """Train a case whose first validation fails in the second process; record the error message.

    There is no checkpoint before that validation.
    """
    validation = {**settings("mixed")["validation"], "every": 4}
    trainer = make_case_trainer(folder, "mixed", processes, run_name=FAILING, validation=validation)

    def fail(*arguments: Any) -> float:
        raise ValueError("no tokenizer")

    score = Validator._bleu
    if processes.rank == 1:
        Validator._bleu = fail
    try:
        trainer.train()
    except (ValueError, TrainingError) as error:
        write_facts(folder, FAILING, processes, str(error))
    finally:
        Validator._bleu = score
    processes.barrier(FAILING)


def make_case_trainer(
    folder: Path,
    name: str,
    processes: Processes,
    *,
    run_name: str | None = None,
    **changes: Any,
) -> Trainer:
    """Trainer of a case, in a new run directory. changes: sections in place of those of the case"""
    run_name = run_name or name
    sections = {**settings(name), **changes}
    if processes.is_main:
        run = tiny_run(folder, run_name, **sections)
    else:
        config = check_config(tiny_settings(folder, run_name, **sections), where="tiny")
        run = Run(folder / run_name, config)
    return make_trainer(run, run_name, processes)


def make_trainer(run: Run, place: str, processes: Processes) -> Trainer:
    """Trainer of a run; `place` is where the processes wait for the first one."""
    AcceleratorState._reset_state()
    validator = Validator(run, processes)
    return processes.main_first(place, lambda: build_trainer(run, validator, processes))


def wrap_update(trainer: Trainer, wrapper: Callable[[Callable[[], Any]], Any]) -> None:
    """Replace `update` of a trainer by a function that is called with it."""
    update = trainer.update
    trainer.update = lambda: wrapper(update)


def no_validation(model: torch.nn.Module) -> None:
    return None


def write_facts(folder: Path, job: str, processes: Processes, facts: Any) -> None:
    (folder / f"{job}.{processes.rank}.json").write_text(json.dumps(facts))
