"""Killed and interrupted processes of one run: the others end soon, and the run resumes exactly."""

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
from tests.builders.forked import PROGRAM, ForkedProgram
from tests.builders.runs import tiny_run, train, write_config

SECTIONS = {
    "training": {"steps": 4000, "log_every": 10, "checkpoint": {"every": 5}},
    "parallel": {"verify": 1},
}
"""A run of about a hundred steps per second: long enough to kill a process."""
ROOT = Path(__file__).parents[2]
TORCHRUN = [
    sys.executable,
    "-m",
    "torch.distributed.run",
    "--nproc-per-node=2",
    "--rdzv-backend=c10d",
    "--rdzv-endpoint=localhost:0",
    *PROGRAM[1:],
]


def start_training(
    *arguments: object, popen: type[subprocess.Popen] = ForkedProgram
) -> subprocess.Popen:
    """Start `polyglot train`; by default a forked process that forks those of the ranks."""
    return start_program([*PROGRAM, "train", *map(str, arguments)], popen)


def start_program(command: Sequence[str], popen: type[subprocess.Popen]) -> subprocess.Popen:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    return popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def wait_for_checkpoint(run: Path, step: int, process: subprocess.Popen) -> None:
    """Wait for a checkpoint of this step or a later one."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and process.poll() is None:
        if last_step(run) >= step:
            return
        time.sleep(0.02)
    process.kill()
    pytest.fail(f"no checkpoint of step {step}: {process.communicate()}")


def child_processes(launcher: subprocess.Popen) -> list[int]:
    """Return the numbers of the processes of a launcher, in the order of their ranks."""
    pid = launcher.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return sorted(map(int, children.split()))


def train_without_failure(folder: Path, world_size: int, *, steps: int) -> Run:
    """Train the same run in one process, which accumulates the batches of all ranks."""
    run = tiny_run(
        folder,
        "alone",
        training={"steps": steps, "checkpoint": {"every": steps}},
        schedule={"tasks_per_update": world_size},
    )
    train(run)
    return run


def last_step(run: Path) -> int:
    """Return the step of the last checkpoint; 0 before the first."""
    return max(checkpoints.steps(run / "checkpoints"), default=0)


def joined_lines(text: str) -> str:
    """Join the lines of a message that the terminal has wrapped."""
    return " ".join(text.split())


def kill_rank(launcher: subprocess.Popen, rank: int) -> tuple[str, float]:
    """Kill one process; return the messages, and the seconds until all have ended."""
    os.kill(child_processes(launcher)[rank], signal.SIGKILL)
    start = time.monotonic()
    _, errors = launcher.communicate(timeout=120)
    assert launcher.returncode == 128 + signal.SIGKILL, errors
    return joined_lines(errors), time.monotonic() - start


def assert_same_state(run: Run, expected: Run) -> None:
    """Compare parameters and optimizer state of the last checkpoints, bit for bit."""
    checkpoint = checkpoints.choose(run.checkpoints, "last")[0]
    expected_checkpoint = checkpoints.choose(expected.checkpoints, "last")[0]
    assert checkpoint.step == expected_checkpoint.step
    assert checkpoint.components == expected_checkpoint.components
    for name in checkpoint.components:
        assert_same_tensors(checkpoint.component(name), expected_checkpoint.component(name))
    assert_same_tensors(checkpoint.training_tensors(), expected_checkpoint.training_tensors())


def assert_same_tensors(tensors, expected):
    assert tensors.keys() == expected.keys()
    for name, tensor in tensors.items():
        assert torch.equal(tensor, expected[name]), name


def test_a_killed_and_interrupted_run_resumes_to_the_same_parameters(tmp_path):
    config = write_config(tmp_path, **SECTIONS)
    run = tmp_path / "run"
    process = start_training(config, "--processes", 2)
    for killed in (1, 0):
        wait_for_checkpoint(run, last_step(run) + 5, process)
        errors, seconds = kill_rank(process, killed)
        assert seconds < 60
        assert "Traceback" not in errors
        assert f"process {killed} was ended by SIGKILL" in errors, errors
        assert errors.count(f"error: process {killed} is gone: ") == 1, errors
        assert f"process {1 - killed} waited for " in errors
        assert "the last good checkpoint is step " in errors
        process = start_training(run, "--resume", "--processes", 2)

    wait_for_checkpoint(run, last_step(run) + 5, process)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert output == ""
    assert "Traceback" not in errors, errors
    assert joined_lines(errors).count(f"polyglot train {run} --resume --processes 2") == 1
    expected = train_without_failure(tmp_path, 2, steps=last_step(run))
    assert_same_state(Run.open(run), expected)


def test_the_message_about_the_last_checkpoint_reads_the_disk(tmp_path):
    """It also names a checkpoint that was complete before its process could log it."""
    run = tiny_run(tmp_path, training={"steps": 2})
    messages = []

    class RecordingProcesses(Processes):
        def set_checkpoint_message(self, message):
            messages.append(message)

    trainer = build_trainer(run, lambda model: None, RecordingProcesses())
    (checkpoint_message,) = messages
    assert checkpoint_message() == "there is no checkpoint yet"
    trainer.train()
    assert checkpoint_message() == "the last good checkpoint is step 2"
    (run.checkpoints / "step-00000002").rename(run.checkpoints / "step-00000003")
    assert checkpoint_message() == "the last good checkpoint is step 3"


@pytest.mark.slow
def test_a_run_that_is_killed_twenty_times_ends_with_the_same_parameters(tmp_path):
    """Half of the kills are at a random time of the start of Python or soon after it."""
    steps = 4000
    run = tmp_path / "run"
    generator = random.Random(7)
    config = write_config(
        tmp_path,
        training={"steps": steps, "log_every": 10, "checkpoint": {"every": 20}},
        parallel={"verify": 1},
    )
    process = start_training(config, "--processes", 2, popen=subprocess.Popen)
    wait_for_checkpoint(run, 20, process)
    for kill in range(20):
        if kill % 2:
            wait_for_checkpoint(run, last_step(run) + 20, process)
        time.sleep(generator.uniform(0, 2))
        _, seconds = kill_rank(process, generator.randrange(2))
        assert seconds < 60
        process = start_training(run, "--resume", "--processes", 2, popen=subprocess.Popen)
        deadline = time.monotonic() + 240
        while len(child_processes(process)) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    process.communicate(timeout=400)
    assert process.returncode == 0
    assert_same_state(Run.open(run), train_without_failure(tmp_path, 2, steps=steps))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stopped", "reason"),
    [(0, "it was killed or stopped"), (1, "it gave no sign of life for 3")],
)
def test_a_process_that_hangs_ends_the_others(stopped, reason, tmp_path):
    """Rank 0 holds the store, so the others cannot read there that it hangs."""
    config = write_config(tmp_path, **SECTIONS)
    process = start_training(config, "--processes", 2)
    wait_for_checkpoint(tmp_path / "run", 5, process)
    os.kill(child_processes(process)[stopped], signal.SIGSTOP)
    start = time.monotonic()
    _, errors = process.communicate(timeout=120)
    assert time.monotonic() - start < 60
    assert process.returncode == 2
    assert f"error: process {stopped} is gone: {reason}" in joined_lines(errors)


@pytest.mark.slow
def test_torchrun_starts_two_processes(tmp_path):
    config = write_config(tmp_path, training={"steps": 20})
    process = start_program([*TORCHRUN, "train", str(config)], subprocess.Popen)
    _, errors = process.communicate(timeout=240)
    assert joined_lines(errors).count("20 of 20 steps") == 1, errors
    (checkpoint,) = checkpoints.choose(tmp_path / "run" / "checkpoints", "last")
    assert checkpoint.step == 20
    assert checkpoint.training_state()["division"]["processes"] == 2


def test_an_error_of_the_user_is_reported_once_by_two_processes(tmp_path):
    config = write_config(tmp_path, training={"steps": 3})
    process = start_training(config, "training.stepz=3", "--processes", 2)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert errors.count("error:") == 1, errors
    assert errors.count("training.stepz") == 1, errors
    assert not (tmp_path / "run").exists()


def test_a_run_continues_with_another_number_of_processes(tmp_path):
    """A warning describes the effect, once."""
    path = tmp_path / "run"
    train(tiny_run(tmp_path, training={"steps": 3}))
    process = start_training(path, "--resume", "training.steps=6", "--processes", 2)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    message = joined_lines(errors)
    assert "6 of 6 steps" in message
    assert message.count("step 6 · loss") == 1
    warning = (
        "was written with one process and continues with 2 processes: "
        "every text continues at its position"
    )
    assert message.count(warning) == 1

    trainer = train(Run.open_with_overrides(path, ["training.steps=9"]))
    assert trainer.progress.step == 9
    assert last_step(path) == 9
    tasks = {task.name for task in trainer.run.config.tasks}
    assert set(trainer.progress.tokens) == tasks
