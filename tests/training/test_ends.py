"""How training ends: last step, early stopping, signals, numbers that are not finite, full disk."""

from __future__ import annotations

import json
import math
import os
import pty
import re
import select
import signal
import subprocess
import time
from functools import partial

import pytest
import torch

from polyglot.core.errors import CheckpointError, DataError, TrainingError
from polyglot.core.signals import TERMINATION_SIGNALS, signal_handler
from polyglot.core.stored_json import with_checksum
from polyglot.distributed.processes import LostProcessError
from polyglot.inference.translator import Translator
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs import checkpoint_writing
from polyglot.runs.run import Run
from polyglot.training.train_state import Progress
from polyglot.training.validation import ValidationResult
from tests.builders.forked import PROGRAM, ForkedProgram
from tests.builders.runs import make_trainer, tiny_run, train, write_config


def validating(*values, by="loss"):
    """Validator whose passes give these values, one after the other."""
    remaining = list(values)

    def validate():
        value = remaining.pop(0)
        if by == "loss":
            return ValidationResult({"de-en": value})
        return ValidationResult({"de-en": 1.0}, {"de-en": value})

    return lambda model: validate


def at_step(trainer, step, action):
    """Call `action` before the update that ends with that step."""
    update = trainer.update

    def update_with_action():
        if trainer.progress.step + 1 == step:
            action()
        return update()

    trainer.update = update_with_action


def after_optimizer_step(trainer, step, action):
    """Call `action` after the optimizer in the update that ends with that step."""

    def register():
        trainer.optimizer.optimizer.register_step_post_hook(lambda *_: action())

    at_step(trainer, step, register)


def set_parameter(trainer, component="encoder.de", value=math.nan):
    """Function that sets all numbers of the first parameter of a component."""

    def set_value():
        with torch.no_grad():
            next(iter(trainer.parameters[component].values())).fill_(value)

    return set_value


