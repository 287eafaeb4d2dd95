"""Resuming: a stopped and resumed run equals, bit for bit, a run that never stopped."""

from __future__ import annotations

import json
import re
import shutil
from functools import partial
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator

from polyglot.core.errors import CheckpointError, ConfigError, DataError
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from polyglot.training import build
from polyglot.training.validation import ValidationResult, Validator
from tests.builders.runs import make_trainer, tiny_run, train

STEPS = 12
BASE = {
    "training": {"steps": STEPS},
    "validation": {"every": 4},
    "batching": {"size": 24},  # an epoch has three batches
}
ONEHOT = {"type": "roles", "roles": 3, "assignment": "onehot"}
SECTIONS = {
    "adam": {},
    "dropout": {
        "model": {
            "embedding": {"dropout": 0.3},
            "encoder": {"layers": 2, "dropout": 0.3},
            "decoder": {
                "type": "gru",
                "size": 16,
                "layers": 2,
                "dropout": 0.3,
                "input_feeding": True,
            },
        }
    },
    "momentum": {
        "optimizer": {"type": "sgd", "learning_rate": 0.1, "momentum": 0.9, "weight_decay": 0.01}
    },
    "sgd": {
        "optimizer": {"type": "sgd", "learning_rate": 0.5},
        "learning_rate_schedule": {"type": "step_decay", "start": 4, "every": 3},
    },
    "adamw": {
        "optimizer": {"type": "adamw", "weight_decay": 0.1},
        "learning_rate_schedule": {"type": "cosine", "warmup": 3},
    },
    "muon": {
        "optimizer": {"type": "muon", "learning_rate": 0.01},
        "learning_rate_schedule": {"type": "cosine", "warmup": 3},
    },
    "several tasks": {
        "schedule": {"copies": True, "tasks_per_update": 3},
        "model": {"embedding": {"tie_sides": True}},
    },
    "phases": {
        "schedule": {
            "type": "temperature",
            "copies": True,
            "phases": [{"until_step": 5, "copies": True}, {"from_step": 5, "pairs": ["de-en"]}],
        }
    },
    "options": {
        "model": {
            "options": {
                "encoder": [ONEHOT, {"type": "latent_graph", "temperature": {"every": 3}}],
                "decoder": [{**ONEHOT, "temperature": {"decay": 0.5}}, "context_gate"],
            }
        }
    },
    "half precision": {"training": {"precision": "bf16"}, "model": {"bridge": "none"}},
    "streamed": {
        "data": {"train": [{"type": "text", "path": "train.{language}", "streaming": True}]},
        "batching": {"size": 8, "buffer": 20},
        "schedule": {"copies": True, "tasks_per_update": 2},
    },
    "tokens": {"batching": {"by": "tokens", "size": 60, "pool": 2}, "training": {"clip_norm": 0.1}},
}
"""settings of each kind of run, laid over BASE"""


def sections(kind, **changes):
    """Sections of the configuration of a kind of run; `changes` replace values of a section."""
    result = {name: dict(section) for name, section in BASE.items()}
    for layer in (SECTIONS[kind], changes):
        for name, section in layer.items():
            result[name] = {**result.get(name, {}), **section}
    return result


def validator(model, *, passes=0):
    """Validator that draws random numbers, and whose result gets worse after the second pass.

    passes: validation passes before this start of the run.
    """

    def validate():
        nonlocal passes
        passes += 1
        assert not model.training
        torch.rand(7)
        losses = {1: 3.0, 2: 2.0}
        return ValidationResult({"de-en": losses.get(passes, 5.0)})

    return validate


class NeverStopped:
    """Runs that never stopped, trained once for each kind."""

    def __init__(self, make_folder):
        self._make_folder = make_folder
        self._runs = {}

    def get(self, kind, *, validate=True):
        key = (kind, validate)
        if key not in self._runs:
            changes = {} if validate else {"validation": {"every": 1000}}
            run = tiny_run(self._make_folder(), "straight", **sections(kind, **changes))
            train(run, validator if validate else no_validation)
            self._runs[key] = run
        return self._runs[key]


