"""How training ends: at its last step, early, by Ctrl-C, or by a loss that is no number; every end keeps what was good."""

from __future__ import annotations

import json
import math
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from functools import partial

import pytest
import torch

from polyglot.core.errors import CheckpointError, TrainingError
from polyglot.core.signals import TERMINATION_SIGNALS, signal_handler
from polyglot.inference.translator import Translator
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from polyglot.training.train_state import Progress
from polyglot.training.validation import ValidationResult
from tests.builders.runs import make_trainer, tiny_run, train, write_config


def validating(*values, by="loss"):
    """A validator that finds these values, one after the other."""
    remaining = list(values)

    def validator(model):
        return lambda: (
            ValidationResult({"de-en": remaining.pop(0)})
            if by == "loss"
            else ValidationResult({"de-en": 1.0}, {"de-en": remaining.pop(0)})
        )

    return validator


def at_step(trainer, step, act):
    """Do something before the update that ends with that step."""
    update = trainer.update

    def acting():
        if trainer.progress.step + 1 == step:
            act()
        return update()

    trainer.update = acting


def lines(run, kind):
    """As any reader of JSON has them: Python's own would also take a NaN, which JSON does not know."""
    read = partial(json.loads, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    return [
        line
        for line in map(read, run.log.read_text(encoding="utf-8").splitlines())
        if line["kind"] == kind
    ]


# At the last step --------------------------------------------------------------------------------------------------------


def test_the_last_step_has_a_checkpoint_and_the_newest_stay(tmp_path):
    run = tiny_run(tmp_path, training={"steps": 11, "checkpoint": {"every": 3, "keep": 2}})
    trainer = train(run)
    assert trainer.progress.step == 11 and not trainer.interrupted
    assert checkpoints.steps(run.checkpoints) == [9, 11]
    assert [line["step"] for line in lines(run, "checkpoint")] == [3, 6, 9, 11]


def test_the_log_has_what_plots_need(tmp_path):
    run = tiny_run(tmp_path, training={"steps": 7, "log_every": 3}, validation={"every": 4})
    trainer = train(run, validating(2.0, 3.0))
    training = lines(run, "training")
    assert [line["step"] for line in training] == [3, 6, 7]
    for line in training:
        assert (
            line["loss"] > 0
            and line["tokens_per_second"] > 0
            and line["gradient_norm"] > 0
            and line["learning_rate"] == 0.01
        )
        assert all(
            {"tokens", "translation", "bridge"} == task.keys() for task in line["tasks"].values()
        )
    tokens = {}
    for line in training:
        for task, values in line["tasks"].items():
            tokens[task] = tokens.get(task, 0) + values["tokens"]
    assert trainer.progress.tokens == tokens
    assert [(line["step"], line["value"], line["best"]) for line in lines(run, "validation")] == [
        (4, 2.0, True),
        (7, 3.0, False),
    ]


class Tracker:
    """As accelerate's, but it only remembers."""

    name = "memory"

    def __init__(self):
        self.logged, self.finished = [], 0

    def start(self):
        pass

    def log(self, values, step=None, **_):
        self.logged.append((step, values))

    def finish(self):
        self.finished += 1


def test_trackers_get_every_number_and_are_closed(tmp_path):
    trainer = make_trainer(
        tiny_run(tmp_path, training={"steps": 4, "log_every": 2}, validation={"every": 4}),
        validating(2.0),
    )
    tracker = Tracker()
    trainer.accelerator.trackers = [tracker]
    trainer.train()
    assert [step for step, _ in tracker.logged] == [2, 4, 4, 4] and tracker.finished == 1
    first = tracker.logged[0][1]
    assert {
        "training/loss",
        "training/learning_rate",
        "training/tokens_per_second",
        "training/gradient_norm",
    } <= first.keys()
    assert any(
        name.startswith("training/tasks/") and name.endswith("/translation") for name in first
    )
    assert all(
        isinstance(value, float) for _, values in tracker.logged for value in values.values()
    )
    assert tracker.logged[2][1]["validation/losses/de-en"] == 2.0


def test_trackers_are_closed_however_it_ends(tmp_path):
    trainer = make_trainer(tiny_run(tmp_path, schedule={"pairs": ["de-en"]}))
    trainer.accelerator.trackers = [tracker := Tracker()]
    at_step(trainer, 3, poison(trainer))
    with pytest.raises(TrainingError):
        trainer.train()
    assert tracker.finished == 1


# Validation: the best, and enough ----------------------------------------------------------------------------------------


def test_the_best_checkpoint_is_marked_and_stays(tmp_path):
    run = tiny_run(
        tmp_path,
        training={"steps": 10, "checkpoint": {"every": 2, "keep": 1}},
        validation={"every": 2},
    )
    train(run, validating(3.0, 2.0, 2.5, 2.0, 4.0))
    assert checkpoints.best_step(run.checkpoints) == 4 and checkpoints.steps(run.checkpoints) == [
        4,
        10,
    ]
    assert json.loads((run.checkpoints / "best.json").read_text()) == {
        "step": 4,
        "by": "loss",
        "value": 2.0,
    }
    assert [checkpoint.step for checkpoint in checkpoints.choose(run.checkpoints, "best")] == [4]


def test_the_best_has_a_checkpoint_also_between_those_that_are_due(tmp_path):
    run = tiny_run(tmp_path, training={"steps": 10}, validation={"every": 3})
    train(run, validating(3.0, 2.0, 2.5, 2.6))
    assert (
        checkpoints.steps(run.checkpoints) == [3, 6, 10]
        and checkpoints.best_step(run.checkpoints) == 6
    )


def test_a_step_is_written_once(tmp_path, monkeypatch):
    run = tiny_run(
        tmp_path, training={"steps": 4, "checkpoint": {"every": 2}}, validation={"every": 2}
    )
    write, written = checkpoints.write, []
    monkeypatch.setattr(
        checkpoints,
        "write",
        lambda folder, *, step, **given: (written.append(step), write(folder, step=step, **given))[
            1
        ],
    )
    train(run, validating(3.0, 2.0))
    assert written == [2, 4]


def test_bleu_is_better_when_higher(tmp_path):
    validation = {"every": 2, "best_by": "bleu", "bleu_pairs": ["de-en"]}
    run = tiny_run(tmp_path, training={"steps": 6}, validation=validation)
    train(run, validating(10.0, 30.0, 20.0, by="bleu"))
    assert checkpoints.best_step(run.checkpoints) == 4


@pytest.mark.parametrize(
    ("values", "patience", "end"),
    [
        ([5.0, 4.0, 4.5, 4.4, 4.3, 1.0], 3, 10),
        ([5.0, 4.0, 4.5, 4.4, 3.9, 1.0], 3, 12),
        ([1.0, 1.0], 1, 4),
        ([5.0, 4.0, 3.0, 2.0, 1.5, 1.0], 1, 12),
    ],
)
def test_it_stops_when_patience_is_out(values, patience, end, tmp_path):
    run = tiny_run(tmp_path, training={"steps": 12}, validation={"every": 2, "patience": patience})
    trainer = train(run, validating(*values))
    assert trainer.progress.step == end and not trainer.interrupted
    assert checkpoints.steps(run.checkpoints)[-1] == end, "the end has a checkpoint"
    assert checkpoints.best_step(run.checkpoints) == 2 * (values.index(min(values[: end // 2])) + 1)


def test_patience_is_counted_over_a_resume(tmp_path):
    run = tiny_run(tmp_path, training={"steps": 12}, validation={"every": 2, "patience": 2})
    train(run, validating(1.0, 2.0), stop_after=5)
    assert train(Run.open(run.path), validating(3.0)).progress.step == 6
    assert train(Run.open(run.path), validating()).progress.step == 6, "and stays stopped"


@pytest.mark.parametrize("by", ["loss", "bleu"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_number_is_never_the_best(by, value):
    progress = Progress()
    assert not progress.record_validation(by=by, value=value) and progress.without_better == 1
    assert progress.record_validation(by=by, value=3.0) and progress.without_better == 0
    assert not progress.record_validation(by=by, value=value) and progress.without_better == 1
    assert progress.record_validation(by=by, value=2.0 if by == "loss" else 4.0)
    assert not progress.record_validation(by=by, value=progress.best["value"]), (
        "as good is not better"
    )


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_validation_that_is_no_number_is_null_in_the_log(value, tmp_path):
    """And the run goes on, also after a stop; the best is still the one that was."""
    run = tiny_run(tmp_path, training={"steps": 8}, validation={"every": 2})
    train(run, validating(value, 2.0, value), stop_after=6)
    train(Run.open(run.path), validating(3.0))
    assert [(line["value"], line["losses"]["de-en"], line["best"]) for line in lines(run, "validation")] == [
        (None, None, False), (2.0, 2.0, True), (None, None, False), (3.0, 3.0, False)
    ]  # fmt: skip
    assert checkpoints.best_step(run.checkpoints) == 4


def test_another_measure_begins_anew():
    progress = Progress(best={"step": 3, "by": "loss", "value": 2.5})
    assert progress.record_validation(by="bleu", value=0.3) and not progress.record_validation(
        by="bleu", value=0.2
    )


def test_a_mark_that_is_missing_is_made_up_for(tmp_path):
    """Who is killed between the checkpoint and its mark loses nothing by it."""
    run = tiny_run(
        tmp_path, training={"steps": 4, "checkpoint": {"every": 1}}, validation={"every": 2}
    )
    train(run, validating(3.0, 2.0))
    checkpoints.mark_best(run.checkpoints, {"step": 2, "by": "loss", "value": 3.0})
    train(Run.open(run.path), validating())
    assert checkpoints.best_step(run.checkpoints) == 4


def test_without_validation_text_the_newest_is_the_best(tmp_path):
    run = tiny_run(tmp_path, validation={"every": 2, "patience": 1})
    train(run)
    assert [checkpoint.step for checkpoint in checkpoints.choose(run.checkpoints, "best")] == [6]


# A loss that is no number ------------------------------------------------------------------------------------------------


def poison(trainer, component="encoder.de", value=math.nan):
    def act():
        with torch.no_grad():
            next(iter(trainer.parameters[component].values())).fill_(value)

    return act


def test_a_loss_that_is_no_number_stops_and_keeps_the_last_good_checkpoint(tmp_path):
    run = tiny_run(
        tmp_path, schedule={"pairs": ["de-en"]}, training={"steps": 20, "checkpoint": {"every": 3}}
    )
    trainer = make_trainer(run)
    at_step(trainer, 5, poison(trainer))
    with pytest.raises(TrainingError) as error:
        trainer.train()
    sentence = str(error.value)
    assert re.match(
        r"step 5, task de-en: the loss is no longer a number \(translation nan, bridge nan\); batch of [48] sentences: ",
        sentence,
    )
    named = re.findall(r"train\.de \+ \S*train\.en, line (\d+)", sentence)
    assert len(named) == 4 and all(1 <= int(number) <= 60 for number in named)
    assert (
        "the last good checkpoint is step 3; try a lower learning rate or a smaller training.clip_norm"
        in sentence
    )
    assert checkpoints.steps(run.checkpoints) == [3]
    assert Translator.load(run).translate(["ein Hund"], source="de", target="en")
    assert all(
        tensor.isfinite().all()
        for name in trainer.parameters
        for tensor in checkpoints.choose(run.checkpoints, "last")[0].component(name).values()
    )
    train(Run.open(run.path), stop_after=6)


def test_the_sentences_named_are_those_of_the_batch(tmp_path):
    run = tiny_run(tmp_path, schedule={"pairs": ["de-en"]}, training={"steps": 20})
    trainer, twin = make_trainer(run), make_trainer(run)
    at_step(trainer, 3, poison(trainer))
    for _ in range(3):
        taken = twin.streams["de-en"].take()
    with pytest.raises(TrainingError, match="there is no checkpoint yet") as error:
        trainer.train()
    expected = [row + 1 for row in taken[:4].tolist()]
    assert [int(number) for number in re.findall(r"line (\d+)", str(error.value))] == expected


def test_the_sentences_named_are_those_of_the_batch_also_where_a_task_is_drawn_twice(tmp_path):
    run = tiny_run(
        tmp_path, schedule={"pairs": ["de-en"], "tasks_per_update": 2}, training={"steps": 20}
    )
    trainer, twin = make_trainer(run), make_trainer(run)
    at_step(trainer, 2, poison(trainer))
    for _ in range(3):  # two of the step before, and the first of this one
        taken = twin.streams["de-en"].take()
    with pytest.raises(TrainingError, match="step 2, task de-en: the loss") as error:
        trainer.train()
    expected = [row + 1 for row in taken[:4].tolist()]
    assert [int(number) for number in re.findall(r"line (\d+)", str(error.value))] == expected


def test_a_gradient_that_is_no_number_stops_before_a_checkpoint_holds_it(tmp_path, monkeypatch):
    """The loss may still be fine when the way back is not; the parameters are spoilt all the same."""
    run = tiny_run(
        tmp_path, schedule={"pairs": ["de-en"]}, training={"steps": 20, "checkpoint": {"every": 1}}
    )
    trainer = make_trainer(run)
    handle = []
    at_step(
        trainer,
        4,
        lambda: handle.append(
            trainer.model.bridge.hidden.weight.register_hook(lambda gradient: gradient * math.inf)
        ),
    )
    with pytest.raises(
        TrainingError,
        match="step 4, task de-en: the gradient is no longer a number .*the last good checkpoint is step 3",
    ):
        trainer.train()
    assert checkpoints.steps(run.checkpoints) == [1, 2, 3]


def test_parameters_that_are_no_numbers_are_not_validated(tmp_path):
    """The step's own loss and gradient may be fine: the optimizer is what spoils them."""
    run = tiny_run(
        tmp_path, training={"steps": 20, "checkpoint": {"every": 1}}, validation={"every": 4}
    )
    trainer = make_trainer(run, lambda model: lambda: pytest.fail("looked at held-out text"))
    at_step(
        trainer,
        4,
        lambda: trainer.optimizer.optimizer.register_step_post_hook(
            lambda *_: poison(trainer, "encoder.en")()
        ),
    )
    with pytest.raises(TrainingError) as error:
        trainer.train()
    expected = "step 4: the parameters of encoder.en are no longer numbers; the last good checkpoint is step 3"
    assert str(error.value).startswith(expected) and checkpoints.steps(run.checkpoints) == [1, 2, 3]


@pytest.mark.parametrize("validating_every", [4, 1000])
@pytest.mark.parametrize("value", [1e30, -1e30])
def test_a_step_that_diverged_does_not_push_out_the_last_good_checkpoint(
    value, validating_every, tmp_path
):
    """Its parameters are numbers still, which only the next step would show to be worth nothing."""
    run = tiny_run(
        tmp_path,
        training={"steps": 20, "checkpoint": {"every": 1, "keep": 1}},
        validation={"every": validating_every},
    )
    trainer = make_trainer(run, validating(1.0))
    at_step(
        trainer,
        4,
        lambda: trainer.optimizer.optimizer.register_step_post_hook(
            lambda *_: poison(trainer, "encoder.en", value)()
        ),
    )
    sentence = r"step 4: training has diverged, the parameters of encoder.en grew to 1.0e\+30; the last good checkpoint is step 3"
    with pytest.raises(TrainingError, match=sentence):
        trainer.train()
    assert checkpoints.steps(run.checkpoints) == [3] and not lines(run, "validation")


@pytest.mark.parametrize("rate", [1e38, 1e39])
def test_a_learning_rate_that_is_far_too_high(rate, tmp_path):
    """Whatever happens, no checkpoint holds anything but numbers."""
    run = tiny_run(
        tmp_path,
        optimizer={"type": "sgd", "learning_rate": rate},
        training={"steps": 30, "clip_norm": None, "checkpoint": {"every": 1}},
    )
    with pytest.raises(TrainingError, match="no longer (a number|numbers)|training has diverged"):
        train(run)
    for checkpoint in (
        checkpoints.choose(run.checkpoints, "average:9")
        if checkpoints.steps(run.checkpoints)
        else ()
    ):
        for name in ("bridge", "encoder.de", "decoder.en", "encoder.en"):
            assert all(tensor.isfinite().all() for tensor in checkpoint.component(name).values())


# Speed -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("log_every", [1, 3])
def test_speed_is_that_of_training_alone(log_every, tmp_path, monkeypatch):
    """Whatever else took time: looking at held-out text, writing checkpoints; also after a resume."""
    steps = 6
    sections = {
        "training": {"steps": steps, "log_every": log_every, "checkpoint": {"every": 1}},
        "validation": {"every": 1},
    }
    run = tiny_run(tmp_path, **sections)
    write = checkpoints.write
    monkeypatch.setattr(
        checkpoints, "write", lambda *given, **named: (time.sleep(0.1), write(*given, **named))[1]
    )
    slow = lambda model: lambda: (time.sleep(0.1), ValidationResult({"de-en": 1.0}))[1]  # noqa: E731
    train(run, slow, stop_after=3)
    progress = train(Run.open(run.path), slow).progress
    training = lines(run, "training")
    assert [line["step"] for line in training] == list(range(log_every, steps + 1, log_every))
    spent = [log_every / line["steps_per_second"] for line in training]
    assert sum(spent) == pytest.approx(progress.seconds, abs=1e-6) and training[-1][
        "seconds"
    ] == round(progress.seconds, 2)
    tokens = [sum(task["tokens"] for task in line["tasks"].values()) for line in training]
    assert tokens == pytest.approx(
        [line["tokens_per_second"] * seconds for line, seconds in zip(training, spent)]
    )


# A disk that is full -----------------------------------------------------------------------------------------------------


def test_a_full_disk_ends_training_and_keeps_the_last_good_checkpoint(tmp_path, monkeypatch):
    run = tiny_run(tmp_path, training={"steps": 20, "checkpoint": {"every": 3}})
    trainer = make_trainer(run)

    def full(*_):
        raise OSError(28, "No space left on device")

    at_step(trainer, 5, lambda: monkeypatch.setattr(checkpoints, "write_synced", full))
    with pytest.raises(
        CheckpointError,
        match="step-00000006: the checkpoint cannot be written: No space left on device; the last good one is step 3",
    ):
        trainer.train()
    monkeypatch.undo()
    assert train(Run.open(run.path)).progress.step == 20


# Ctrl-C ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", TERMINATION_SIGNALS)
def test_a_signal_finishes_the_step_and_leaves_a_checkpoint(number, tmp_path):
    run = tiny_run(tmp_path, training={"steps": 50})
    trainer = make_trainer(run)
    handlers = [signal.getsignal(each) for each in TERMINATION_SIGNALS]
    at_step(trainer, 4, lambda: signal.raise_signal(number))
    trainer.train()
    assert trainer.interrupted and trainer.progress.step == 4
    assert checkpoints.steps(run.checkpoints) == [4]
    assert [signal.getsignal(each) for each in TERMINATION_SIGNALS] == handlers


def test_a_signal_that_is_not_meant_stays_unheard(tmp_path):
    """As the end of the terminal is for `nohup polyglot train`."""
    trainer = make_trainer(tiny_run(tmp_path, training={"steps": 6}))
    at_step(trainer, 4, lambda: signal.raise_signal(signal.SIGHUP))
    with signal_handler([signal.SIGHUP], signal.SIG_IGN):
        trainer.train()
    assert not trainer.interrupted and trainer.progress.step == 6


def test_a_polite_end_does_not_let_a_ctrl_c_be_heard_that_is_not_meant(tmp_path):
    """In the background: it could break into the checkpoint that is being written."""
    trainer = make_trainer(tiny_run(tmp_path, training={"steps": 50}))
    at_step(
        trainer,
        4,
        lambda: (signal.raise_signal(signal.SIGTERM), signal.raise_signal(signal.SIGINT)),
    )
    with signal_handler([signal.SIGINT], signal.SIG_IGN):
        trainer.train()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    assert trainer.interrupted == signal.SIGTERM and trainer.progress.step == 4


def test_a_second_one_does_not_wait(tmp_path):
    run = tiny_run(tmp_path, training={"steps": 50, "checkpoint": {"every": 2}})
    trainer = make_trainer(run)
    at_step(
        trainer, 4, lambda: (signal.raise_signal(signal.SIGINT), signal.raise_signal(signal.SIGINT))
    )
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    assert checkpoints.steps(run.checkpoints) == [2]
    assert train(Run.open(run.path), stop_after=5).progress.step == 5


@pytest.mark.parametrize("processes", [1, 2])
def test_training_whose_terminal_is_closed_leaves_a_checkpoint(processes, tmp_path):
    """Nobody can read its lines any more, and it writes some on every step."""
    config = write_config(
        tmp_path, training={"steps": 1_000_000, "log_every": 1}, validation={"every": 10**6}
    )
    command, own = [sys.executable, "-m", "polyglot", "train", str(config)], tmp_path / "run"
    terminal, side = pty.openpty()
    more = [] if processes == 1 else ["--processes", "2"]
    process = subprocess.Popen(
        [*command, *more], stderr=side, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    os.close(side)
    try:
        deadline = time.monotonic() + 120
        while not ((own / "log.jsonl").is_file() and (own / "log.jsonl").stat().st_size):
            assert process.poll() is None and time.monotonic() < deadline
            if select.select([terminal], [], [], 0.05)[0]:
                os.read(terminal, 10_000)
        os.close(terminal)
        process.send_signal(signal.SIGHUP)
        assert process.wait(60) == 129
    finally:
        process.kill()
    assert len(checkpoints.steps(own / "checkpoints")) == 1


def test_ctrl_c_of_the_program(tmp_path):
    """A process of its own: it leaves a checkpoint, ends as shells expect, says how to go on; and goes on."""
    config = write_config(
        tmp_path, training={"steps": 1_000_000, "log_every": 1}, validation={"every": 10**6}
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "polyglot", "train", str(config)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    log = tmp_path / "run" / "log.jsonl"
    try:
        deadline = time.monotonic() + 120
        while (
            not (log.is_file() and log.stat().st_size)
            and process.poll() is None
            and time.monotonic() < deadline
        ):
            time.sleep(0.05)
        with (
            pytest.raises(CheckpointError, match="another process is training this run"),
            Run.open(tmp_path / "run").lock(),
        ):
            pass
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert output == "" and "Traceback" not in errors
    assert f"polyglot train {tmp_path / 'run'} --resume" in " ".join(errors.split())
    run = Run.open(tmp_path / "run")
    (step,) = checkpoints.steps(run.checkpoints)
    assert step > 0
    assert train(run, stop_after=step + 2).progress.step == step + 2
    logged = [line["step"] for line in lines(run, "training")]
    assert logged == list(range(1, step + 3))