def log_lines(run, kind):
    """Lines of the log, read strictly: JSON has no NaN, which Python would accept."""
    read = partial(json.loads, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    lines = [read(line) for line in run.log.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line["kind"] == kind]


def last_checkpoint(run):
    [checkpoint] = checkpoints.choose(run.checkpoints, "last")
    return checkpoint


# The last step and the log -----------------------------------------------------------------------


def test_the_last_step_has_a_checkpoint_and_the_newest_are_kept(tmp_path):
    run = tiny_run(tmp_path, training={"steps": 11, "checkpoint": {"every": 3, "keep": 2}})
    trainer = train(run)
    assert trainer.progress.step == 11
    assert not trainer.received_signal
    assert checkpoints.steps(run.checkpoints) == [9, 11]
    assert [line["step"] for line in log_lines(run, "checkpoint")] == [3, 6, 9, 11]


def test_the_log_has_the_numbers_for_plots(tmp_path):
    run = tiny_run(tmp_path, training={"steps": 7, "log_every": 3}, validation={"every": 4})
    trainer = train(run, validating(2.0, 3.0))
    lines = log_lines(run, "training")
    assert [line["step"] for line in lines] == [3, 6, 7]

    tokens = {}
    for line in lines:
        assert line["loss"] > 0
        assert line["tokens_per_second"] > 0
        assert line["gradient_norm"] > 0
        assert line["learning_rate"] == 0.01
        for task, values in line["tasks"].items():
            assert values.keys() == {"tokens", "translation", "bridge"}
            tokens[task] = tokens.get(task, 0) + values["tokens"]
    assert trainer.progress.tokens == tokens

    validations = []
    for line in log_lines(run, "validation"):
        validations.append((line["step"], line["value"], line["best"]))
    assert validations == [(4, 2.0, True), (7, 3.0, False)]


def test_failed_validation_loses_no_step(tmp_path):
    run = tiny_run(tmp_path, training={"steps": 9}, validation={"every": 4})

    def fail():
        raise DataError("valid.de cannot be read")

    with pytest.raises(DataError, match="valid.de cannot be read"):
        train(run, lambda model: fail)
    assert checkpoints.steps(run.checkpoints) == [4]

    trainer = make_trainer(run, validating(2.0, 3.0))
    trainer.resume(last_checkpoint(run))
    trainer.train()
    assert trainer.progress.step == 9
    assert [line["step"] for line in log_lines(run, "validation")] == [8, 9]


def test_lost_process_in_a_validation_writes_no_checkpoint(tmp_path):
    """The other ranks cannot take part in it."""
    run = tiny_run(tmp_path, training={"steps": 9}, validation={"every": 4})

    def fail():
        raise LostProcessError("process 1 is gone")

    with pytest.raises(LostProcessError):
        train(run, lambda model: fail)
    assert checkpoints.steps(run.checkpoints) == []


class MemoryTracker:
    """Tracker with accelerate's interface that stores what it gets."""

    name = "memory"

    def __init__(self):
        self.logged = []
        self.finished = 0

    def start(self):
        pass

    def log(self, values, step=None, **_):
        self.logged.append((step, values))

    def finish(self):
        self.finished += 1


def test_trackers_get_every_number_and_are_closed(tmp_path):
    run = tiny_run(tmp_path, training={"steps": 4, "log_every": 2}, validation={"every": 4})
    trainer = make_trainer(run, validating(2.0))
    tracker = MemoryTracker()
    trainer.accelerator.trackers = [tracker]
    trainer.train()
    assert [step for step, _ in tracker.logged] == [2, 4, 4, 4]
    assert tracker.finished == 1

    for _, values in tracker.logged:
        for value in values.values():
            assert isinstance(value, float)
    names = tracker.logged[0][1].keys()
    assert {
        "training/loss",
        "training/learning_rate",
        "training/tokens_per_second",
        "training/gradient_norm",
    } <= names
    assert any(re.fullmatch("training/tasks/.*/translation", name) for name in names)
    assert tracker.logged[2][1]["validation/losses/de-en"] == 2.0


def test_trackers_are_closed_after_an_error(tmp_path):
    trainer = make_trainer(tiny_run(tmp_path, schedule={"pairs": ["de-en"]}))
    tracker = MemoryTracker()
    trainer.accelerator.trackers = [tracker]
    at_step(trainer, 3, set_parameter(trainer))
    with pytest.raises(TrainingError):
        trainer.train()
    assert tracker.finished == 1


@pytest.mark.parametrize("log_every", [1, 3])
def test_the_logged_speed_is_that_of_training_alone(log_every, tmp_path, monkeypatch):
    """Validation and checkpoints do not count, also after a resume."""
    steps = 6
    run = tiny_run(
        tmp_path,
        training={"steps": steps, "log_every": log_every, "checkpoint": {"every": 1}},
        validation={"every": 1},
    )
    write = checkpoint_writing.write

    def write_slowly(*values, **settings):
        time.sleep(0.1)
        return write(*values, **settings)

    def validate_slowly():
        time.sleep(0.1)
        return ValidationResult({"de-en": 1.0})

    monkeypatch.setattr(checkpoint_writing, "write", write_slowly)
    train(run, lambda model: validate_slowly, stop_after=3)
    progress = train(Run.open(run.path), lambda model: validate_slowly).progress

    lines = log_lines(run, "training")
    assert [line["step"] for line in lines] == list(range(log_every, steps + 1, log_every))
    seconds = [log_every / line["steps_per_second"] for line in lines]
    assert sum(seconds) == pytest.approx(progress.seconds, abs=1e-6)
    assert lines[-1]["seconds"] == round(progress.seconds, 2)
    for line, line_seconds in zip(lines, seconds):
        tokens = sum(task["tokens"] for task in line["tasks"].values())
        assert line["tokens_per_second"] * line_seconds == pytest.approx(tokens)


# Validation: the best checkpoint, early stopping -------------------------------------------------


def test_the_best_checkpoint_is_marked_and_kept(tmp_path):
    run = tiny_run(
        tmp_path,
        training={"steps": 10, "checkpoint": {"every": 2, "keep": 1}},
        validation={"every": 2},
    )
    train(run, validating(3.0, 2.0, 2.5, 2.0, 4.0))
    assert checkpoints.best_step(run.checkpoints) == 4
    assert checkpoints.steps(run.checkpoints) == [4, 10]
    mark = json.loads((run.checkpoints / "best.json").read_text())
    assert mark == with_checksum({"step": 4, "by": "loss", "value": 2.0})
    [best] = checkpoints.choose(run.checkpoints, "best")
    assert best.step == 4


def test_the_best_step_has_a_checkpoint_even_if_none_is_due(tmp_path):
    run = tiny_run(tmp_path, training={"steps": 10}, validation={"every": 3})
    train(run, validating(3.0, 2.0, 2.5, 2.6))
    assert checkpoints.steps(run.checkpoints) == [3, 6, 10]
    assert checkpoints.best_step(run.checkpoints) == 6


def test_a_step_is_written_once(tmp_path, monkeypatch):
    run = tiny_run(
        tmp_path, training={"steps": 4, "checkpoint": {"every": 2}}, validation={"every": 2}
    )
    write = checkpoint_writing.write
    written = []

    def record_step(folder, *, step, **settings):
        written.append(step)
        return write(folder, step=step, **settings)

    monkeypatch.setattr(checkpoint_writing, "write", record_step)
    train(run, validating(3.0, 2.0))
    assert written == [2, 4]


def test_bleu_is_better_when_higher(tmp_path):
    validation = {"every": 2, "best_by": "bleu", "bleu_pairs": ["de-en"]}
    run = tiny_run(tmp_path, training={"steps": 6}, validation=validation)
    train(run, validating(10.0, 30.0, 20.0, by="bleu"))
    assert checkpoints.best_step(run.checkpoints) == 4


@pytest.mark.parametrize(
    ("values", "patience", "last_step"),
    [
        ([5.0, 4.0, 4.5, 4.4, 4.3, 1.0], 3, 10),
        ([5.0, 4.0, 4.5, 4.4, 3.9, 1.0], 3, 12),
        ([1.0, 1.0], 1, 4),
        ([5.0, 4.0, 3.0, 2.0, 1.5, 1.0], 1, 12),
    ],
)
def test_training_stops_early_without_a_better_validation(values, patience, last_step, tmp_path):
    run = tiny_run(tmp_path, training={"steps": 12}, validation={"every": 2, "patience": patience})
    trainer = train(run, validating(*values))
    assert trainer.progress.step == last_step
    assert not trainer.received_signal
    assert checkpoints.steps(run.checkpoints)[-1] == last_step

    best = min(values[: last_step // 2])
    assert checkpoints.best_step(run.checkpoints) == 2 * (values.index(best) + 1)


def test_patience_continues_after_a_resume(tmp_path):
    run = tiny_run(tmp_path, training={"steps": 12}, validation={"every": 2, "patience": 2})
    train(run, validating(1.0, 2.0), stop_after=5)
    assert train(Run.open(run.path), validating(3.0)).progress.step == 6
    assert train(Run.open(run.path), validating()).progress.step == 6


@pytest.mark.parametrize("by", ["loss", "bleu"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_never_the_best(by, value):
    progress = Progress()
    assert not progress.record_validation(by=by, value=value)
    assert progress.validations_since_best == 1
    assert progress.record_validation(by=by, value=3.0)
    assert progress.validations_since_best == 0
    assert not progress.record_validation(by=by, value=value)
    assert progress.validations_since_best == 1

    better = 2.0 if by == "loss" else 4.0
    assert progress.record_validation(by=by, value=better)
    assert not progress.record_validation(by=by, value=better)  # as good is not better


def test_the_first_value_of_another_metric_is_the_best():
    progress = Progress(best={"step": 3, "by": "loss", "value": 2.5})
    assert progress.record_validation(by="bleu", value=0.3)
    assert not progress.record_validation(by="bleu", value=0.2)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_validation_that_is_not_finite_is_null_in_the_log(value, tmp_path):
    """The run continues, also after a stop, and the best checkpoint stays the best."""
    run = tiny_run(tmp_path, training={"steps": 8}, validation={"every": 2})
    train(run, validating(value, 2.0, value), stop_after=6)
    train(Run.open(run.path), validating(3.0))

    logged = []
    for line in log_lines(run, "validation"):
        logged.append((line["value"], line["losses"]["de-en"], line["best"]))
    assert logged == [
        (None, None, False),
        (2.0, 2.0, True),
        (None, None, False),
        (3.0, 3.0, False),
    ]
    assert checkpoints.best_step(run.checkpoints) == 4


def test_a_resume_marks_a_best_checkpoint_whose_mark_is_missing(tmp_path):
    """The run was killed between the checkpoint and its mark."""
    run = tiny_run(
        tmp_path, training={"steps": 4, "checkpoint": {"every": 1}}, validation={"every": 2}
    )
    train(run, validating(3.0, 2.0))
    checkpoints.mark_best(run.checkpoints, {"step": 2, "by": "loss", "value": 3.0})
    train(Run.open(run.path), validating())
    assert checkpoints.best_step(run.checkpoints) == 4


def test_without_validation_text_the_newest_checkpoint_is_the_best(tmp_path):
    run = tiny_run(tmp_path, validation={"every": 2, "patience": 1})
    train(run)
    [best] = checkpoints.choose(run.checkpoints, "best")
    assert best.step == 6


# Numbers that are not finite ---------------------------------------------------------------------


def test_a_loss_that_is_not_finite_stops_and_keeps_the_last_good_checkpoint(tmp_path):
    run = tiny_run(
        tmp_path, schedule={"pairs": ["de-en"]}, training={"steps": 20, "checkpoint": {"every": 3}}
    )
    trainer = make_trainer(run)
    at_step(trainer, 5, set_parameter(trainer))
    with pytest.raises(TrainingError) as error:
        trainer.train()

    message = str(error.value)
    assert re.match(
        r"step 5, task de-en: the loss is not finite \(translation nan, bridge nan\); "
        "batch of [48] sentences: ",
        message,
    )
    lines = [int(line) for line in re.findall(r"train\.de \+ \S*train\.en, line (\d+)", message)]
    assert len(lines) == 4
    assert 1 <= min(lines)
    assert max(lines) <= 60
    assert message.endswith(
        "the last good checkpoint is step 3; "
        "try a lower learning rate or a smaller training.clip_norm"
    )

    assert checkpoints.steps(run.checkpoints) == [3]
    assert Translator.load(run).translate(["ein Hund"], source="de", target="en")
    check_finite(last_checkpoint(run))
    train(Run.open(run.path), stop_after=6)


def check_finite(checkpoint):
    for component in checkpoint.components:
        for tensor in checkpoint.component(component).values():
            assert tensor.isfinite().all()


@pytest.mark.parametrize(("tasks_per_update", "step", "number"), [(1, 3, 3), (2, 2, 3)])
def test_the_message_names_the_sentences_of_the_batch(tasks_per_update, step, number, tmp_path):
    """number: the batch of the task that has the first loss that is not finite, from 1."""
    schedule = {"pairs": ["de-en"], "tasks_per_update": tasks_per_update}
    run = tiny_run(tmp_path, schedule=schedule, training={"steps": 20})
    stream = make_trainer(run).streams["de-en"]
    for _ in range(number):
        rows = stream.take()

    trainer = make_trainer(run)
    at_step(trainer, step, set_parameter(trainer))
    message = f"step {step}, task de-en: the loss .* there is no checkpoint yet"
    with pytest.raises(TrainingError, match=message) as error:
        trainer.train()
    lines = [int(line) for line in re.findall(r"line (\d+)", str(error.value))]
    assert lines == [row + 1 for row in rows[:4].tolist()]


def test_a_gradient_that_is_not_finite_stops_before_the_checkpoint(tmp_path):
    """The loss of the step is fine, but its parameters are spoilt."""
    run = tiny_run(
        tmp_path, schedule={"pairs": ["de-en"]}, training={"steps": 20, "checkpoint": {"every": 1}}
    )
    trainer = make_trainer(run)
    weight = trainer.model.bridge.hidden.weight
    at_step(trainer, 4, lambda: weight.register_hook(lambda gradient: gradient * math.inf))
    message = "step 4, task de-en: the gradient is not finite .*the last good checkpoint is step 3"
    with pytest.raises(TrainingError, match=message):
        trainer.train()
    assert checkpoints.steps(run.checkpoints) == [1, 2, 3]


def test_parameters_that_are_not_finite_are_not_validated(tmp_path):
    """The loss and the gradient of the step are fine; the optimizer spoils the parameters."""
    run = tiny_run(
        tmp_path, training={"steps": 20, "checkpoint": {"every": 1}}, validation={"every": 4}
    )
    trainer = make_trainer(run, lambda model: lambda: pytest.fail("the model was validated"))
    after_optimizer_step(trainer, 4, set_parameter(trainer, "encoder.en"))
    with pytest.raises(TrainingError) as error:
        trainer.train()
    message = (
        "step 4: the parameters of encoder.en are not finite; the last good checkpoint is step 3"
    )
    assert str(error.value).startswith(message)
    assert checkpoints.steps(run.checkpoints) == [1, 2, 3]


@pytest.mark.parametrize("validate_every", [4, 1000])
@pytest.mark.parametrize("value", [1e30, -1e30])
def test_parameters_that_diverged_do_not_replace_the_last_good_checkpoint(
    value, validate_every, tmp_path
):
    """They are still finite; only the next step would show that they are useless."""
    run = tiny_run(
        tmp_path,
        training={"steps": 20, "checkpoint": {"every": 1, "keep": 1}},
        validation={"every": validate_every},
    )
    trainer = make_trainer(run, validating(1.0))
    after_optimizer_step(trainer, 4, set_parameter(trainer, "encoder.en", value))
    message = (
        r"step 4: training has diverged, the parameters of encoder.en grew to 1.0e\+30; "
        "the last good checkpoint is step 3"
    )
    with pytest.raises(TrainingError, match=message):
        trainer.train()
    assert checkpoints.steps(run.checkpoints) == [3]
    assert not log_lines(run, "validation")


@pytest.mark.parametrize("rate", [1e38, 1e39])
def test_no_checkpoint_of_a_too_high_learning_rate_holds_bad_numbers(rate, tmp_path):
    run = tiny_run(
        tmp_path,
        optimizer={"type": "sgd"},
        training={"steps": 30, "clip_norm": None, "checkpoint": {"every": 1}},
    )
    # The configuration refuses such a rate; `model_copy` does not check values.
    optimizer = run.config.optimizer.model_copy(update={"learning_rate": rate})
    run.config = run.config.model_copy(update={"optimizer": optimizer})
    with pytest.raises(TrainingError, match="not finite|training has diverged"):
        train(run)
    for step in checkpoints.steps(run.checkpoints):
        [checkpoint] = checkpoints.choose(run.checkpoints, step)
        check_finite(checkpoint)


def test_a_full_disk_ends_training_and_keeps_the_last_good_checkpoint(tmp_path, monkeypatch):
    run = tiny_run(tmp_path, training={"steps": 20, "checkpoint": {"every": 3}})
    trainer = make_trainer(run)

    def fail(*_):
        raise OSError(28, "No space left on device")

    at_step(trainer, 5, lambda: monkeypatch.setattr(checkpoint_writing, "write_synced", fail))
    message = (
        "step-00000006: the checkpoint cannot be written: No space left on device; "
        "the last good one is step 3"
    )
    with pytest.raises(CheckpointError, match=message):
        trainer.train()
    monkeypatch.undo()
    assert train(Run.open(run.path)).progress.step == 20


# Signals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", TERMINATION_SIGNALS)
def test_a_signal_finishes_the_step_and_leaves_a_checkpoint(number, tmp_path):
    run = tiny_run(tmp_path, training={"steps": 50})
    trainer = make_trainer(run)
    handlers = [signal.getsignal(termination) for termination in TERMINATION_SIGNALS]
    at_step(trainer, 4, lambda: signal.raise_signal(number))
    trainer.train()
    assert trainer.received_signal == number
    assert trainer.progress.step == 4
    assert checkpoints.steps(run.checkpoints) == [4]
    restored = [signal.getsignal(termination) for termination in TERMINATION_SIGNALS]
    assert restored == handlers


def test_an_ignored_signal_stays_ignored(tmp_path):
    """For example SIGHUP below `nohup polyglot train`."""
    trainer = make_trainer(tiny_run(tmp_path, training={"steps": 6}))
    at_step(trainer, 4, lambda: signal.raise_signal(signal.SIGHUP))
    with signal_handler([signal.SIGHUP], signal.SIG_IGN):
        trainer.train()
    assert not trainer.received_signal
    assert trainer.progress.step == 6


def test_a_termination_signal_does_not_enable_an_ignored_ctrl_c(tmp_path):
    """A Ctrl-C in the background could interrupt the checkpoint that is being written."""
    trainer = make_trainer(tiny_run(tmp_path, training={"steps": 50}))

    def raise_both():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)

    at_step(trainer, 4, raise_both)
    with signal_handler([signal.SIGINT], signal.SIG_IGN):
        trainer.train()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    assert trainer.received_signal == signal.SIGTERM
    assert trainer.progress.step == 4


def test_a_second_ctrl_c_stops_at_once(tmp_path):
    run = tiny_run(tmp_path, training={"steps": 50, "checkpoint": {"every": 2}})
    trainer = make_trainer(run)

    def press_twice():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    at_step(trainer, 4, press_twice)
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    assert checkpoints.steps(run.checkpoints) == [2]
    assert train(Run.open(run.path), stop_after=5).progress.step == 5


# The program -------------------------------------------------------------------------------------


def start_program(folder, *options, **streams):
    """Start `polyglot train` on a run that writes a line of the log in every step."""
    config = write_config(
        folder, training={"steps": 1_000_000, "log_every": 1}, validation={"every": 10**6}
    )
    return ForkedProgram(
        [*PROGRAM, "train", str(config), *options],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        **streams,
    )


def wait_for_log(process, run_folder, wait=partial(time.sleep, 0.05)):
    """Wait until the program has written its first line."""
    log = run_folder / "log.jsonl"
    deadline = time.monotonic() + 120
    while not log.is_file() or not log.stat().st_size:
        assert process.poll() is None
        assert time.monotonic() < deadline
        wait()


@pytest.mark.parametrize(
    "options",
    [[], pytest.param(["--processes", "2"], marks=pytest.mark.slow)],
    ids=["one process", "two processes"],
)
def test_training_whose_terminal_is_closed_leaves_a_checkpoint(options, tmp_path):
    """The program goes on writing lines that cannot be shown."""
    terminal, program_side = pty.openpty()
    process = start_program(tmp_path, *options, stderr=program_side)
    os.close(program_side)

    def read_terminal():
        if select.select([terminal], [], [], 0.05)[0]:
            os.read(terminal, 10_000)

    try:
        wait_for_log(process, tmp_path / "run", read_terminal)
        os.close(terminal)
        process.send_signal(signal.SIGHUP)
        assert process.wait(60) == 128 + signal.SIGHUP
    finally:
        process.kill()
    assert len(checkpoints.steps(tmp_path / "run" / "checkpoints")) == 1


def test_ctrl_c_leaves_a_checkpoint_and_tells_how_to_resume(tmp_path):
    """While it trains, no second program can; then the run is resumed."""
    process = start_program(tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_for_log(process, tmp_path / "run")
        run = Run.open(tmp_path / "run")
        with pytest.raises(CheckpointError, match="another process is training this run"):
            with run.lock():
                pass
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + signal.SIGINT, errors
    assert output == ""
    assert "Traceback" not in errors
    assert f"polyglot train {tmp_path / 'run'} --resume" in " ".join(errors.split())

    [step] = checkpoints.steps(run.checkpoints)
    assert step > 0
    assert train(Run.open(run.path), stop_after=step + 2).progress.step == step + 2
    logged = [line["step"] for line in log_lines(run, "training")]
    assert logged == list(range(1, step + 3))
