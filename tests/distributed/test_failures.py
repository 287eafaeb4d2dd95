"""Processes of one run that are interrupted or killed: nobody waits for them for long, and the run goes on as if nothing had been."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from polyglot.distributed.processes import Processes
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from polyglot.training.build import build_trainer
from tests.builders.runs import tiny_run, train, write_config

SECTIONS = {
    "training": {"steps": 4000, "log_every": 10, "checkpoint": {"every": 5}},
    "parallel": {"verify": 1},
}
"""About a hundred steps a second: there is time to kill somebody."""
ROOT = Path(__file__).parents[2]


def start(*arguments: object, launcher: Sequence[str] = ()) -> subprocess.Popen:
    """launcher: what stands between Python and the program."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    command = [sys.executable, *launcher, "-m", "polyglot", "train", *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def trained_until(run: Path, step: int, process: subprocess.Popen) -> None:
    """Wait for a checkpoint of that step or a later one."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and process.poll() is None:
        if any(one >= step for one in checkpoints.steps(run / "checkpoints")):
            return
        time.sleep(0.02)
    process.kill()
    pytest.fail(f"no checkpoint of step {step}: {process.communicate()}")


def children(process: subprocess.Popen) -> list[int]:
    """Those of a launcher, in the order of their numbers."""
    return sorted(
        map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())
    )


def alone(folder: Path, number: int, *, steps: int) -> Run:
    """The run that nobody disturbed: one process that accumulates the batches of all."""
    run = tiny_run(
        folder,
        "alone",
        training={"steps": steps, "checkpoint": {"every": steps}},
        schedule={"tasks_per_update": number},
    )
    train(run)
    return run


def last_step(run: Path) -> int:
    """Of its checkpoints; 0 before the first."""
    return max(checkpoints.steps(run / "checkpoints"), default=0)


def kill(process: subprocess.Popen, victim: int) -> tuple[str, float]:
    """Kill one of the processes; returns what the program says, and the seconds until it has ended."""
    os.kill(children(process)[victim], signal.SIGKILL)
    began = time.monotonic()
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGKILL, errors
    return " ".join(errors.split()), time.monotonic() - began


def check_same(expected: Run, found: Run) -> None:
    """To the bit, parameters and what the optimizer keeps."""
    ours, theirs = (checkpoints.choose(run.checkpoints, "last")[0] for run in (found, expected))
    assert ours.step == theirs.step and ours.components == theirs.components
    parts = [(ours.component(name), theirs.component(name)) for name in ours.components]
    for our, their in [*parts, (ours.training_tensors(), theirs.training_tensors())]:
        assert all(torch.equal(our[key], their[key]) for key in our.keys() | their.keys())


def test_killed_and_interrupted_it_goes_on_to_the_same_parameters(tmp_path):
    config, path = write_config(tmp_path, **SECTIONS), tmp_path / "run"
    process = start(config, "--processes", 2)
    for victim in (1, 0):
        stopped = last_step(path)
        trained_until(path, stopped + 5, process)
        errors, seconds = kill(process, victim)
        assert seconds < 60 and "Traceback" not in errors
        assert (
            f"process {victim} was ended by SIGKILL" in errors
            and errors.count(f"error: process {victim} is gone: ") == 1
        ), errors
        assert (
            f"process {1 - victim} waited for " in errors
            and "the last good checkpoint is step " in errors
        )
        process = start(path, "--resume", "--processes", 2)
    trained_until(path, last_step(path) + 5, process)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 130 and output == "" and "Traceback" not in errors, errors
    assert " ".join(errors.split()).count(f"polyglot train {path} --resume --processes 2") == 1
    check_same(alone(tmp_path, 2, steps=last_step(path)), Run.open(path))


def test_what_is_there_to_go_on_from_is_what_the_disk_holds(tmp_path):
    """Also a checkpoint that was complete when the process died that was to say so."""
    run, kept = tiny_run(tmp_path, training={"steps": 2}), []

    class Listening(Processes):
        def tells_what_is_kept(self, words):
            kept.append(words)

    trainer = build_trainer(run, lambda model: None, Listening())
    assert kept[0]() == "there is no checkpoint yet"
    trainer.train()
    assert kept[0]() == "the last good checkpoint is step 2"
    (run.checkpoints / "step-00000002").rename(run.checkpoints / "step-00000003")
    assert kept[0]() == "the last good checkpoint is step 3"


@pytest.mark.slow
def test_killed_twenty_times(tmp_path):
    """At random points: half of the times while it starts, as long as that takes on this machine, or soon after."""
    steps, path, chance = 4000, tmp_path / "run", random.Random(7)
    config = write_config(
        tmp_path,
        training={"steps": steps, "log_every": 10, "checkpoint": {"every": 20}},
        parallel={"verify": 1},
    )
    process = start(config, "--processes", 2)
    trained_until(path, 20, process)
    for number in range(20):
        if number % 2:
            trained_until(path, last_step(path) + 20, process)
        time.sleep(chance.uniform(0, 2))
        _, seconds = kill(process, chance.randrange(2))
        assert seconds < 60
        process = start(path, "--resume", "--processes", 2)
        deadline = time.monotonic() + 240
        while len(children(process)) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    process.communicate(timeout=400)
    assert process.returncode == 0
    check_same(alone(tmp_path, 2, steps=steps), Run.open(path))


@pytest.mark.slow
@pytest.mark.parametrize("sleeper", [0, 1])
def test_a_process_that_hangs_ends_the_others(sleeper, tmp_path):
    """The first one holds what the others would hear of it from."""
    config, path = write_config(tmp_path, **SECTIONS), tmp_path / "run"
    process = start(config, "--processes", 2)
    trained_until(path, 5, process)
    numbers = children(process)
    os.kill(numbers[sleeper], signal.SIGSTOP)
    began = time.monotonic()
    _, errors = process.communicate(timeout=120)
    assert time.monotonic() - began < 60 and process.returncode == 2
    said = f"error: process {sleeper} is gone: " + (
        "it was killed or stopped" if sleeper == 0 else "it gave no sign of life for 3"
    )
    assert said in " ".join(errors.split())


def test_the_launcher_of_pytorch_starts_as_many(tmp_path):
    config, path = write_config(tmp_path, training={"steps": 20}), tmp_path / "run"
    torchrun = [
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
        "--rdzv-backend",
        "c10d",
        "--rdzv-endpoint",
        "localhost:0",
    ]
    _, errors = start(config, launcher=torchrun).communicate(timeout=240)
    assert " ".join(errors.split()).count("20 of 20 steps") == 1, errors
    (checkpoint,) = checkpoints.choose(path / "checkpoints", "last")
    assert checkpoint.step == 20 and checkpoint.training_state()["division"]["processes"] == 2


def test_another_number_of_processes_goes_on(tmp_path):
    """It says what that does; mistakes of the user are said once, and end with status 2."""
    config, path = write_config(tmp_path, training={"steps": 3}), tmp_path / "run"
    process = start(config, "training.stepz=3", "--processes", 2)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2 and errors.count("error:") == 1 == errors.count(
        "training.stepz"
    ), errors
    assert not path.exists()
    train(tiny_run(tmp_path, training={"steps": 3}))
    process = start(path, "--resume", "training.steps=6", "--processes", 2)
    _, errors = process.communicate(timeout=120)
    words = " ".join(errors.split())
    assert (
        process.returncode == 0 and "6 of 6 steps" in words and words.count("step 6 · loss") == 1
    ), errors
    assert (
        words.count(
            "was written with one process and continues with 2 processes: every text continues at its position"
        )
        == 1
    )
    trainer = train(Run.open_with_overrides(path, ["training.steps=9"]))
    assert trainer.progress.step == last_step(path) == 9
    assert set(trainer.progress.tokens) == {task.name for task in trainer.run.config.tasks}
