"""Memory estimate: a training that needs more memory than there is warns before it begins."""

from __future__ import annotations

import logging

import pytest
import torch

from polyglot.config.loading import check_config, load_config
from polyglot.training import memory_estimate
from polyglot.training.dry_run import plan_training
from tests.builders.runs import make_trainer, tiny_run, tiny_settings, write_config

WARNING = "training will need about"


@pytest.fixture
def set_device_memory(monkeypatch):
    """Function that sets the bytes of the device's memory."""

    def set_memory(size):
        monkeypatch.setattr(memory_estimate, "device_memory", lambda device: size)

    return set_memory


def test_the_memory_of_this_machine_is_plausible():
    assert 2**28 < memory_estimate.device_memory(torch.device("cpu")) < 2**50


@pytest.mark.parametrize("limit", [2**20, 2**60])
def test_the_limit_of_a_container_counts_if_it_is_lower(limit, tmp_path, monkeypatch):
    file = tmp_path / "memory.max"
    monkeypatch.setattr(memory_estimate, "CONTAINER_LIMIT", file)
    machine = memory_estimate.device_memory(torch.device("cpu"))  # without the file
    file.write_text("max\n")
    assert memory_estimate.device_memory(torch.device("cpu")) == machine
    file.write_text(f"{limit}\n")
    assert memory_estimate.device_memory(torch.device("cpu")) == min(limit, machine)


def test_a_dry_run_warns_if_memory_is_too_small(set_device_memory, tmp_path, caplog):
    config = load_config(write_config(tmp_path))
    caplog.set_level(logging.WARNING)
    needed = plan_training(config).memory()
    set_device_memory(sum(needed.values()))
    plan_training(config)
    assert WARNING not in caplog.text

    set_device_memory(sum(needed.values()) - 1)
    plan_training(config)
    assert WARNING in caplog.text
    assert "and this machine's " in caplog.text
    assert "lower the sizes and layers of `model`" in caplog.text
    for purpose in needed:
        assert purpose in caplog.text


def test_a_training_warns_before_the_model_is_built(set_device_memory, tmp_path, caplog):
    run = tiny_run(tmp_path)
    set_device_memory(1000)
    caplog.set_level(logging.WARNING)
    trainer = make_trainer(run)
    assert WARNING in caplog.text
    assert "activations" not in caplog.text

    counts = {}
    for component, parameters in trainer.parameters.items():
        counts[component] = sum(parameter.numel() for parameter in parameters.values())
    assert memory_estimate.count_parameters(trainer.model) == counts


def test_activations_are_those_of_the_task_that_needs_most(tmp_path):
    schedule = {"pairs": ["en-de", "fr-en"]}

    def activations(**model):
        path = write_config(tmp_path, model=model, schedule=schedule)
        plan = plan_training(load_config(path))
        return memory_estimate.activation_memory(plan.config, plan.datasets)

    base = activations()
    wide = {"encoder": {"type": "lstm", "size": 64}}
    assert activations(languages={"de": wide}) == base  # German is only a target
    assert activations(languages={"fr": wide}) > base

    small = {"encoder": {"type": "lstm", "size": 4}, "decoder": {"type": "lstm", "size": 4}}
    assert activations(languages=dict.fromkeys(("en", "de", "fr"), small)) < base


def test_activations_are_sixteen_states_for_each_position_of_the_largest_batch(tmp_path):
    """With batches of one sentence, the largest batch is the longest sentence."""
    model = {
        "embedding": {"size": 10},
        "encoder": {"type": "lstm", "size": 12, "layers": 2},
        "decoder": {"type": "lstm", "size": 16, "layers": 3},
    }
    path = write_config(tmp_path, model=model, schedule={"pairs": ["en-de"]}, batching={"size": 1})
    plan = plan_training(load_config(path))
    [dataset] = plan.datasets.values()
    longest = max(dataset.source_lengths.max(), dataset.target_lengths.max() + 1)
    states = 2 * 12 + 3 * 16 + 10
    expected = 4 * 16 * longest * states
    assert memory_estimate.activation_memory(plan.config, plan.datasets) == expected


@pytest.mark.parametrize("tasks_per_update", [1, 2, 1000])
def test_gradients_are_those_of_the_tasks_of_an_update(tasks_per_update, tmp_path):
    schedule = {"tasks_per_update": tasks_per_update}
    config = load_config(write_config(tmp_path, schedule=schedule))
    counts = dict.fromkeys(config.components, 10)
    memory = memory_estimate.parameter_memory(config, counts, gradient_task_count=tasks_per_update)
    components = min(3 * tasks_per_update, len(config.components))
    assert memory["gradients"] == 4 * 10 * components


@pytest.mark.parametrize("batching", [{"size": 7}, {"by": "tokens", "size": 30}])
def test_no_batch_is_larger_than_the_limit(batching, tmp_path):
    plan = plan_training(load_config(write_config(tmp_path, batching=batching)))
    sizes = []
    for name, dataset in plan.datasets.items():
        size = memory_estimate._largest_batch(plan.config, name, dataset)
        assert size <= memory_estimate._largest_possible_batch(plan.config, dataset)
        sizes.append(size)
    states = 16 + 16 + 12
    expected = 4 * memory_estimate.STATES_PER_LAYER * states * max(sizes)
    assert memory_estimate.activation_memory(plan.config, plan.datasets) == expected


@pytest.mark.parametrize(
    ("optimizer", "words"),
    [
        ({"type": "sgd"}, "nothing: sgd keeps none"),
        ({"type": "sgd", "momentum": 0.9}, "1 number of sgd for each parameter"),
        ({"type": "adamw"}, "up to 2 numbers of adamw for each parameter"),
    ],
)
def test_the_optimizer_in_words(optimizer, words, tmp_path):
    config = check_config(tiny_settings(tmp_path, optimizer=optimizer), where="tiny")
    assert memory_estimate.describe_memory(config, gradient_task_count=1)["optimizer"] == words


@pytest.mark.parametrize(("tasks", "words"), [(1, "one task trains"), (3, "3 tasks train")])
def test_the_tasks_with_gradients_in_words(tasks, words, tmp_path):
    config = check_config(tiny_settings(tmp_path), where="tiny")
    description = memory_estimate.describe_memory(config, gradient_task_count=tasks)
    assert description["gradients"] == f"of the components that {words} in an update"