def no_validation(model):
    return None


@pytest.fixture(scope="module")
def never_stopped(tmp_path_factory):
    return NeverStopped(lambda: tmp_path_factory.mktemp("straight"))


def last_checkpoint(run):
    [checkpoint] = checkpoints.choose(run.checkpoints, "last")
    return checkpoint


def tensors_of(run):
    """All tensors of the last checkpoint, of components and of the optimizer, by name."""
    checkpoint = last_checkpoint(run)
    assert checkpoint.step == STEPS
    tensors = {}
    for component in checkpoint.components:
        for name, tensor in checkpoint.component(component).items():
            tensors[f"{component}/{name}"] = tensor
    for name, tensor in checkpoint.training_tensors().items():
        tensors[f"optimizer/{name}"] = tensor
    return tensors


def state_of(run):
    """Training state of the last checkpoint, without the time."""
    state = last_checkpoint(run).training_state()
    del state["progress"]["seconds"]
    return state


def check_equal(run, expected_run):
    """Compare the last checkpoints bit for bit."""
    tensors = tensors_of(run)
    expected = tensors_of(expected_run)
    assert tensors.keys() == expected.keys()
    different = [name for name in expected if not torch.equal(tensors[name], expected[name])]
    assert different == []
    assert state_of(run) == state_of(expected_run)


def log_lines(run, kind="training"):
    lines = [json.loads(line) for line in run.log.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line["kind"] == kind]


def logged_steps(run, kind="training"):
    return [line["step"] for line in log_lines(run, kind)]


def logged_losses(run):
    return [(line["step"], line["loss"], line["tasks"]) for line in log_lines(run)]


# A run that stopped ------------------------------------------------------------------------------


SLOW_KINDS = {
    "sgd": "momentum",
    "muon": "adamw",
    "tokens": "adam",
    "half precision": "adam",
}
"""kinds of `make test-slow`, each with the most similar one of `make test`"""
KINDS = []
for name in SECTIONS:
    KINDS.append(pytest.param(name, marks=pytest.mark.slow if name in SLOW_KINDS else ()))


@pytest.mark.parametrize("kind", KINDS)
def test_a_resumed_run_equals_one_that_never_stopped(kind, never_stopped):
    expected = never_stopped.get(kind)
    run = tiny_run(expected.path.parent, "stopped", **sections(kind))
    train(run, validator, stop_after=4)  # at a validation
    train(Run.open(run.path), partial(validator, passes=1), stop_after=7)  # inside an epoch
    assert checkpoints.steps(run.checkpoints)[-1] == 7
    train(Run.open(run.path), partial(validator, passes=1))
    check_equal(run, expected)


def test_a_run_that_stops_at_every_step_equals_one_that_never_stopped(never_stopped):
    expected = never_stopped.get("streamed", validate=False)
    folder = expected.path.parent
    run = tiny_run(folder, "every", **sections("streamed", validation={"every": 1000}))
    for step in range(1, STEPS):
        train(Run.open(run.path), stop_after=step)
        assert checkpoints.steps(run.checkpoints)[-1] == step
    train(Run.open(run.path))
    check_equal(run, expected)


def test_a_run_that_failed_resumes_from_its_last_checkpoint(never_stopped):
    expected = never_stopped.get("dropout", validate=False)
    changes = {"training": {"checkpoint": {"every": 3}}, "validation": {"every": 1000}}
    run = tiny_run(expected.path.parent, "failed", **sections("dropout", **changes))
    trainer = make_trainer(run)
    update = trainer.update

    def fail_after_seven_steps():
        if trainer.progress.step == 7:
            raise MemoryError
        return update()

    trainer.update = fail_after_seven_steps
    with pytest.raises(MemoryError):
        trainer.train()
    assert checkpoints.steps(run.checkpoints) == [3, 6]
    assert logged_steps(run)[-1] == 7

    train(Run.open(run.path))
    check_equal(run, expected)
    assert logged_losses(run) == logged_losses(expected)  # with one line for step 7
    assert logged_steps(run, "checkpoint") == [3, 6, 9, 12]


