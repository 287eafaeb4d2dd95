"""More memory than there is is said before it is taken."""

from __future__ import annotations

import logging

import pytest
import torch

from polyglot.config.loading import load_config
from polyglot.training import memory_estimate
from polyglot.training.dry_run import plan_training
from tests.builders.runs import make_trainer, tiny_run, write_config

SENTENCE = "training will need about"


@pytest.fixture
def machine(monkeypatch):
    """Says how many bytes the device has."""
    return lambda size: monkeypatch.setattr(memory_estimate, "device_memory", lambda device: size)


def test_the_machine_has_some():
    assert 2**28 < memory_estimate.device_memory(torch.device("cpu")) < 2**50


def test_a_container_may_have_less(tmp_path, monkeypatch):
    monkeypatch.setattr(memory_estimate, "CONTAINER_LIMIT", tmp_path / "memory.max")
    whole = memory_estimate.device_memory(torch.device("cpu"))  # of the machine, without any container
    for written, found in (("max", whole), (str(2**20), 2**20), (str(2**60), whole)):
        (tmp_path / "memory.max").write_text(f"{written}\n")
        assert memory_estimate.device_memory(torch.device("cpu")) == found


def test_a_plan_that_does_not_fit_is_said(machine, tmp_path, caplog):
    config = load_config(write_config(tmp_path))
    caplog.set_level(logging.WARNING)
    needed = plan_training(config).memory()
    assert SENTENCE not in caplog.text
    machine(sum(needed.values()))
    plan_training(config)
    assert SENTENCE not in caplog.text
    machine(sum(needed.values()) - 1)
    plan_training(config)
    assert (
        "and this machine's " in caplog.text
        and "lower the sizes and layers of `model`" in caplog.text
    )
    assert all(purpose in caplog.text for purpose in needed)


def test_a_start_says_it_before_the_model_is_built(machine, tmp_path, caplog):
    run = tiny_run(tmp_path)
    machine(1000)
    caplog.set_level(logging.WARNING)
    trainer = make_trainer(run)
    assert SENTENCE in caplog.text and "activations" not in caplog.text
    parameters = {
        name: sum(one.numel() for one in own.values()) for name, own in trainer.parameters.items()
    }
    assert memory_estimate.count_parameters(trainer.model) == parameters


def test_activations_are_those_of_the_largest_task(tmp_path):
    """A language may have components of its own, and each task only those of its two languages."""

    def activations(**model):
        found = plan_training(
            load_config(write_config(tmp_path, model=model, schedule={"pairs": ["en-de", "fr-en"]}))
        )
        return memory_estimate.activation_memory(found.config, found.datasets)

    alike, wide = activations(), {"encoder": {"type": "lstm", "size": 64}}
    assert activations(languages={"de": wide}) == alike, "nobody reads German"
    assert activations(languages={"fr": wide}) > alike
    small = {"encoder": {"type": "lstm", "size": 4}, "decoder": {"type": "lstm", "size": 4}}
    assert activations(languages=dict.fromkeys(("en", "de", "fr"), small)) < alike


@pytest.mark.parametrize("batches", [1, 2, 1000])
def test_gradients_are_those_of_some_components_and_never_more_than_all(batches, tmp_path):
    config = load_config(write_config(tmp_path, schedule={"tasks_per_update": batches}))
    found = memory_estimate.parameter_memory(
        config,
        dict.fromkeys(config.components, 10),
        tasks_with_gradients=config.schedule.tasks_per_update,
    )
    assert found["gradients"] == 4 * 10 * min(3 * batches, len(config.components))
