"""`training.epochs`: the number of steps that draw as many sentence pairs as all tasks have."""

from __future__ import annotations

import json

import pytest

from polyglot.config.loading import check_config, load_config
from polyglot.core.errors import ConfigError
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from polyglot.training.dry_run import plan_training
from polyglot.training.training_log import RemainingTime, format_duration
from tests.builders.runs import (
    LINES,
    make_trainer,
    tiny_run,
    tiny_settings,
    train,
    write_config,
    write_corpus,
)

TASKS = 4
"""en-de, en-fr, de-en, fr-en, each with LINES sentence pairs"""


def in_epochs(epochs, **settings):
    return {"steps": None, "epochs": epochs, "log_every": 1, **settings}


def planned_steps(folder, epochs, **sections):
    write_corpus(folder)
    settings = tiny_settings(folder, training=in_epochs(epochs), **sections)
    return plan_training(check_config(settings, where="tiny")).config.training.steps


@pytest.mark.parametrize(
    ("epochs", "sections", "steps"),
    [
        (1, {}, TASKS * LINES / 7.5),  # 60 sentences are 8 batches of 8
        (2.5, {}, 2.5 * TASKS * LINES / 7.5),
        (1, {"batching": {"size": 10}}, TASKS * LINES / 10),
        (1, {"batching": {"size": 10}, "schedule": {"tasks_per_update": 3}}, TASKS * LINES / 30),
        (0.001, {}, 1),
        # a copy is a task of its own
        (1, {"batching": {"size": 10}, "schedule": {"copies": ["de"]}}, 5 * LINES / 10),
    ],
)
def test_number_of_steps(tmp_path, epochs, sections, steps):
    assert planned_steps(tmp_path, epochs, **sections) == pytest.approx(steps, abs=0.99)


def test_tasks_of_different_sizes(tmp_path):
    """de-fr has 5 sentences in batches of 5, the others 60 in batches of 10."""
    write_corpus(tmp_path)
    for language in ("de", "fr"):
        lines = (tmp_path / f"train.{language}").read_text().splitlines()[:5]
        (tmp_path / f"few.{language}").write_text("\n".join(lines) + "\n")
    settings = tiny_settings(
        tmp_path,
        training=in_epochs(2),
        batching={"size": 10},
        schedule={"type": "uniform", "pairs": ["en-de", "de-fr"]},
    )
    settings["data"]["train"] = [
        {"type": "text", "pairs": {"en-de": ["train.en", "train.de"]}},
        {"type": "text", "pairs": {"de-fr": ["few.de", "few.fr"]}},
    ]
    config = check_config(settings, where="tiny")
    assert plan_training(config).config.training.steps == 18  # 130 pairs, 7.5 a step
    settings["schedule"]["type"] = "proportional"
    config = check_config(settings, where="tiny")
    assert plan_training(config).config.training.steps == 14  # 9.6 a step


def test_phases_count_with_their_tasks(tmp_path):
    """The copy of `few` sentences trains alone in the first ten steps."""
    phases = [{"until_step": 10, "pairs": ["en-de"]}]
    steps = planned_steps(
        tmp_path,
        1,
        batching={"size": 10},
        schedule={"phases": phases, "tasks_per_update": 2},
    )
    assert steps == TASKS * LINES / 20


def test_the_run_stores_its_steps_and_resumes_exactly(tmp_path, caplog):
    caplog.set_level("INFO", logger="polyglot")
    settings = {"training": in_epochs(0.25), "batching": {"size": 10}}
    whole = train(tiny_run(tmp_path, "whole", **settings))
    assert "training.epochs 0.25: 6 steps; an epoch has 240 sentence pairs" in caplog.text
    assert whole.progress.step == 6
    stored = Run.open(tmp_path / "whole").config.training
    assert (stored.steps, stored.epochs) == (6, 0.25)

    train(tiny_run(tmp_path, "parts", **settings), stop_after=2)
    resumed = train(Run.open(tmp_path / "parts"))
    assert resumed.progress.step == 6
    for name, tensor in whole.model.state_dict().items():
        assert tensor.equal(resumed.model.state_dict()[name])


