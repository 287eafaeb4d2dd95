"""Warnings at the start of a training, and the options that a dry run lists."""

from __future__ import annotations

import logging

import pytest

from polyglot.config.loading import check_config
from polyglot.layers.annealing import Decay
from polyglot.training.dry_run import plan_training
from tests.builders.runs import make_trainer, tiny_run, tiny_settings, write_corpus

ROLES = {"type": "roles", "roles": 2, "context_size": 4, "assignment": "onehot"}


def plan_with(folder, caplog, **options):
    """Plan of a tiny training with these options of the encoders, and the warnings."""
    write_corpus(folder)
    settings = tiny_settings(folder, model={"options": {"encoder": [{**ROLES, **options}]}})
    with caplog.at_level(logging.WARNING, "polyglot"):
        plan = plan_training(check_config(settings, where="tiny"))
    return plan, [record.message for record in caplog.records]


def test_a_temperature_that_cannot_reach_its_minimum(tmp_path, caplog):
    _, messages = plan_with(tmp_path, caplog)
    (message,) = [message for message in messages if "temperature" in message]
    assert message == (
        "encoder.en.roles, encoder.de.roles, encoder.fr.roles: "
        "the temperature ends at 4.99 after 6 updates, above its minimum 0.5: "
        "in training a word then has a mixture of roles, but in translation only one; "
        "set temperature.decay to 0.6309 or less, or train longer"
    )


def test_the_named_decay_reaches_the_minimum(tmp_path, caplog):
    _, messages = plan_with(tmp_path, caplog, temperature={"decay": 0.6309})
    assert not [message for message in messages if "temperature" in message]


@pytest.mark.parametrize("every", [1, 7])
def test_decay_to_minimum_is_the_largest_that_reaches_it(every):
    schedule = Decay(start=5.0, decay=0.9, every=every, minimum=0.5)
    decay = schedule.decay_to_minimum(100)
    assert Decay(start=5.0, decay=decay * 0.9999, every=every, minimum=0.5).at(99) == 0.5
    assert Decay(start=5.0, decay=decay * 1.0001, every=every, minimum=0.5).at(99) > 0.5


def test_one_hot_roles_without_a_start(tmp_path, caplog):
    _, messages = plan_with(tmp_path, caplog)
    assert any("'onehot' start from random values" in message for message in messages)


def test_training_warns_too(tmp_path, caplog):
    options = {"encoder": [ROLES]}
    with caplog.at_level(logging.WARNING, "polyglot"):
        make_trainer(tiny_run(tmp_path, model={"options": options}))
    messages = [record.message for record in caplog.records]
    assert any("the temperature ends at 4.99" in message for message in messages)


def test_a_dry_run_lists_the_options_of_each_component_with_their_parameters(tmp_path, caplog):
    plan, _ = plan_with(tmp_path, caplog)
    lstm = 2 * (4 * 2 * 12 + 4 * 2 * 2 + 2 * 4 * 2)
    dense = 4 * 2 + 2
    matrices = 2 * 12 * 12
    expected = {"roles": lstm + dense + 2 * 2 + matrices}
    assert plan.option_parameters == dict.fromkeys(
        ("encoder.en", "encoder.de", "encoder.fr"), expected
    )
    (table,) = [table for table in plan.tables() if table.title == "Options"]
    rows = [[cell.plain for cell in row] for row in table.rows]
    number = f"{expected['roles']:,}"
    assert rows == [[f"encoder.{language}", "roles", number] for language in ("en", "de", "fr")]


@pytest.mark.parametrize(("steps", "untrained"), [(2, ["fr-en"]), (3, [])])
def test_training_warns_about_tasks_that_no_phase_trains(steps, untrained, tmp_path, caplog):
    """The second phase, with the French task, begins after two updates."""
    phases = [{"until_step": 2, "pairs": ["en-de"]}, {"from_step": 2, "pairs": ["fr-en"]}]
    schedule = {"pairs": ["en-de", "fr-en"], "phases": phases}
    run = tiny_run(tmp_path, schedule=schedule, training={"steps": steps})
    with caplog.at_level(logging.WARNING, "polyglot"):
        make_trainer(run)
    warnings = [record.message for record in caplog.records if "not train at all" in record.message]
    expected = [
        f"schedule.phases: {name} will not train at all, because no phase has them before "
        "training.steps, 2; train longer, or change the phases (schedule.phases=[] removes all "
        "phases)"
        for name in untrained
    ]
    assert warnings == expected
