"""A run that was stopped and goes on is bit-identical to one that never stopped: parameters, optimizer, data, log."""

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
                "encoder": [
                    {"type": "roles", "roles": 3, "assignment": "onehot"},
                    {"type": "latent_graph", "temperature": {"every": 3}},
                ],
                "decoder": [
                    {
                        "type": "roles",
                        "roles": 3,
                        "assignment": "onehot",
                        "temperature": {"decay": 0.5},
                    },
                    "context_gate",
                ],
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
EVERY = {
    "training": {"steps": STEPS},
    "validation": {"every": 4},
    "batching": {"size": 24},
}  # an epoch has three batches of 24


def sections(kind):
    own = SECTIONS[kind]
    return {key: {**EVERY.get(key, {}), **own.get(key, {})} for key in EVERY.keys() | own.keys()}


def validator(model):
    """Looks at the model and draws random numbers, as any validation may; gets worse after the second time."""
    seen = []

    def validate():
        assert not model.training
        torch.rand(7)
        seen.append(sum(parameter.sum().item() for parameter in model.parameters()))
        return ValidationResult({"de-en": {1: 3.0, 2: 2.0}.get(len(seen), 5.0)})

    return validate


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """For each kind, the run that never stopped."""
    runs = {}

    def of(kind):
        if kind not in runs:
            folder = tmp_path_factory.mktemp("straight")
            runs[kind] = folder, tiny_run(folder, "straight", **sections(kind))
            train(runs[kind][1], validator)
        return runs[kind]

    return of


def tensors_of(run):
    """Everything that is a number in the last checkpoint, by its name."""
    checkpoint = checkpoints.choose(run.checkpoints, "last")[0]
    assert checkpoint.step == STEPS
    parts = {
        file: checkpoint.component(file.removesuffix(".safetensors"))
        for file in checkpoint.manifest["files"]
        if file.endswith(".safetensors")
    }
    return {f"{file}/{key}": tensor for file, part in parts.items() for key, tensor in part.items()}


def tensors(run):
    last = checkpoints.choose(run.checkpoints, "last")[0]
    return [
        tensor
        for name in ("encoder.de", "bridge", "decoder.fr")
        for _, tensor in sorted(last.component(name).items())
    ]


def assert_same(one, other):
    """To the bit."""
    expected, found = tensors_of(one), tensors_of(other)
    assert expected.keys() == found.keys()
    assert [key for key in expected if not torch.equal(expected[key], found[key])] == []
    states = [
        checkpoints.choose(run.checkpoints, "last")[0].training_state() for run in (one, other)
    ]
    for state in states:
        del state["progress"]["seconds"]
    assert states[0] == states[1]


@pytest.mark.parametrize("kind", SECTIONS)
@pytest.mark.parametrize("stop", [4, 7])  # at a validation, in the middle of an epoch
def test_stopped_and_resumed_is_as_if_never_stopped(kind, stop, straight):
    folder, never_stopped = straight(kind)
    run = tiny_run(folder, f"stopped-{stop}", **sections(kind))
    train(run, validator, stop_after=stop)
    assert checkpoints.steps(run.checkpoints)[-1] == stop
    calls = stop // 4

    def validator_again(model):
        validate = validator(model)
        for _ in range(calls):
            model.eval()
            validate()
        return validate

    train(Run.open(run.path), validator_again)
    assert_same(never_stopped, run)


def scaling(*, init_scale=2.0**16, growth_interval=2000, **given):
    """An accelerator that scales losses as for fp16, which a machine without one does not have."""
    accelerator = Accelerator(**given)
    accelerator.scaler = torch.amp.GradScaler(
        "cpu", init_scale=init_scale, growth_interval=growth_interval
    )
    return accelerator


