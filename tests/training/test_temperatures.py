"""Annealed quantities in a run: they follow the updates, stand in the log and in checkpoints, and translate as they were."""

from __future__ import annotations

import json

import pytest
import torch

from polyglot.inference.translator import Translator
from polyglot.runs import checkpoint as checkpoints
from tests.builders.runs import make_trainer, tiny_run, train

STEPS = 6
ONEHOT = {"type": "roles", "roles": 3, "assignment": "onehot", "temperature": {"decay": 0.9}}
GRAPH = {"type": "latent_graph", "temperature": {"every": 2}}
EXPECTED = {
    "roles": [5 * 0.9**step for step in range(STEPS)],
    "latent_graph": [2 * 0.99 ** (step // 2) for step in range(STEPS)],
}


def options(*of_encoder, decoder=()):
    return {"options": {"encoder": list(of_encoder), "decoder": list(decoder)}}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    run = tiny_run(
        tmp_path_factory.mktemp("annealed"), model=options(ONEHOT, GRAPH), training={"steps": STEPS}
    )
    train(run)
    return run


def component(run, name="encoder.de"):
    return checkpoints.choose(run.checkpoints, "last")[0].component(name)


def temperature(run, option="roles"):
    return component(run)[f"options.{option}.annealed.temperature"].item()


def test_every_update_has_its_value_in_the_log(run):
    lines = [
        line
        for line in map(json.loads, run.log.read_text().splitlines())
        if line["kind"] == "training"
    ]
    for option, expected in EXPECTED.items():
        found = [
            line["annealed"][f"encoder.{language}.{option}"]["temperature"]
            for line in lines
            for language in ("de", "fr")
        ]
        assert found == pytest.approx([value for value in expected for _ in range(2)])


def test_a_checkpoint_has_the_value_of_its_last_update(run):
    state = checkpoints.choose(run.checkpoints, "last")[0].training_state()
    for option, expected in EXPECTED.items():
        assert temperature(run, option) == pytest.approx(expected[-1])
        assert state["annealed"][f"encoder.de.{option}"]["temperature"] == pytest.approx(
            expected[-1]
        )


def test_a_run_that_goes_on_has_the_next_value(run, tmp_path):
    twin = tiny_run(tmp_path, model=options(ONEHOT, GRAPH), training={"steps": STEPS})
    train(twin, stop_after=4)
    assert temperature(twin) == pytest.approx(EXPECTED["roles"][3])
    trainer = make_trainer(twin)
    assert trainer.state.annealed["encoder.de.roles"].temperature.item() == pytest.approx(
        EXPECTED["roles"][3]
    )
    trainer.train()
    assert temperature(twin) == temperature(run)


def test_a_translator_has_the_value_of_the_checkpoint(run):
    model = Translator.load(run.path, checkpoint="last").model
    assert model.encoders["de"].options[
        "latent_graph"
    ].annealed.temperature.item() == pytest.approx(EXPECTED["latent_graph"][-1])


def test_onehot_roles_start_from_softmax_ones_and_at_the_first_temperature(run):
    folder = run.path.parent
    softmax = tiny_run(
        folder, "softmax", model=options({**ONEHOT, "assignment": "softmax"}), training={"steps": 2}
    )
    train(softmax)
    trainer = make_trainer(
        tiny_run(
            folder,
            "tuned",
            model=options(ONEHOT),
            initialize={"*": str(softmax.path)},
            training={"steps": 1},
        )
    )
    there = component(softmax)
    assert there.keys() == trainer.parameters["encoder.de"].keys()
    assert all(
        torch.equal(one, there[key]) for key, one in trainer.parameters["encoder.de"].items()
    )
    trainer.train()
    assert temperature(trainer.run) == 5.0


def test_a_quantity_starts_anew_where_its_component_learns_and_stays_where_it_is_frozen(run):
    given = {"model": options(ONEHOT, GRAPH), "training": {"steps": 3}}
    follower = tiny_run(
        run.path.parent,
        "follower",
        initialize={"encoder.*": str(run.path)},
        freeze=["encoder.de"],
        **given,
    )
    trainer = train(follower)
    assert temperature(follower) == temperature(run)
    assert component(follower, "encoder.fr")[
        "options.roles.annealed.temperature"
    ].item() == pytest.approx(5 * 0.9**2)
    assert "encoder.de.roles" not in trainer.state.annealed
