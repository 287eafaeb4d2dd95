"""Components that start from other runs are theirs to the bit, come with their vocabulary, and stay as they are when frozen."""

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
    """A trained run of en, de, fr, and its folder."""
    folder = tmp_path_factory.mktemp("source")
    run = tiny_run(folder, "before", training={"steps": 2}, seed=2)
    train(run)
    return run


def follower(source, name, **sections):
    return tiny_run(source.path.parent, name, **sections)


def component(run, name):
    return checkpoints.choose(run.checkpoints, "last")[0].component(name)


def same(one, other):
    return one.keys() == other.keys() and all(
        torch.equal(value, other[key]) for key, value in one.items()
    )


def test_components_start_from_another_run(source):
    run = follower(
        source,
        "parts",
        initialize={
            "encoder.de": str(source.path),
            "bridge": {"run": str(source.path), "checkpoint": 2},
        },
    )
    trainer = make_trainer(run)
    for name in ("encoder.de", "bridge"):
        assert same(component(source, name), trainer.parameters[name])
    assert not same(component(source, "encoder.fr"), trainer.parameters["encoder.fr"])


def test_vocabularies_come_along_and_the_rest_are_learnt(source):
    run = follower(
        source, "words", vocabulary={"type": "char"}, initialize={"decoder.de": str(source.path)}
    )
    make_trainer(run)
    sizes = {
        language: len(vocabulary)
        for language, vocabulary in Run.open(run.path).vocabularies.items()
    }
    assert run.vocabulary_file("de").read_bytes() == source.vocabulary_file("de").read_bytes()
    assert sizes["de"] == len(source.vocabularies["de"]) and sizes["en"] != sizes["de"]


def test_a_pattern_takes_what_the_run_has(source):
    run = follower(
        source,
        "all",
        initialize={"*": str(source.path)},
        schedule={"pairs": ["en-*", "*-en", "de-de"]},
    )
    assert all(
        same(component(source, name), own) for name, own in make_trainer(run).parameters.items()
    )


def test_a_component_may_be_called_otherwise_there(source):
    run = follower(
        source,
        "other",
        initialize={"encoder.de": {"run": str(source.path), "component": "encoder.fr"}},
    )
    assert same(component(source, "encoder.fr"), make_trainer(run).parameters["encoder.de"])
    assert run.vocabulary_file("de").read_bytes() == source.vocabulary_file("fr").read_bytes()


def test_a_resumed_run_goes_on_from_itself(source):
    run = follower(source, "resumed", initialize={"*": str(source.path)}, training={"steps": 4})
    train(run, stop_after=2)
    moved = source.path.rename(source.path.with_name("moved"))
    try:
        assert train(Run.open(run.path)).progress.step == 4
    finally:
        moved.rename(source.path)


def test_what_is_frozen_stays_and_the_rest_learns(source):
    run = follower(
        source,
        "frozen",
        initialize={"*": str(source.path)},
        freeze=["bridge", "encoder.*"],
        training={"steps": 12},
    )
    train(run)
    for name in checkpoints.choose(run.checkpoints, "last")[0].components:
        assert same(component(source, name), component(run, name)) == (
            name == "bridge" or name.startswith("encoder.")
        ), name
    tensors = checkpoints.choose(run.checkpoints, "last")[0].training_tensors()
    assert {key.partition("/")[0] for key in tensors} == {"decoder.en", "decoder.de", "decoder.fr"}


@pytest.mark.parametrize(
    ("sections", "kind", "sentence"),
    [
        (
            {"freeze": ["*"]},
            ConfigError,
            "freeze: nothing is left to train in the task en-de; leave one of its components free",
        ),
        (
            {"initialize": {"bridge": "no/run"}},
            ConfigError,
            "no/run: no run directory: there is nothing",
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
            "initialize.encoder.de: the text steps of de differ from those of de in {source}; make text.steps the same",
        ),
        (
            {
                "initialize": {
                    "encoder.de": "{source}",
                    "decoder.de": {"run": "{source}", "component": "decoder.fr"},
                }
            },
            ConfigError,
            "initialize.encoder.de: the vocabulary of de in {source} is not that in {source}, which decoder.de starts from",
        ),
    ],
)
def test_what_cannot_be_started_from_is_said(source, sections, kind, sentence):
    def filled(value):
        if isinstance(value, dict):
            return {key: filled(one) for key, one in value.items()}
        return value.format(source=source.path) if isinstance(value, str) else value

    config = check_config(
        tiny_settings(source.path.parent, "wrong", **filled(sections)), where="tiny"
    )
    for attempt in (lambda: plan_training(config), lambda: make_trainer(Run(config.run, config))):
        with pytest.raises(kind) as error:
            attempt()
        assert sentence.format(source=source.path) in str(error.value)


@pytest.mark.parametrize("place", ["freeze", "initialize"])
def test_a_component_that_nobody_has_is_no_pattern(place, tmp_path):
    value = ["encoder.nl"] if place == "freeze" else {"encoder.nl": "runs/a"}
    with pytest.raises(
        ConfigError, match=f"{place}: no component named 'encoder.nl'. Did you mean 'encoder.en'"
    ):
        check_config(tiny_settings(tmp_path, **{place: value}), where="tiny")


def test_components_are_named_before_they_are_built(tmp_path):
    """In every way of sharing, the names that patterns are checked against are those that the model has."""
    west = {"west": ["de", "fr"]}
    ways = [
        {},
        "all",
        {"encoder": west},
        {"vocabulary": west, "embeddings": west},
        {"vocabulary": "all", "embeddings": "all", "encoder": west, "decoder": "all"},
    ]
    for number, sharing in enumerate(ways):
        for tied in (False, True):
            run = tiny_run(
                tmp_path,
                f"{number}{tied}",
                sharing=sharing,
                model={"embedding": {"tie_sides": tied}},
            )
            assert set(run.config.components) == set(make_trainer(run).parameters)
