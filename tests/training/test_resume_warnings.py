"""Warnings about the division of work that changed since a checkpoint."""

from __future__ import annotations

from dataclasses import asdict
from itertools import product

import pytest

from polyglot.config.loading import check_config
from polyglot.runs import checkpoint as checkpoints
from polyglot.training.build import build_schedule
from polyglot.training.placement import build_placement
from polyglot.training.resume import SamplingLayout, StreamChanges, resume_warnings
from tests.builders.runs import tiny_run, tiny_settings, train


def valid_layouts():
    """All combinations that a configuration can have."""
    combinations = product([1, 2], [1, 2, 4], ["mixed", "same"], ["replicated", "partitioned"])
    layouts = [SamplingLayout(*combination) for combination in combinations]
    return [
        layout for layout in layouts if (layout.tasks, layout.placement) != ("same", "partitioned")
    ]


def drawn_tasks(layout, folder):
    """Names of the tasks of the first 20 updates."""
    values = tiny_settings(
        folder,
        schedule={"tasks_per_update": layout.tasks_per_update},
        parallel={"tasks": layout.tasks, "placement": layout.placement},
    )
    config = check_config(values, where="here")
    sizes = {task.name: 60 for task in config.tasks}
    placement = build_placement(build_schedule(config, sizes), config, layout.processes)

    updates = []
    for step in range(20):
        updates.append([batch.task.name for batch in placement.batches_at(step)])
    return updates


def test_layouts_with_equal_sampling_keys_draw_equal_tasks(tmp_path):
    layouts = valid_layouts()
    drawn = {layout: drawn_tasks(layout, tmp_path) for layout in layouts}
    for first, second in product(layouts, repeat=2):
        equal_keys = first.sampling_key == second.sampling_key
        assert equal_keys == (drawn[first] == drawn[second]), (first, second)


ONE = {"processes": 1, "tasks_per_update": 2, "tasks": "mixed", "placement": "replicated"}
TWO = {**ONE, "processes": 2, "tasks_per_update": 1}
TWO_SAME = {**TWO, "tasks": "same"}
TWO_PARTITIONED = {**TWO, "placement": "partitioned"}
CONTINUES = "every text continues at its position"
OTHER_NUMBER = "but from here on an update has another number of batches and other tasks"
OTHER_TASKS = "but from here on other tasks are drawn"
OTHER_READERS = "the streamed text after the pool in memory is divided again among the processes"


@pytest.mark.parametrize(
    ("old", "new", "streamed", "warning"),
    [
        pytest.param(TWO, TWO, True, None, id="no change"),
        pytest.param(ONE, TWO, False, None, id="equal number of batches"),
        pytest.param(
            ONE,
            TWO,
            True,
            "was written with one process, schedule.tasks_per_update 2 and continues with "
            f"2 processes, schedule.tasks_per_update 1: {CONTINUES}; {OTHER_READERS}",
            id="equal number of batches, streamed",
        ),
        pytest.param(
            {**ONE, "tasks_per_update": 1},
            TWO,
            False,
            f"was written with one process and continues with 2 processes: {CONTINUES}, "
            f"{OTHER_NUMBER}",
            id="more processes",
        ),
        pytest.param(
            TWO,
            {**TWO, "tasks_per_update": 3},
            True,
            "was written with schedule.tasks_per_update 1 and continues with "
            f"schedule.tasks_per_update 3: {CONTINUES}, {OTHER_NUMBER}",
            id="more tasks",
        ),
        pytest.param(
            TWO,
            TWO_SAME,
            True,
            "was written with parallel.tasks mixed and continues with parallel.tasks same: "
            f"{CONTINUES}, {OTHER_TASKS}",
            id="same tasks",
        ),
        pytest.param(
            TWO_SAME,
            TWO_PARTITIONED,
            True,
            "was written with parallel.tasks same, parallel.placement replicated and continues "
            f"with parallel.tasks mixed, parallel.placement partitioned: {CONTINUES}, "
            f"{OTHER_TASKS}; {OTHER_READERS}",
            id="placement",
        ),
        pytest.param(
            TWO,
            {**ONE, "tasks_per_update": 1, "placement": "partitioned"},
            False,
            f"was written with 2 processes and continues with one process: {CONTINUES}, "
            f"{OTHER_NUMBER}",
            id="one process",
        ),
        pytest.param({}, TWO, True, None, id="older checkpoint without a layout"),
    ],
)
def test_a_change_is_a_warning_if_it_has_an_effect(old, new, streamed, warning, tmp_path):
    run = tiny_run(
        tmp_path,
        schedule={"tasks_per_update": new["tasks_per_update"]},
        parallel={"tasks": new["tasks"], "placement": new["placement"]},
    )
    changes = StreamChanges(streamed=["de-en"] if streamed else [])
    warnings = resume_warnings(run, {"division": old}, new["processes"], changes)
    assert list(warnings) == ([warning] if warning else [])


def test_a_checkpoint_stores_the_layout(tmp_path):
    run = tiny_run(
        tmp_path,
        schedule={"tasks_per_update": 2},
        parallel={"tasks": "same"},
        training={"steps": 1},
    )
    train(run)
    [checkpoint] = checkpoints.choose(run.checkpoints, "last")
    stored = checkpoint.training_state()["division"]
    assert stored == asdict(SamplingLayout(1, 2, "same", "replicated"))
