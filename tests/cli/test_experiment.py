"""`polyglot experiment`: trainings in their own processes, sizes, errors and signals."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from rich.progress import Progress

from polyglot.config.loading import load_config
from polyglot.config.schema import Config
from polyglot.core.errors import TrainingError
from polyglot.core.signals import exit_code, signal_handler
from polyglot.experiments.launcher import TrainingLauncher
from tests.builders.forked import ForkedProgram
from tests.cli.small_run import one_line
from tests.conftest import ROOT


@pytest.fixture
def python_path(monkeypatch) -> None:
    """Let started processes import this copy of the package."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def test_experiment_trains_missing_runs_only(folder, polyglot, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", ForkedProgram)
    Path("both.yaml").write_text(
        "title: Mine\n"
        "protocol: {pairs: [de-fr], resamples: 20}\n"
        "systems: {taken: {run: runs/mine}, made: {config: mine.yaml, set: [training.steps=2]}}\n"
    )
    plan = polyglot("experiment", "both.yaml", "--dry-run")
    assert plan.status == 0
    assert "taken-mine: as it is" in plan.output
    assert "polyglot train mine.yaml training.steps=2 seed=1" in plan.output

    result = polyglot("experiment", "both.yaml")
    assert result.status == 0, result.errors
    assert "BLEU of 2 runs" in result.output
    assert {path.name for path in Path("experiments/both").iterdir()} == {
        "runs",
        "evaluation",
        "result.md",
        "result.json",
        "result.png",
    }

    def fail(*arguments, **settings):
        pytest.fail("trained again")

    monkeypatch.setattr(subprocess, "Popen", fail)
    assert polyglot("experiment", "both.yaml").status == 0
    plan = polyglot("experiment", "both.yaml", "--dry-run")
    assert "made-seed1: complete" in plan.output


def test_message_names_the_training_that_fails(folder, polyglot, monkeypatch):
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    Path("one.yaml").write_text("title: One\nsystems: {made: {config: mine.yaml}}\n")
    assert "polyglot train mine.yaml" in polyglot.refuses("experiment", "one.yaml")


def test_unknown_experiment(folder, polyglot):
    message = polyglot.refuses("experiment", "phrasebok")
    assert "no experiment named 'phrasebok'. Did you mean 'phrasebook'?" in message


@dataclass
class NamedRun:
    """What the launcher needs of a run."""

    name: str
    path: Path
    config: Config


def test_a_training_beside_others_logs_to_a_file(folder, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", ForkedProgram)
    trainings = TrainingLauncher(folder, 2, Progress(disable=True))
    arguments = ["mine.yaml", "run=runs/one", "training.steps=2"]
    run = NamedRun("one", folder / "runs" / "one", load_config("mine.yaml", arguments[1:]))
    trainings.train(run, arguments)
    assert "2 of 2 steps" in Path("logs/one.log").read_text(encoding="utf-8")

    arguments = ["mine.yaml", "run=runs/two", "optimizer.learning_rate=1e30"]
    with pytest.raises(TrainingError, match="its error message is in .*logs/two.log"):
        trainings.train(replace(run, name="two"), arguments)
    assert "error: " in Path("logs/two.log").read_text(encoding="utf-8")


@pytest.mark.slow
def test_parallel_trainings_log_to_files_and_one_failure_stops_no_other(
    folder, polyglot, monkeypatch, python_path
):
    monkeypatch.setattr("polyglot.experiments.launcher.PROGRESS_INTERVAL", 0.01)
    Path("two.yaml").write_text(
        "title: Two\n"
        "config: mine.yaml\n"
        "protocol: {pairs: [de-fr], resamples: 20}\n"
        "sizes:\n"
        "  large: {set: [training.steps=1000]}\n"
        "  small: {about: two updates., set: [training.steps=2]}\n"
        "systems: {one: {}, wrong: {set: [optimizer.learning_rate=1e30]}}\n"
    )
    small = ("experiment", "two.yaml", "--size", "small")
    result = polyglot.refuses(*small, "--parallel", "2")
    logs = Path("experiments/two/small/logs")
    assert f"its error message is in {logs}/wrong-seed1.log" in one_line(result)
    assert "error: " in (logs / "wrong-seed1.log").read_text(encoding="utf-8")
    assert "2 of 2 steps" in (logs / "one-seed1.log").read_text(encoding="utf-8")
    assert "one-seed1: complete" in polyglot(*small, "--dry-run").output


def test_plan_of_a_size(folder, polyglot):
    Path("two.yaml").write_text(
        "title: Two\n"
        "config: mine.yaml\n"
        "sizes:\n"
        "  large: {set: [training.steps=1000]}\n"
        "  small: {about: two updates., set: [training.steps=2]}\n"
        "systems: {one: {}, other: {set: [optimizer.learning_rate=0.1]}}\n"
    )
    message = polyglot.refuses("experiment", "two.yaml", "--size", "smal")
    assert "no size named 'smal'. Did you mean 'small'? Known: large, small" in message
    assert "training.steps=1000" in polyglot("experiment", "two.yaml", "--dry-run").output
    plan = polyglot("experiment", "two.yaml", "--size", "small", "--dry-run").output
    assert "run=experiments/two/small/runs/one-seed1" in plan
    assert re.search(r"\n all +2 +0 +4 *\n", plan)


# Signals ---------------------------------------------------------------------------------------

SLEEP = "import time; time.sleep(60)"
SLEEP_IGNORING_CTRL_C = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); {SLEEP}"


def start_python(code: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", code])


def test_sigterm_is_sent_to_all_trainings(tmp_path):
    trainings = TrainingLauncher(tmp_path, 2, Progress(disable=True))
    processes = [start_python(SLEEP), start_python(SLEEP)]
    trainings.processes.update(processes)
    handler = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt) as interruption, trainings.interruptible():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
    assert exit_code(interruption.value) == 143
    assert [process.wait(timeout=10) for process in processes] == [-signal.SIGTERM] * 2
    assert signal.getsignal(signal.SIGTERM) is handler


@pytest.mark.parametrize(("patience", "count"), [(0.1, 1), (60, 2)], ids=["once", "twice"])
def test_training_that_ignores_ctrl_c_gets_sigterm(patience, count, tmp_path, monkeypatch):
    """After some seconds, or at once after a second Ctrl-C.

    A terminal sends Ctrl-C to all processes; another program may send it to this one alone.
    """
    monkeypatch.setattr("polyglot.experiments.launcher.INTERRUPT_PATIENCE", patience)
    trainings = TrainingLauncher(tmp_path, 2, Progress(disable=True))
    process = start_python(SLEEP_IGNORING_CTRL_C)
    trainings.processes.add(process)
    with signal_handler([signal.SIGINT], signal.default_int_handler):
        with trainings.interruptible():
            for _ in range(count):
                with pytest.raises(KeyboardInterrupt):
                    os.kill(os.getpid(), signal.SIGINT)
                    time.sleep(5)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert process.wait(timeout=10) == -signal.SIGTERM