def test_a_finished_run_is_not_changed(tmp_path):
    run = tiny_run(tmp_path)
    train(run)
    before = modification_times(run.checkpoints.rglob("*"))
    train(Run.open(run.path))
    assert modification_times(run.checkpoints.rglob("*")) == before


def modification_times(paths):
    return {path: path.stat().st_mtime_ns for path in paths}


def test_two_runs_with_the_same_seed_are_equal_and_another_seed_differs(tmp_path):
    losses = {}
    for name, seed in (("first", 1), ("again", 1), ("other", 2)):
        run = tiny_run(tmp_path, name, seed=seed)
        train(run)
        losses[name] = logged_losses(run)
    assert losses["first"] == losses["again"]
    assert losses["first"] != losses["other"]


@pytest.mark.parametrize("seed", [0, 2**32, 2**64 - 1])
def test_every_valid_seed_trains(seed, tmp_path):
    assert train(tiny_run(tmp_path, seed=seed)).progress.step == 6


# Half precision ----------------------------------------------------------------------------------


def scaling_accelerator(*, init_scale=2.0**16, growth_interval=2000, **settings):
    """Accelerator that scales losses as for fp16, which a machine without a GPU does not have."""
    accelerator = Accelerator(**settings)
    accelerator.scaler = torch.amp.GradScaler(
        "cpu", init_scale=init_scale, growth_interval=growth_interval
    )
    return accelerator


