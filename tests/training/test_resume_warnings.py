"""What is said when work is divided otherwise from a checkpoint on."""

from __future__ import annotations

from dataclasses import asdict
from itertools import product

import pytest

from polyglot.config.loading import check_config
from polyglot.runs import checkpoint as checkpoints
from polyglot.training.build import build_schedule
from polyglot.training.placement import build_placement
from polyglot.training.resume import SamplingLayout, resume_warnings
from tests.builders.runs import tiny_run, tiny_settings, train

DIVISIONS = [
    SamplingLayout(processes, tasks_per_update, tasks, placement)
    for processes, tasks_per_update, tasks, placement in product(
        [1, 2], [1, 2, 4], ["mixed", "same"], ["replicated", "partitioned"]
    )
    if (tasks, placement) != ("same", "partitioned")  # which a configuration cannot have
]


def batches(division, folder):
    """The tasks of the first updates, as they are drawn."""
    schedule = {"tasks_per_update": division.tasks_per_update}
    values = tiny_settings(
        folder,
        schedule=schedule,
        parallel={"tasks": division.tasks, "placement": division.placement},
    )
    config = check_config(values, where="here")
    placement = build_placement(
        build_schedule(config, dict.fromkeys((task.name for task in config.tasks), 60)),
        config,
        division.processes,
    )
    return [[task.name for _, task in placement.batches_at(step)] for step in range(20)]


def test_the_same_tasks_are_drawn_just_where_it_says_so(tmp_path):
    drawn = {division: batches(division, tmp_path) for division in DIVISIONS}
    for one, other in product(DIVISIONS, repeat=2):
        assert (one.drawn == other.drawn) == (drawn[one] == drawn[other]), (one, other)


ONE = {"processes": 1, "tasks_per_update": 2, "tasks": "mixed", "placement": "replicated"}
TWO = {**ONE, "processes": 2, "tasks_per_update": 1}
PARTITIONED = {**TWO, "placement": "partitioned"}
OTHERS = "other tasks are drawn"
MORE = f"but an update has another number of batches from here on, and {OTHERS}"
ANEW = "of streamed text, what is left of the epoch is divided anew, after the sentences that were in memory"


@pytest.mark.parametrize(
    ("was", "now", "streamed", "said"),
    [
        (TWO, TWO, True, ""),
        (ONE, TWO, False, ""),
        (
            ONE,
            TWO,
            True,
            f"with one process, schedule.tasks_per_update 2 and goes on with 2 processes, schedule.tasks_per_update 1: ; {ANEW}",
        ),
        (
            {**ONE, "tasks_per_update": 1},
            TWO,
            False,
            f"with one process and goes on with 2 processes: , {MORE}",
        ),
        (
            TWO,
            {**TWO, "tasks_per_update": 3},
            True,
            f"with schedule.tasks_per_update 1 and goes on with schedule.tasks_per_update 3: , {MORE}",
        ),
        (
            TWO,
            {**TWO, "tasks": "same"},
            True,
            f"with parallel.tasks mixed and goes on with parallel.tasks same: , but {OTHERS} from here on",
        ),
        (
            {**TWO, "tasks": "same"},
            PARTITIONED,
            True,
            "with parallel.tasks same, parallel.placement replicated and goes on with parallel.tasks mixed, parallel.placement partitioned: "
            f", but {OTHERS} from here on; {ANEW}",
        ),
        (
            TWO,
            {**ONE, "tasks_per_update": 1, "placement": "partitioned"},
            False,
            f"with 2 processes and goes on with one process: , {MORE}",
        ),
        ({}, TWO, True, ""),
    ],
    ids=[
        "nothing",
        "as many batches",
        "as many, streamed",
        "more",
        "more of each",
        "the same tasks",
        "placement",
        "one",
        "not known",
    ],
)
def test_it_is_said_in_a_sentence_and_only_where_it_does_something(
    was, now, streamed, said, tmp_path
):
    schedule, parallel = (
        {"tasks_per_update": now["tasks_per_update"]},
        {key: now[key] for key in ("tasks", "placement")},
    )
    run = tiny_run(tmp_path, schedule=schedule, parallel=parallel)
    given = {"streamed": ["de-en"] if streamed else [], "begun": [], "changed": []}
    sentences = list(resume_warnings(run, {"division": was}, now["processes"], **given))
    assert sentences == (
        [f"was written {said.replace(': ', ': every text goes on where it was', 1)}"]
        if said
        else []
    )


def test_a_checkpoint_says_how_work_was_divided(tmp_path):
    run = tiny_run(
        tmp_path,
        schedule={"tasks_per_update": 2},
        parallel={"tasks": "same"},
        training={"steps": 1},
    )
    train(run)
    assert checkpoints.choose(run.checkpoints, "last")[0].training_state()["division"] == asdict(
        SamplingLayout(1, 2, "same", "replicated")
    )
