"""`polyglot train --resume`: changed settings, and runs that cannot be continued."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from accelerate import Accelerator

from polyglot.core.errors import CheckpointError, TrainingError
from polyglot.data.corpora import Corpora
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from polyglot.training import loss_monitor, preflight, training_log
from polyglot.training.trainer import Trainer
from tests.cli.small_run import LAST_CHECKPOINT, TRANSLATE, file_hashes, flip_last_bit

RESUME = ("train", "runs/mine", "--resume")
CHECKPOINTS = Path("runs/mine/checkpoints")


@pytest.fixture
def unread_text(monkeypatch) -> None:
    """Fail the test if training text is read."""

    def fail(*arguments, **settings):
        pytest.fail("the text was read")

    monkeypatch.setattr(Corpora, "__init__", fail)


def fail_at_step(monkeypatch, step: int, error: Exception) -> None:
    update = Trainer.update

    def failing_update(trainer):
        if trainer.progress.step == step:
            raise error
        return update(trainer)

    monkeypatch.setattr(Trainer, "update", failing_update)


# Arguments that are not a run ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("mine.yaml", "mine.yaml: no run directory: it is a file. Did you mean runs/mine?"),
        ("mine", "mine: no run directory: it does not exist. Did you mean runs/mine?"),
        ("runs/mien", "runs/mien: no run directory: it does not exist. Did you mean runs/mine?"),
        (
            "train.de",
            "train.de: no run directory: it is a file; "
            "a run is the folder that `polyglot train` has made, such as runs/mine",
        ),
        ("runs", "runs: no run directory: it has no config.yaml; a run is the folder"),
    ],
)
@pytest.mark.parametrize(
    "command",
    [("train", "--resume"), ("evaluate",), ("translate", "--from", "de", "--to", "fr")],
    ids=lambda command: command[0],
)
def test_argument_that_is_not_a_run(argument, message, command, folder, polyglot):
    assert message in polyglot.refuses(*command, argument)


def test_run_that_does_not_exist(folder, polyglot):
    message = polyglot.refuses("train", "runs/nobody", "--resume")
    assert "runs/nobody: no run directory: it does not exist; a run is the folder that" in message


def test_folder_in_place_of_a_configuration(dry_run, folder, polyglot):
    Path("text").mkdir()
    message = polyglot.refuses("train", "text", *dry_run)
    assert "text: a folder; a YAML file is expected here" in message
    assert "or the name of a shipped one: " in message
    assert "multi30k/paper, " in message
    message = polyglot.refuses("train", "runs/mine", *dry_run)
    assert "runs/mine: a run directory; continue it with --resume" in message


# Settings that cannot change -------------------------------------------------------------------


def test_settings_that_the_run_was_built_from_cannot_change(folder, polyglot):
    before = file_hashes(folder)
    assert "model" in polyglot.refuses(*RESUME, "model.encoder.size=10")
    assert "schedule" in polyglot.refuses(*RESUME, "schedule=many_to_many")
    assert file_hashes(folder) == before
    assert polyglot(*TRANSLATE, stdin="es regnet\n").status == 0


def test_message_names_settings_that_cannot_change(folder, polyglot):
    overrides = ("model.encoder.size=10", "model.bridge.heads=3", "vocabulary.size=50")
    assert (
        "the command line, for runs/mine: settings that a run was built from cannot change: "
        "model.bridge.heads was 2, model.encoder.size was 8, vocabulary.size was 100; leave"
    ) in polyglot.refuses(*RESUME, *overrides)
    assert (
        "cannot change: the pairs of schedule were "
        "de-de, de-en, en-de, en-en, en-fr, fr-en, fr-fr; leave them out"
    ) in polyglot.refuses(*RESUME, "schedule=english_centric")


def test_mistake_in_an_override_is_not_blamed_on_the_file(folder, polyglot):
    errors = polyglot.refuses(*RESUME, "languages=[en,de]", "search.beam=0")
    heading, first_problem, *_ = errors.splitlines()
    assert heading.endswith("the command line, for runs/mine: 3 problems")
    assert "config.yaml" not in errors
    message = "languages: cannot change, the run was built from it; leave it out"
    assert first_problem.strip().startswith(message)


@pytest.mark.parametrize(
    "override", ["model.encoder.size=10", "schedule=many_to_many", "run=runs/other"]
)
def test_dry_run_finds_settings_that_cannot_change(override, folder, polyglot):
    before = file_hashes(folder)
    polyglot.refuses(*RESUME, "--dry-run", override)
    assert file_hashes(folder) == before


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "optimizer=sgd",
            "which cannot use its state: resume with optimizer.type=adam, or start a new run",
        ),
        ("training.steps=3", "step-00000004: the run is already past training.steps 3"),
    ],
)
def test_impossible_change_is_found_before_text_is_read(
    override, message, dry_run, folder, polyglot, unread_text
):
    assert message in polyglot.refuses(*RESUME, *dry_run, override)


def test_damaged_checkpoint_is_found_before_text_is_read(dry_run, folder, polyglot, unread_text):
    flip_last_bit(LAST_CHECKPOINT / "training.safetensors")
    message = polyglot.refuses(*RESUME, *dry_run)
    assert "training.safetensors: damaged: its SHA-256 is" in message


# A changed configuration is kept only if training works ----------------------------------------


def test_change_is_kept_after_training(folder, polyglot):
    assert polyglot(*RESUME, "training.steps=6").status == 0
    assert Run.open("runs/mine").config.training.steps == 6


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "optimizer=sgd",
            "step-00000004: was trained with the optimizer 'adam', and the configuration says "
            "'sgd'",
        ),
        ("data.folder=nowhere", "nowhere/train.{language}: nothing for any of en, de, fr"),
        ("training.trackers=[aim]", "training.trackers: aim not installed"),
        ("data.filter.max_length=1", "only over-long sentences"),
        ("run=runs/other", "run: 'runs/other'; the run stays where it is, in runs/mine"),
    ],
)
def test_change_is_not_kept_if_training_cannot_start(override, message, folder, polyglot):
    before = file_hashes(folder)
    assert message in polyglot.refuses(*RESUME, "training.steps=6", override)
    assert file_hashes(folder) == before
    assert not Path("runs/other").exists()
    assert polyglot(*RESUME).status == 0


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("optimizer.learning_rate=1000",), "training has diverged"),
        (
            ("training.trackers=[tensorboard]", "data.folder=nowhere"),
            "nothing for any of en, de, fr",
        ),
    ],
)
def test_change_is_not_kept_if_training_fails(overrides, message, folder, polyglot, monkeypatch):
    monkeypatch.setattr(preflight, "get_available_trackers", lambda: ["tensorboard"])
    monkeypatch.setattr(loss_monitor, "LARGEST_PARAMETER", 100.0)  # few steps are enough
    before = file_hashes(folder)
    assert message in polyglot.refuses(*RESUME, "training.steps=6", *overrides)
    after = file_hashes(folder)
    for hashes in (before, after):
        del hashes["runs/mine/log.jsonl"]  # it may have lines of the steps before the failure
    assert after == before
    assert polyglot(*RESUME, "training.steps=6").status == 0


@pytest.mark.parametrize(
    ("error", "is_kept"),
    [
        (MemoryError(), False),
        (RuntimeError("CUDA out of memory."), False),
        (TrainingError("enough"), False),
        (CheckpointError("No space left on device"), True),  # not caused by the change
    ],
)
def test_change_after_an_error_before_the_next_checkpoint(
    error, is_kept, folder, polyglot, monkeypatch
):
    fail_at_step(monkeypatch, 5, error)
    polyglot.refuses(*RESUME, "training.steps=9", "training.checkpoint.every=9")
    assert checkpoints.steps(CHECKPOINTS) == [2, 4]
    assert (Run.open("runs/mine").config.training.steps == 9) == is_kept


def test_change_is_kept_with_the_checkpoint_that_it_has_written(folder, polyglot, monkeypatch):
    fail_at_step(monkeypatch, 7, TrainingError("enough"))
    polyglot.refuses(*RESUME, "training.steps=9")
    assert checkpoints.steps(CHECKPOINTS)[-1] == 6
    assert Run.open("runs/mine").config.training.steps == 9


def test_change_is_not_kept_if_the_log_cannot_be_written(folder, polyglot, monkeypatch):
    def fail(path: Path, content: str) -> None:
        raise CheckpointError(f"{path}: cannot be written: No space left on device")

    with Path("runs/mine/log.jsonl").open("a") as log:
        log.write('{"step": 5}\n')
    before = file_hashes(folder)
    monkeypatch.setattr(training_log, "replace_file", fail)
    message = polyglot.refuses(*RESUME, "training.steps=6")
    assert "log.jsonl: cannot be written" in message
    assert file_hashes(folder) == before


def test_tracker_that_cannot_start_leaves_runs_as_they_were(folder, polyglot, monkeypatch):
    def fail(*arguments, **settings):
        raise RuntimeError("api_key not configured\nand much more")

    monkeypatch.setattr(preflight, "get_available_trackers", lambda: ["tensorboard"])
    monkeypatch.setattr("accelerate.accelerator.filter_trackers", lambda names, folder: names)
    monkeypatch.setattr(Accelerator, "init_trackers", fail)
    before = file_hashes(folder)
    new_run = ("train", "mine.yaml", "run=other")
    for arguments in (new_run, (*RESUME, "training.steps=6")):
        message = polyglot.refuses(*arguments, "training.trackers=[tensorboard]")
        assert (
            "training.trackers: tensorboard cannot be started: api_key not configured; "
        ) in message
        assert "and much more" not in message
        assert file_hashes(folder) == before
        assert not Path("other").exists()


def test_run_continues_without_the_run_that_initialized_it(folder, polyglot):
    initialize = "initialize={encoder.de: runs/mine}"
    result = polyglot("train", "mine.yaml", "run=other", "training.steps=2", initialize)
    assert result.status == 0
    shutil.rmtree("runs/mine")
    resume = ("train", "other", "--resume", "training.steps=4")
    assert polyglot(*resume, "--dry-run").status == 0
    assert polyglot(*resume).status == 0