def test_more_epochs_or_steps_of_a_resumed_run(tmp_path):
    run = tiny_run(tmp_path, training=in_epochs(0.25), batching={"size": 10})
    train(run)
    longer = Run.open_with_overrides(run.path, ["training.epochs=0.5"])
    assert longer.config.training.steps is None
    assert make_trainer(longer).settings.steps == 12
    in_steps = Run.open_with_overrides(run.path, ["training.steps=8"])
    assert in_steps.config.training.epochs is None
    # more text does not change a run that has begun
    with (tmp_path / "train.en").open("a") as english, (tmp_path / "train.de").open("a") as german:
        english.write("one\n" * 60)
        german.write("ein\n" * 60)
    with (tmp_path / "train.fr").open("a") as french:
        french.write("un\n" * 60)
    assert make_trainer(Run.open(run.path)).settings.steps == 6


def test_shorter_than_the_checkpoint(tmp_path):
    run = tiny_run(tmp_path, training=in_epochs(0.25), batching={"size": 10})
    train(run)
    assert checkpoints.steps(run.checkpoints) == [6]
    with pytest.raises(Exception, match="the run is already past training.steps 3"):
        make_trainer(Run.open_with_overrides(run.path, ["training.epochs=0.1"]))


def test_an_override_replaces_the_other_length(tmp_path):
    path = write_config(tmp_path)
    training = load_config(path, ["training.epochs=3"]).training
    assert (training.steps, training.epochs) == (None, 3)
    path = write_config(tmp_path, training=in_epochs(3))
    training = load_config(path, ["training.steps=3"]).training
    assert (training.steps, training.epochs) == (3, None)


@pytest.mark.parametrize(
    ("training", "overrides", "message"),
    [
        ({"epochs": 2}, [], "training.epochs: steps and epochs both set the length of the run"),
        ({}, ["training.epochs=2", "training.steps=2"], "keep exactly one of them"),
        ({"steps": None}, [], "training.steps: missing; it has no default: write steps, or epochs"),
        (in_epochs(0), [], "training.epochs: found 0; expected more than 0"),
        (in_epochs(2), ["data.train.0.streaming=true"], "which is not known for streamed text"),
    ],
)
def test_a_length_that_cannot_be_meant(tmp_path, training, overrides, message):
    path = write_config(tmp_path, training=training)
    with pytest.raises(ConfigError, match=message):
        load_config(path, overrides)


def test_lines_of_the_log_have_the_remaining_time(tmp_path, caplog):
    caplog.set_level("INFO", logger="polyglot")
    run = tiny_run(tmp_path, training={"steps": 3, "log_every": 1})
    train(run)
    lines = [json.loads(line) for line in run.log.read_text().splitlines()]
    remaining = [line["remaining_seconds"] for line in lines if line["kind"] == "training"]
    assert remaining[-1] == 0
    assert all(seconds >= 0 for seconds in remaining)  # a fast machine needs less than 0.05 s
    texts = [message for message in caplog.messages if message.startswith("step ")]
    assert " tokens/s · 0:00:0" in texts[0]
    assert " left · " in texts[0]
    assert "left" not in texts[2]


def test_remaining_time_counts_what_is_not_training(monkeypatch):
    clock = iter([100.0, 130.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    remaining = RemainingTime(steps=50, start=10, seconds=5.0)
    # 10 steps in 20 s of training, and 10 s of validation
    assert remaining.estimate(20, seconds=25.0, steps_per_second=0.5) == 30 * 3.0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0:00:00"), (59.6, "0:01:00"), (3723, "1:02:03"), (2 * 86400 + 61, "2 d 0:01:01")],
)
def test_durations(seconds, text):
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("parallel", "steps"),
    [({"tasks": "mixed"}, 12), ({"tasks": "same"}, 12), ({"placement": "partitioned"}, 12)],
)
def test_all_processes_count_together(tmp_path, parallel, steps):
    """240 sentence pairs, ten in each of the two batches of a step."""
    write_corpus(tmp_path)
    settings = tiny_settings(
        tmp_path,
        training=in_epochs(1),
        batching={"size": 10},
        parallel=parallel,
    )
    plan = plan_training(check_config(settings, where="tiny"), 2)
    assert plan.config.training.steps == steps
