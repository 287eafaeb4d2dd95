"""Training that its launcher starts again: it continues from the last checkpoint."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from tests.builders.runs import write_config
from tests.distributed.test_failures import (
    SECTIONS,
    assert_same_state,
    child_processes,
    joined_lines,
    last_step,
    start_training,
    train_without_failure,
    wait_for_checkpoint,
)
from tests.torture.in_process import call_program


def test_a_training_that_starts_again_continues_its_run(tmp_path: Path, monkeypatch) -> None:
    config = write_config(tmp_path, training={"steps": 4, "checkpoint": {"every": 2}})
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    first = call_program("train", str(config))
    assert first.status == 0, first.errors  # killed before it had written anything
    shutil.rmtree(tmp_path / "run" / "checkpoints" / "step-00000004")
    second = call_program("train", str(config))
    assert second.status == 0, second.errors
    assert "4 of 4 steps" in second.errors
    assert checkpoints.steps(tmp_path / "run" / "checkpoints") == [2, 4]
    assert second.errors.count("step 2 · checkpoint") == 0

    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "0")
    third = call_program("train", str(config))
    assert third.status == 2, "the first start does not continue a run"


@pytest.mark.slow
def test_a_killed_process_restarts_the_training(tmp_path: Path) -> None:
    config = write_config(tmp_path, **SECTIONS)
    run = tmp_path / "run"
    process = start_training(config, "--processes", 2, "--restarts", 2)
    for _ in range(2):
        wait_for_checkpoint(run, last_step(run) + 5, process)
        killed = child_processes(process)[1]
        os.kill(killed, signal.SIGKILL)
        while killed in child_processes(process):
            wait_for_checkpoint(run, 5, process)
    wait_for_checkpoint(run, last_step(run) + 5, process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "restart 1 of 2, from the last checkpoint" in joined_lines(errors)
    assert "restart 2 of 2, from the last checkpoint" in joined_lines(errors)
    expected = train_without_failure(tmp_path, 2, steps=last_step(run))
    assert_same_state(Run.open(run), expected)
