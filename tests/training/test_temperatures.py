"""Annealed quantities in a run: updates, log, checkpoints, resuming and translation."""

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
ANNEALED = {"options": {"encoder": [ONEHOT, GRAPH], "decoder": []}}
EXPECTED = {
    "roles": [5 * 0.9**step for step in range(STEPS)],
    "latent_graph": [2 * 0.99 ** (step // 2) for step in range(STEPS)],
}
"""temperatures of each update, by option"""


def roles(assignment):
    """Model settings with a role layer in every encoder."""
    return {"options": {"encoder": [{**ONEHOT, "assignment": assignment}], "decoder": []}}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Trained run with role layers and latent graphs."""
    folder = tmp_path_factory.mktemp("annealed")
    run = tiny_run(folder, model=ANNEALED, training={"steps": STEPS})
    train(run)
    return run


def last_checkpoint(run):
    [checkpoint] = checkpoints.choose(run.checkpoints, "last")
    return checkpoint


def temperature(run, option="roles", component="encoder.de"):
    """Temperature of an option in the last checkpoint."""
    tensors = last_checkpoint(run).component(component)
    return tensors[f"options.{option}.annealed.temperature"].item()


def test_the_log_has_the_value_of_every_update(run):
    lines = [json.loads(line) for line in run.log.read_text().splitlines()]
    lines = [line for line in lines if line["kind"] == "training"]
    for option, expected in EXPECTED.items():
        for language in ("de", "fr"):
            name = f"encoder.{language}.{option}"
            logged = [line["annealed"][name]["temperature"] for line in lines]
            assert logged == pytest.approx(expected)


def test_a_checkpoint_has_the_value_of_its_last_update(run):
    state = last_checkpoint(run).training_state()
    for option, expected in EXPECTED.items():
        assert temperature(run, option) == pytest.approx(expected[-1])
        stored = state["annealed"][f"encoder.de.{option}"]["temperature"]
        assert stored == pytest.approx(expected[-1])


def test_a_resumed_run_continues_with_the_next_value(run, tmp_path):
    stopped = tiny_run(tmp_path, model=ANNEALED, training={"steps": STEPS})
    train(stopped, stop_after=4)
    at_stop = pytest.approx(EXPECTED["roles"][3])
    assert temperature(stopped) == at_stop

    trainer = make_trainer(stopped)
    assert trainer.state.annealed["encoder.de.roles"].temperature.item() == at_stop
    trainer.train()
    assert temperature(stopped) == temperature(run)


def test_a_translator_has_the_value_of_the_checkpoint(run):
    model = Translator.load(run.path, checkpoint="last").model
    graph = model.encoders["de"].options["latent_graph"]
    expected = pytest.approx(EXPECTED["latent_graph"][-1])
    assert graph.annealed.temperature.item() == expected


def test_onehot_roles_start_from_softmax_roles_at_the_first_temperature(run):
    folder = run.path.parent
    softmax = tiny_run(folder, "softmax", model=roles("softmax"), training={"steps": 2})
    train(softmax)
    onehot = tiny_run(
        folder,
        "onehot",
        model=roles("onehot"),
        initialize={"*": str(softmax.path)},
        training={"steps": 1},
    )
    trainer = make_trainer(onehot)

    expected = last_checkpoint(softmax).component("encoder.de")
    parameters = trainer.parameters["encoder.de"]
    assert parameters.keys() == expected.keys()
    for name, parameter in parameters.items():
        assert torch.equal(parameter, expected[name])

    trainer.train()
    assert temperature(onehot) == 5.0


def test_a_warm_start_begins_annealing_again_but_not_in_frozen_components(run):
    new = tiny_run(
        run.path.parent,
        "warm",
        model=ANNEALED,
        training={"steps": 3},
        initialize={"encoder.*": str(run.path)},
        freeze=["encoder.de"],
    )
    trainer = train(new)
    assert temperature(new) == temperature(run)
    assert temperature(new, component="encoder.fr") == pytest.approx(5 * 0.9**2)
    assert "encoder.de.roles" not in trainer.state.annealed
