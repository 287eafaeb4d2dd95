"""Warm start: components that start from other runs with their vocabularies, and frozen ones."""

from __future__ import annotations

import pytest
import torch

from polyglot.config.loading import check_config
from polyglot.core.errors import CheckpointError, ConfigError
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from polyglot.training.dry_run import plan_training
from tests.builders.runs import make_trainer, tiny_run, tiny_settings, train


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Trained run of en, de, fr, from which other runs start."""
    run = tiny_run(tmp_path_factory.mktemp("source"), "before", training={"steps": 2}, seed=2)
    train(run)
    return run


def new_run(source, name, **sections):
    """Run beside the source, with the same corpus."""
    return tiny_run(source.path.parent, name, **sections)


def last_checkpoint(run):
    [checkpoint] = checkpoints.choose(run.checkpoints, "last")
    return checkpoint


def component(run, name):
    return last_checkpoint(run).component(name)


def are_equal(tensors, expected):
    """Compare names and values, bit for bit."""
    if tensors.keys() != expected.keys():
        return False
    return all(torch.equal(tensor, expected[name]) for name, tensor in tensors.items())


def test_components_start_from_another_run(source):
    initialize = {
        "encoder.de": str(source.path),
        "bridge": {"run": str(source.path), "checkpoint": 2},
    }
    parameters = make_trainer(new_run(source, "parts", initialize=initialize)).parameters
    for name in ("encoder.de", "bridge"):
        assert are_equal(component(source, name), parameters[name])
    assert not are_equal(component(source, "encoder.fr"), parameters["encoder.fr"])


def test_a_component_brings_its_vocabulary_and_others_are_learnt(source):
    run = new_run(
        source,
        "words",
        vocabulary={"type": "char"},
        initialize={"decoder.de": str(source.path)},
    )
    make_trainer(run)
    vocabularies = Run.open(run.path).vocabularies
    expected = source.vocabulary_file("de").read_bytes()
    assert run.vocabulary_file("de").read_bytes() == expected
    assert len(vocabularies["de"]) == len(source.vocabularies["de"])
    assert len(vocabularies["en"]) != len(vocabularies["de"])


def test_a_pattern_matches_the_components_that_the_other_run_has(source):
    run = new_run(
        source,
        "all",
        initialize={"*": str(source.path)},
        schedule={"pairs": ["en-*", "*-en", "de-de"]},
    )
    for name, parameters in make_trainer(run).parameters.items():
        assert are_equal(component(source, name), parameters)


def test_a_component_may_have_another_name_in_the_other_run(source):
    initialize = {"encoder.de": {"run": str(source.path), "component": "encoder.fr"}}
    run = new_run(source, "other", initialize=initialize)
    parameters = make_trainer(run).parameters["encoder.de"]
    assert are_equal(component(source, "encoder.fr"), parameters)
    expected = source.vocabulary_file("fr").read_bytes()
    assert run.vocabulary_file("de").read_bytes() == expected


def test_a_resumed_run_does_not_need_the_other_run(source):
    run = new_run(source, "resumed", initialize={"*": str(source.path)}, training={"steps": 4})
    train(run, stop_after=2)
    moved = source.path.rename(source.path.with_name("moved"))
    try:
        assert train(Run.open(run.path)).progress.step == 4
    finally:
        moved.rename(source.path)


def test_frozen_components_do_not_change_and_others_learn(source):
    run = new_run(
        source,
        "frozen",
        initialize={"*": str(source.path)},
        freeze=["bridge", "encoder.*"],
        training={"steps": 12},
    )
    train(run)
    checkpoint = last_checkpoint(run)
    for name in checkpoint.components:
        is_frozen = name == "bridge" or name.startswith("encoder.")
        assert are_equal(component(source, name), component(run, name)) == is_frozen, name

    with_state = {key.partition("/")[0] for key in checkpoint.training_tensors()}
    assert with_state == {"decoder.en", "decoder.de", "decoder.fr"}


def fill_in_path(value, path):
    """Replace `{source}` by a path in nested settings."""
    if isinstance(value, dict):
        return {key: fill_in_path(item, path) for key, item in value.items()}
    if isinstance(value, str):
        return value.format(source=path)
    return value


@pytest.mark.parametrize(
    ("sections", "error_type", "message"),
    [
        (
            {"freeze": ["*"]},
            ConfigError,
            "freeze: nothing is left to train in the task en-de; leave one of its components free",
        ),
        (
            {"initialize": {"bridge": "no/run"}},
            ConfigError,
            "no/run: no run directory: it does not exist",
        ),
        (
            {"initialize": {"encoder.de": {"run": "{source}", "component": "encoder.it"}}},
            CheckpointError,
            "has no component 'encoder.it'; it has bridge, decoder.de",
        ),
        (
            {"initialize": {"encoder.de": "{source}"}, "model": {"encoder": {"size": 8}}},
            CheckpointError,
            "initialize.encoder.de: encoder.de of {source}: comes from another configuration: ",
        ),
        (
            {"initialize": {"encoder.de": "{source}"}, "text": {"steps": ["lowercase"]}},
            ConfigError,
            "initialize.encoder.de: the text steps of de differ from those of de in {source}; "
            "make text.steps the same",
        ),
        (
            {
                "initialize": {
                    "encoder.de": "{source}",
                    "decoder.de": {"run": "{source}", "component": "decoder.fr"},
                }
            },
            ConfigError,
            "initialize.encoder.de: decoder.de and encoder.de start from runs with different "
            "vocabularies for de: {source} and {source}",
        ),
    ],
)
def test_an_impossible_warm_start_is_an_error(source, sections, error_type, message):
    sections = fill_in_path(sections, source.path)
    settings = tiny_settings(source.path.parent, "wrong", **sections)
    config = check_config(settings, where="tiny")
    message = message.format(source=source.path)
    with pytest.raises(error_type) as error:
        plan_training(config)
    assert message in str(error.value)

    with pytest.raises(error_type) as error:
        make_trainer(Run(config.run, config))
    assert message in str(error.value)


@pytest.mark.parametrize("section", ["freeze", "initialize"])
def test_an_unknown_component_is_an_error(section, tmp_path):
    value = ["encoder.nl"] if section == "freeze" else {"encoder.nl": "runs/a"}
    message = f"{section}.*: no component named 'encoder.nl'. Did you mean 'encoder.en'"
    with pytest.raises(ConfigError, match=message):
        check_config(tiny_settings(tmp_path, **{section: value}), where="tiny")


WEST = {"west": ["de", "fr"]}


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(
    "sharing",
    [
        {},
        "all",
        {"encoder": WEST},
        {"vocabulary": WEST, "embeddings": WEST},
        {"vocabulary": "all", "embeddings": "all", "encoder": WEST, "decoder": "all"},
    ],
)
def test_the_configuration_knows_the_components_of_the_model(sharing, tied, tmp_path):
    """Patterns are checked against these names before the model is built."""
    run = tiny_run(tmp_path, sharing=sharing, model={"embedding": {"tie_sides": tied}})
    assert set(run.config.components) == set(make_trainer(run).parameters)