def test_half_precision_goes_on_with_the_scale_it_had_found(tmp_path, monkeypatch):
    """And with its count of steps since the scale last changed."""
    monkeypatch.setattr(build, "Accelerator", partial(scaling, init_scale=8.0, growth_interval=3))
    never_stopped, stopped = (
        tiny_run(tmp_path, name, **sections("adam") | {"validation": {"every": 1000}})
        for name in ("straight", "stopped")
    )
    scaler = train(never_stopped).accelerator.scaler
    assert scaler.get_scale() == 8.0 * 2 ** (STEPS // 3)
    for stop in (4, 8, None):
        resumed = train(stopped, stop_after=stop).accelerator.scaler
    assert resumed.state_dict() == scaler.state_dict()
    assert_same(never_stopped, stopped)


def test_a_scale_is_only_for_who_scales(tmp_path, monkeypatch):
    """A run may change its precision: what was found for the other one does not stand in the way."""
    run = tiny_run(tmp_path, training={"steps": STEPS})
    train(run, stop_after=4)
    with monkeypatch.context() as half:
        half.setattr(build, "Accelerator", scaling)
        train(run, stop_after=8)
    train(run)
    assert checkpoints.steps(run.checkpoints)[-1] == STEPS


@pytest.mark.parametrize("kind", ["adam", "streamed"])
def test_stopped_at_every_step(kind, straight):
    folder, never_stopped = straight(kind)
    run = tiny_run(folder, "every", **sections(kind) | {"validation": {"every": 1000}})
    other = tiny_run(folder, "other", **sections(kind) | {"validation": {"every": 1000}})
    train(other)
    for step in range(1, STEPS):
        train(Run.open(run.path), stop_after=step)
        assert checkpoints.steps(run.checkpoints)[-1] == step
    train(Run.open(run.path))
    assert_same(other, run)


def test_a_run_that_died_goes_on_from_its_last_checkpoint(straight):
    folder, never_stopped = straight("dropout")
    run = tiny_run(
        folder,
        "died",
        **sections("dropout")
        | {"training": {"steps": STEPS, "checkpoint": {"every": 3}}, "validation": {"every": 1000}},
    )
    other = tiny_run(folder, "lived", **sections("dropout") | {"validation": {"every": 1000}})
    train(other)
    trainer = make_trainer(run)
    update = trainer.update

    def dies():
        if trainer.progress.step == 7:
            raise MemoryError
        return update()

    trainer.update = dies
    with pytest.raises(MemoryError):
        trainer.train()
    assert checkpoints.steps(run.checkpoints) == [3, 6] and logged(run)[-1]["step"] == 7
    train(Run.open(run.path))
    assert_same(other, run)
    assert losses(run) == losses(other), "the lines of step 7 stand there once"
    steps = [line["step"] for line in logged(run) if line["kind"] == "checkpoint"]
    assert steps == [3, 6, 9, 12]


def logged(run):
    return [json.loads(line) for line in run.log.read_text(encoding="utf-8").splitlines()]


def losses(run):
    return [
        (line["step"], line["loss"], line["tasks"])
        for line in logged(run)
        if line["kind"] == "training"
    ]


def test_the_log_of_a_resumed_run_is_that_of_one_that_never_stopped(tmp_path):
    runs = [
        tiny_run(tmp_path, name, training={"steps": STEPS, "checkpoint": {"every": 5}})
        for name in ("straight", "stopped")
    ]
    train(runs[0])
    for stop in (3, 8, None):
        train(runs[1], stop_after=stop)
    assert losses(runs[0]) == losses(runs[1])
    assert [line["step"] for line in logged(runs[1]) if line["kind"] == "training"] == list(
        range(1, STEPS + 1)
    )


def test_a_log_that_was_cut_off_in_a_line_is_mended(tmp_path):
    run = tiny_run(tmp_path, training={"steps": 4})
    train(run, stop_after=2)
    for rest in (
        '{"kind": "training", "step": 3, "tasks": {"de-en": {"tokens": 5}',
        '{"kind": "trai',
        "\0\0\0",
    ):
        with run.log.open("a", encoding="utf-8") as file:
            file.write(rest)
        train(Run.open(run.path), stop_after=2)
    train(Run.open(run.path))
    assert [line["step"] for line in logged(run) if line["kind"] == "training"] == [1, 2, 3, 4]


def test_two_runs_with_one_seed_are_the_same_and_another_seed_is_not(tmp_path):
    runs = {
        name: tiny_run(tmp_path, name, seed=seed)
        for name, seed in (("one", 1), ("again", 1), ("other", 2))
    }
    for run in runs.values():
        train(run)
    assert losses(runs["one"]) == losses(runs["again"])
    assert losses(runs["one"]) != losses(runs["other"])


@pytest.mark.parametrize("seed", [0, 2**32, 2**64 - 1])
def test_every_seed_that_a_configuration_may_have_trains(seed, tmp_path):
    assert train(tiny_run(tmp_path, seed=seed)).progress.step == 6


def test_a_log_that_cannot_be_shortened_stays_whole(tmp_path, monkeypatch):
    run = tiny_run(tmp_path)
    train(run, stop_after=3)
    with run.log.open("a", encoding="utf-8") as file:
        file.write('{"kind": "training", "step": 4}\n')
    before = run.log.read_bytes()
    trainer = make_trainer(Run.open(run.path))
    replace = Path.replace

    def full(path, target):
        if target == run.log:
            raise OSError(28, "No space left on device")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(
        CheckpointError, match="log.jsonl: cannot be written: No space left on device"
    ):
        trainer.train()
    assert run.log.read_bytes() == before


def test_a_run_that_is_done_stays_as_it_is(tmp_path):
    run = tiny_run(tmp_path)
    train(run)
    before = {path: path.stat().st_mtime_ns for path in run.checkpoints.rglob("*")}
    train(Run.open(run.path))
    assert {path: path.stat().st_mtime_ns for path in run.checkpoints.rglob("*")} == before


def test_more_steps_than_planned(tmp_path):
    """With a constant learning rate, a run prolonged is a run that was long from the start."""
    long, short = (
        tiny_run(tmp_path, "long", training={"steps": STEPS}),
        tiny_run(tmp_path, "short", training={"steps": 5}),
    )
    train(long)
    train(short)
    train(Run.open_with_overrides(short.path, [f"training.steps={STEPS}"]))
    assert_same(long, short)


def test_fewer_steps_than_done_is_a_sentence(tmp_path):
    run = tiny_run(tmp_path)
    train(run, stop_after=4)
    with pytest.raises(
        CheckpointError, match="the run is past training.steps 3 already; name more steps than that"
    ):
        make_trainer(Run.open_with_overrides(run.path, ["training.steps=3"]))


def test_other_batches_from_now_on(tmp_path, caplog):
    """A position in the data that no longer exists is no end of the world, but is said."""
    run = tiny_run(tmp_path, training={"steps": 30}, schedule={"pairs": ["de-en"]})
    train(run, stop_after=6)
    train(Run.open(run.path), stop_after=7)
    assert "batching is not what it was" not in caplog.text
    train(Run.open_with_overrides(run.path, ["batching.size=30"]))
    assert caplog.text.count("batching is not what it was") == 1
    assert checkpoints.steps(run.checkpoints)[-1] == 30


def test_streamed_text_that_is_batched_otherwise_from_now_on_is_said(tmp_path, caplog):
    run = tiny_run(tmp_path, **SECTIONS["streamed"])
    train(run, stop_after=3)
    make_trainer(Run.open(run.path))
    assert "in memory" not in caplog.text
    make_trainer(Run.open_with_overrides(run.path, ["batching.buffer=30"]))
    (warning,) = [record.message for record in caplog.records if "in memory" in record.message]
    assert re.search(
        r"step-00000003: the sentences of \S.* that are in memory together .* none is left out by that, and those that were trained on come again$",
        warning,
    )


def test_text_that_changed_is_said(tmp_path, caplog):
    """By what it says: a file that is written anew with the same lines is the same text."""
    run = tiny_run(tmp_path)
    train(run, stop_after=3)
    text = tmp_path / "train.de"
    lines = text.read_text(encoding="utf-8")
    text.write_text(lines, encoding="utf-8")
    make_trainer(Run.open(run.path))
    assert "training text" not in caplog.text
    text.write_text(lines.replace("Hund", "Katze"), encoding="utf-8")
    make_trainer(Run.open(run.path))
    (warning,) = [record.message for record in caplog.records if "training text" in record.message]
    assert (
        "step-00000003: the training text of en-de, de-en is not what it was when this was written; the run goes on"
        in warning
    )


def test_a_checkpoint_that_does_not_say_what_its_text_was_goes_on_in_silence(tmp_path, caplog):
    run = tiny_run(tmp_path)
    train(run, stop_after=3)
    trainer = make_trainer(Run.open(run.path))
    (checkpoint,) = checkpoints.choose(run.checkpoints, "last")
    state = {name: value for name, value in checkpoint.training_state().items() if name != "data"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints.Checkpoint, "training_state", lambda self: state)
        trainer.resume(checkpoint)
    assert "training text" not in caplog.text and train(Run.open(run.path)).progress.step == 6


def test_another_optimizer_from_now_on_is_a_sentence(tmp_path):
    run = tiny_run(tmp_path, optimizer={"type": "sgd", "momentum": 0.9})
    train(run, stop_after=3)
    with pytest.raises(CheckpointError, match="step-00000003: the optimizer was another one"):
        make_trainer(Run.open_with_overrides(run.path, ["optimizer=adam"]))


@pytest.mark.parametrize(
    "override",
    ["model.encoder.size=8", "schedule.pairs=[de-en]", "languages=[en, de]", "model.bridge=none"],
)
def test_what_the_components_are_built_from_cannot_change(override, tmp_path):
    """And the configuration of the run stays what it was, so that nothing is lost by the attempt."""
    run = tiny_run(tmp_path)
    train(run, stop_after=3)
    before = (run.path / "config.yaml").read_text(encoding="utf-8")
    with pytest.raises(ConfigError, match="settings that a run was built from cannot change: "):
        Run.open_with_overrides(run.path, [override])
    assert (run.path / "config.yaml").read_text(encoding="utf-8") == before
    train(Run.open(run.path))


@pytest.mark.parametrize("lost", ["de", "fr"])
def test_a_vocabulary_that_is_gone_is_not_learnt_again_once_there_are_checkpoints(lost, tmp_path):
    """What the parameters know is lost with it; put back, training goes on."""
    run = tiny_run(tmp_path)
    train(run, stop_after=3)
    file = run.vocabulary_file(lost)
    before = file.rename(tmp_path / "elsewhere")
    (tmp_path / "train.en").write_text(
        "".join(f"{line} more\n" for line in (tmp_path / "train.en").read_text().splitlines())
    )
    others = {path: path.read_bytes() for path in file.parent.iterdir()}
    with pytest.raises(
        CheckpointError,
        match=f"{file}: no such file, but .*step-00000003 was trained with it; put it back",
    ):
        make_trainer(Run.open(run.path))
    assert {path: path.read_bytes() for path in file.parent.iterdir()} == others
    before.rename(file)
    train(Run.open(run.path))


def test_before_the_first_checkpoint_only_what_is_missing_is_learnt(tmp_path):
    """Another start was killed between two of them."""
    whole, run = tiny_run(tmp_path, "whole"), tiny_run(tmp_path)
    train(whole)
    train(run, stop_after=1)
    shutil.rmtree(run.checkpoints)
    run.vocabulary_file("en").unlink()
    kept = {path: path.stat().st_mtime_ns for path in run.vocabulary_file("en").parent.iterdir()}
    train(Run.open(run.path))
    assert {path: path.stat().st_mtime_ns for path in kept} == kept and len(kept) == 2
    assert [tensor.tolist() for tensor in tensors(run)] == [
        tensor.tolist() for tensor in tensors(whole)
    ]


def test_a_start_that_fails_leaves_no_vocabulary_behind(tmp_path):
    """The next one may have other settings, and would learn another."""
    run = tiny_run(tmp_path, data={"valid": [{"type": "text", "path": "nowhere.{language}"}]})
    with pytest.raises(DataError, match="nowhere"):
        make_trainer(run, Validator(run))
    assert not list(run.vocabulary_file("en").parent.iterdir())


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    one, other = (
        tiny_run(tmp_path, "one"),
        tiny_run(tmp_path, "other", model={"bridge": {"heads": 2}}),
    )
    train(one)
    with pytest.raises(
        CheckpointError, match="comes from another configuration than .*other/config.yaml"
    ):
        make_trainer(other).resume(checkpoints.choose(one.checkpoints, "last")[0])