def test_the_scaler_continues_with_its_scale_and_its_count_of_steps(tmp_path, monkeypatch):
    accelerator = partial(scaling_accelerator, init_scale=8.0, growth_interval=3)
    monkeypatch.setattr(build, "Accelerator", accelerator)
    settings = sections("adam", validation={"every": 1000})
    expected = tiny_run(tmp_path, "straight", **settings)
    scaler = train(expected).accelerator.scaler
    assert scaler.get_scale() == 8.0 * 2 ** (STEPS // 3)

    run = tiny_run(tmp_path, "stopped", **settings)
    train(run, stop_after=4)
    train(run, stop_after=8)
    resumed = train(run).accelerator.scaler
    assert resumed.state_dict() == scaler.state_dict()
    check_equal(run, expected)


def test_a_run_may_change_its_precision(tmp_path, monkeypatch):
    run = tiny_run(tmp_path, training={"steps": STEPS})
    train(run, stop_after=4)
    with monkeypatch.context() as half_precision:
        half_precision.setattr(build, "Accelerator", scaling_accelerator)
        train(run, stop_after=8)
    train(run)
    assert checkpoints.steps(run.checkpoints)[-1] == STEPS


# The log -----------------------------------------------------------------------------------------


def test_the_log_of_a_resumed_run_equals_that_of_one_that_never_stopped(tmp_path):
    training = {"steps": STEPS, "checkpoint": {"every": 5}}
    expected = tiny_run(tmp_path, "straight", training=training)
    train(expected)

    run = tiny_run(tmp_path, "stopped", training=training)
    train(run, stop_after=3)
    train(run, stop_after=8)
    train(run)
    assert logged_losses(run) == logged_losses(expected)
    assert logged_steps(run) == list(range(1, STEPS + 1))


@pytest.mark.parametrize(
    "rest", ['{"kind": "training", "step": 3, "tasks": {"de-en": {"tokens": 5}', '{"kind', "\0\0"]
)
def test_an_incomplete_line_of_the_log_is_removed(rest, tmp_path):
    run = tiny_run(tmp_path, training={"steps": 4})
    train(run, stop_after=2)
    with run.log.open("a", encoding="utf-8") as file:
        file.write(rest)
    train(Run.open(run.path))
    assert logged_steps(run) == [1, 2, 3, 4]


def test_a_log_that_cannot_be_shortened_is_not_changed(tmp_path, monkeypatch):
    run = tiny_run(tmp_path)
    train(run, stop_after=3)
    with run.log.open("a", encoding="utf-8") as file:
        file.write('{"kind": "training", "step": 4}\n')
    before = run.log.read_bytes()
    trainer = make_trainer(Run.open(run.path))
    replace = Path.replace

    def fail_for_the_log(path, target):
        if target == run.log:
            raise OSError(28, "No space left on device")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", fail_for_the_log)
    message = "log.jsonl: cannot be written: No space left on device"
    with pytest.raises(CheckpointError, match=message):
        trainer.train()
    assert run.log.read_bytes() == before


# Settings and text that changed ------------------------------------------------------------------


def test_a_run_with_more_steps_equals_one_that_had_them_from_the_start(tmp_path):
    """With a constant learning rate."""
    long = tiny_run(tmp_path, "long", training={"steps": STEPS})
    train(long)
    short = tiny_run(tmp_path, "short", training={"steps": 5})
    train(short)
    train(Run.open_with_overrides(short.path, [f"training.steps={STEPS}"]))
    check_equal(short, long)


def test_fewer_steps_than_trained_are_an_error(tmp_path):
    run = tiny_run(tmp_path)
    train(run, stop_after=4)
    message = "the run is already past training.steps 3; choose a larger number of steps"
    with pytest.raises(CheckpointError, match=message):
        make_trainer(Run.open_with_overrides(run.path, ["training.steps=3"]))


def test_another_batch_size_is_a_warning(tmp_path, caplog):
    warning = "batching has changed since this checkpoint"
    run = tiny_run(tmp_path, training={"steps": 30}, schedule={"pairs": ["de-en"]})
    train(run, stop_after=6)
    train(Run.open(run.path), stop_after=7)
    assert warning not in caplog.text

    train(Run.open_with_overrides(run.path, ["batching.size=30"]))
    assert caplog.text.count(warning) == 1
    assert checkpoints.steps(run.checkpoints)[-1] == 30


def test_another_buffer_of_streamed_text_is_a_warning(tmp_path, caplog):
    run = tiny_run(tmp_path, **SECTIONS["streamed"])
    train(run, stop_after=3)
    make_trainer(Run.open(run.path))
    assert "in memory" not in caplog.text

    make_trainer(Run.open_with_overrides(run.path, ["batching.buffer=30"]))
    [warning] = [record.message for record in caplog.records if "in memory" in record.message]
    pattern = (
        r"step-00000003: the pool of sentences of \S.* in memory has changed, because data, filter "
        r"or batching have changed; .* and sentences that were already trained on are repeated$"
    )
    assert re.search(pattern, warning)


def test_another_training_text_is_a_warning(tmp_path, caplog):
    run = tiny_run(tmp_path)
    train(run, stop_after=3)
    path = tmp_path / "train.de"
    text = path.read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")  # another date, but the same text
    make_trainer(Run.open(run.path))
    assert "training text" not in caplog.text

    path.write_text(text.replace("Hund", "Katze"), encoding="utf-8")
    make_trainer(Run.open(run.path))
    [warning] = [record.message for record in caplog.records if "training text" in record.message]
    expected = "step-00000003: the training text of en-de, de-en has changed since this checkpoint"
    assert expected in warning


def test_an_old_checkpoint_without_fingerprints_resumes_without_a_warning(
    tmp_path, caplog, monkeypatch
):
    run = tiny_run(tmp_path)
    train(run, stop_after=3)
    trainer = make_trainer(Run.open(run.path))
    checkpoint = last_checkpoint(run)
    state = checkpoint.training_state()
    del state["data"]
    monkeypatch.setattr(checkpoints.Checkpoint, "training_state", lambda self: state)
    trainer.resume(checkpoint)
    assert "training text" not in caplog.text
    monkeypatch.undo()
    assert train(Run.open(run.path)).progress.step == 6


def test_another_optimizer_is_an_error(tmp_path):
    run = tiny_run(tmp_path, optimizer={"type": "sgd", "momentum": 0.9})
    train(run, stop_after=3)
    message = "step-00000003: was trained with the optimizer 'sgd', .* says 'adam'"
    with pytest.raises(CheckpointError, match=message):
        make_trainer(Run.open_with_overrides(run.path, ["optimizer=adam"]))


@pytest.mark.parametrize(
    "override",
    ["model.encoder.size=8", "schedule.pairs=[de-en]", "languages=[en, de]", "model.bridge=none"],
)
def test_settings_that_a_run_was_built_from_cannot_change(override, tmp_path):
    """The configuration in the run directory is not changed by the attempt."""
    run = tiny_run(tmp_path)
    train(run, stop_after=3)
    before = (run.path / "config.yaml").read_text(encoding="utf-8")
    message = "settings that a run was built from cannot change: "
    with pytest.raises(ConfigError, match=message):
        Run.open_with_overrides(run.path, [override])
    assert (run.path / "config.yaml").read_text(encoding="utf-8") == before
    train(Run.open(run.path))


def test_a_checkpoint_of_another_run_is_an_error(tmp_path):
    run = tiny_run(tmp_path, "first")
    train(run)
    other = tiny_run(tmp_path, "other", model={"bridge": {"heads": 2}})
    message = "comes from another configuration than .*other/config.yaml"
    with pytest.raises(CheckpointError, match=message):
        make_trainer(other).resume(last_checkpoint(run))


# Vocabularies ------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["de", "fr"])
def test_a_missing_vocabulary_is_not_learnt_again_if_there_are_checkpoints(language, tmp_path):
    """The parameters are useless without it; with the file back in place, training continues."""
    run = tiny_run(tmp_path)
    train(run, stop_after=3)
    file = run.vocabulary_file(language)
    removed = file.rename(tmp_path / "elsewhere")
    text = tmp_path / "train.en"
    lines = [f"{line} more\n" for line in text.read_text().splitlines()]
    text.write_text("".join(lines))

    remaining = {path: path.read_bytes() for path in file.parent.iterdir()}
    message = f"{file}: no such file, but .*step-00000003 was trained with it; put it back"
    with pytest.raises(CheckpointError, match=message):
        make_trainer(Run.open(run.path))
    assert {path: path.read_bytes() for path in file.parent.iterdir()} == remaining

    removed.rename(file)
    train(Run.open(run.path))


def test_without_checkpoints_only_missing_vocabularies_are_learnt(tmp_path):
    """A start was interrupted after some of the vocabularies."""
    complete = tiny_run(tmp_path, "complete")
    train(complete)

    run = tiny_run(tmp_path)
    train(run, stop_after=1)
    shutil.rmtree(run.checkpoints)
    run.vocabulary_file("en").unlink()
    kept = modification_times(run.vocabulary_file("de").parent.glob("*.model"))
    assert len(kept) == 2
    train(Run.open(run.path))
    assert modification_times(kept) == kept

    checkpoint = last_checkpoint(run)
    expected = last_checkpoint(complete)
    for component in expected.components:
        for name, tensor in expected.component(component).items():
            assert torch.equal(checkpoint.component(component)[name], tensor)


def test_a_start_that_fails_saves_no_vocabulary(tmp_path):
    """The next start may have other settings, and would learn another vocabulary."""
    run = tiny_run(tmp_path, data={"valid": [{"type": "text", "path": "nowhere.{language}"}]})
    with pytest.raises(DataError, match="nowhere"):
        make_trainer(run, Validator(run))
    assert not list(run.vocabulary_file("en").parent.iterdir())
