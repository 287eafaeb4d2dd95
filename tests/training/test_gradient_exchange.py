"""Several processes do what one does that accumulates the same batches, and send what was trained, no more."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import deque
from pathlib import Path

import pytest
import torch

from polyglot.config.loading import check_config
from polyglot.core.errors import ConfigError
from polyglot.data.streaming import StreamedBatches
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair
from polyglot.tasks.schedule import SCHEDULES, schedule_tasks
from polyglot.tasks.sharing import component_names
from polyglot.training.placement import Placement, Replicated, build_placement
from polyglot.training.validation import Validator
from tests.builders import runs
from tests.builders.runs import tiny_settings
from tests.training.parallel_cases import BY_NUMBER, CASES, STEPS, STOPPED, settings, write_parts

ROOT = Path(__file__).parents[2]
EVERY = [(number, name) for number, names in BY_NUMBER.items() for name in names]


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """The folder in which so many processes have trained every case; they are started once."""
    folders = {}

    def of(number):
        if number not in folders:
            folders[number] = tmp_path_factory.mktemp(f"by-{number}")
            write_parts(folders[number])
            command = [
                sys.executable,
                "-m",
                "tests.training.parallel_cases",
                number,
                folders[number],
                *BY_NUMBER[number],
            ]
            path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
            environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
            subprocess.run(list(map(str, command)), check=True, env=environment, timeout=300)
        return folders[number]

    return of


class Collected(Placement):
    """What several processes train, on one."""

    def __init__(self, several):
        super().__init__(several.schedule, several.config, 1)
        self.several = several
        self.turns = deque()
        """Who would take the next batches."""

    def batches_at(self, step):
        plan = self.several.batches_at(step)
        self.turns.extend(process for process, _ in plan)
        return [(0, task) for _, task in plan]


class AllReaders:
    """The streams of one task of all processes, on one."""

    def __init__(self, stream, placement):
        self.placement, self.readers = placement, placement.several.readers(stream.dataset.task)
        given = {"seed": stream.seed, "readers": len(self.readers)}
        self.streams = [
            StreamedBatches(stream.dataset, stream.config, **given, reader=reader)
            for reader in range(len(self.readers))
        ]
        self.fingerprint = stream.fingerprint

    def take(self, *, own):
        self.now = self.streams[self.readers.index(self.placement.turns.popleft())]
        return self.now.take()

    def batch(self, taken):
        return self.now.batch(taken)

    @property
    def position(self):
        return {reader: own for stream in self.streams for reader, own in stream.position.items()}


def alone(folder, name, number):
    """The same run on one process that accumulates the batches of all."""
    run = runs.tiny_run(folder, f"{name} alone", **settings(name))
    trainer = runs.make_trainer(run, Validator(run))
    trainer.placement = Collected(build_placement(trainer.placement.schedule, run.config, number))
    if name.startswith("streamed"):
        trainer.streams = {
            task: AllReaders(stream, trainer.placement) for task, stream in trainer.streams.items()
        }
    trainer.train()
    return run


def numbers(run):
    """Parameters and what the optimizer keeps, by name."""
    checkpoint = checkpoints.choose(run.checkpoints, "last")[0]
    assert checkpoint.step == STEPS
    parts = {name: checkpoint.component(name) for name in checkpoint.components} | {
        "optimizer": checkpoint.training_tensors()
    }
    return {
        f"{name}/{key}": tensor.double()
        for name, part in parts.items()
        for key, tensor in part.items()
    }


def lines(run, kind):
    return [
        line
        for line in map(json.loads, run.log.read_text(encoding="utf-8").splitlines())
        if line["kind"] == kind
    ]


@pytest.mark.parametrize(("number", "name"), EVERY)
def test_several_processes_are_one_that_accumulates_the_same_batches(number, name, together):
    folder = together(number)
    found, expected = Run.open(folder / name), alone(folder, name, number)
    ours, theirs = numbers(found), numbers(expected)
    assert ours.keys() == theirs.keys()
    for key, tensor in theirs.items():
        # Gradients that cancel out nearly are mostly the rounding of their parts, and the optimizer remembers gradients.
        tolerance = 1e-3 if key.startswith("optimizer/") else 1e-6
        assert (ours[key] - tensor).norm() <= tolerance * tensor.norm(), key
    states = [
        checkpoints.choose(run.checkpoints, "last")[0].training_state() for run in (found, expected)
    ]
    for key in ("positions", "data", "optimizer"):
        assert states[0][key] == states[1][key]
    assert states[0]["progress"]["tokens"] == states[1]["progress"]["tokens"]
    for kind, keys in (
        ("training", ("step", "loss", "gradient_norm")),
        ("validation", ("step", "value")),
    ):
        for our, their in zip(lines(found, kind), lines(expected, kind), strict=True):
            assert [our[key] for key in keys] == pytest.approx(
                [their[key] for key in keys], rel=1e-5
            )
            assert {**our.get("losses", {}), **our.get("bleu", {})} == pytest.approx(
                {**their.get("losses", {}), **their.get("bleu", {})}, rel=1e-5
            )


@pytest.mark.parametrize(("number", "name"), EVERY)
def test_what_is_sent_is_as_large_as_what_was_trained(number, name, together):
    folder = together(number)
    run = Run.open(folder / name)
    checkpoint = checkpoints.choose(run.checkpoints, "last")[0]
    frozen = {"encoder.de", "bridge"} if name == "frozen" else set()
    sizes = {
        each: sum(4 * one.numel() for one in checkpoint.component(each).values())
        for each in checkpoint.components
        if each not in frozen
    }
    for process in range(number):
        found = json.loads((folder / f"{name}.{process}.json").read_text())
        assert found["step"] == STEPS and len(found["sent"]) == STEPS
        for sent, tasks in found["sent"]:
            trained = {
                one
                for task in tasks
                for one in component_names(LanguagePair.parse(task), run.config.sharing)
            } & found["exchanged"].keys()
            assert sent == pytest.approx(sum(sizes.get(one, 0) for one in trained), rel=0.05)


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("streamed")])
def test_streams_of_several_processes_stop_and_go_on_as_if_nothing_had_been(name, together):
    """To the bit: parameters, what the optimizer keeps, and where each process is in its files."""
    undisturbed, stopped = (Run.open(together(2) / path) for path in (name, f"{name} stopped"))
    checkpoint, expected = (
        checkpoints.choose(run.checkpoints, "last")[0] for run in (stopped, undisturbed)
    )
    assert (
        checkpoint.step == expected.step == STEPS and checkpoint.components == expected.components
    )
    parts = [(checkpoint.component(each), expected.component(each)) for each in expected.components]
    for ours, theirs in [*parts, (checkpoint.training_tensors(), expected.training_tensors())]:
        assert ours.keys() == theirs.keys() and all(
            torch.equal(ours[key], theirs[key]) for key in theirs
        )
    positions = checkpoint.training_state()["positions"]
    assert positions == expected.training_state()["positions"]
    before = checkpoints.choose(stopped.checkpoints, STOPPED)[0].training_state()["positions"]
    middle = [one for of_task in before.values() for one in of_task.values()]
    assert any(one["index"] for one in middle) and any(
        text["epoch"] for one in middle for text in one["texts"].values()
    )


def test_a_run_goes_on_divided_and_undivided_again(together, tmp_path):
    folder = together(2)
    half = runs.tiny_run(tmp_path, **{**settings("partitioned"), "training": {"steps": STEPS // 2}})
    runs.train(half)
    trainer = runs.make_trainer(Run.open_with_overrides(half.path, [f"training.steps={STEPS}"]))
    trainer.placement = Collected(build_placement(trainer.placement.schedule, trainer.run.config, 2))
    trainer.train()
    found = Run.open(folder / "continued")
    ours, theirs = numbers(found), numbers(half)
    assert ours.keys() == theirs.keys()
    assert all((ours[key] - theirs[key]).norm() <= 1e-3 * theirs[key].norm() for key in theirs)
    assert all(
        (ours[key] - theirs[key]).norm() <= 1e-6 * theirs[key].norm()
        for key in theirs
        if not key.startswith("optimizer/")
    )
    shutil.copytree(found.path, tmp_path / "again")
    again = runs.train(
        Run(
            tmp_path / "again",
            check_config(
                {**found.config.model_dump(), "training": {"steps": STEPS + 4}}, where="again"
            ),
        )
    )
    assert again.progress.step == STEPS + 4 and set(again.parameters) == {
        key.partition("/")[0] for key in theirs
    } - {"optimizer"}


def test_a_process_that_differs_is_found(together):
    folder = together(2)
    for process in range(2):
        sentence = json.loads((folder / f"differ.{process}.json").read_text())
        assert sentence.startswith(
            "step 7: bridge is no longer the same on all processes: that of 0 is not that of 1; "
        )


@pytest.mark.parametrize("kind", ["uniform", "round_robin", "proportional", "temperature"])
def test_several_processes_draw_what_one_draws_with_as_many_tasks_an_update(kind, tmp_path):
    languages = ["en", "de", "fr"]
    schedules = []
    run = (
        check_config(tiny_settings(tmp_path, parallel={"tasks": "same"}), where="tiny"),
        check_config(tiny_settings(tmp_path), where="tiny"),
    )
    for several in (2, 6):
        config = SCHEDULES.configure(kind, copies=True, tasks_per_update=several)
        tasks = schedule_tasks(config, languages)
        sizes = {task.pair: 10 * (build_placement + 1) for build_placement, task in enumerate(tasks)}
        schedules.append(
            SCHEDULES.build(config, tasks=tasks, languages=languages, sizes=sizes, seed=3)
        )
    few, many = schedules
    for step in range(30):
        assert [task for _, task in Replicated(few, run[1], 3).batches_at(step)] == many.tasks_at(step)
        everybody = Replicated(few, run[0], 3).batches_at(step)
        assert [process for process, _ in everybody] == [0, 0, 1, 1, 2, 2]
        assert [task for _, task in everybody] == 3 * few.tasks_at(step)


LANGUAGES = ["en", "de", "fr", "cs", "fi"]


def drawn(schedule, **parallel):
    languages = LANGUAGES
    values = {
        "languages": languages,
        "data": {"train": [{"type": "phrasebook"}]},
        "training": {"steps": 5},
    }
    config = check_config({**values, "schedule": schedule, "parallel": parallel}, where="tiny")
    sizes = {task.pair: 100 for task in config.tasks}
    return config, SCHEDULES.build(
        config.schedule, tasks=config.tasks, languages=languages, sizes=sizes, seed=1
    )


@pytest.mark.parametrize("kind", ["uniform", "round_robin", "temperature"])
def test_a_divided_run_trains_every_task_on_one_process_and_keeps_a_language_where_its_tasks_are(
    kind,
):
    config, schedule = drawn(
        {"type": kind, "pairs": ["en-*", "*-en"], "copies": True}, placement="partitioned"
    )
    placement = build_placement(schedule, config, 3)
    trained = [(process, task) for step in range(400) for process, task in placement.batches_at(step)]
    assert [process for process, _ in trained] == 400 * [0, 1, 2]
    assert {task for _, task in trained} == set(config.tasks) and len(set(trained)) == len(
        config.tasks
    )
    for language in LANGUAGES[1:]:
        assert (
            len(placement.ranks_of(f"encoder.{language}"))
            == len(placement.ranks_of(f"decoder.{language}"))
            == 1
        )
    assert placement.ranks_of("bridge") == placement.ranks_of("encoder.en") == (0, 1, 2)
    loads = [len(placement.tasks_of(process)) for process in range(3)]
    assert max(loads) <= 6 and sum(loads) == 13


def test_a_process_whose_tasks_no_phase_has_waits(tmp_path):
    phases = [{"until_step": 5, "pairs": ["de-en"]}]
    config, schedule = drawn(
        {"type": "uniform", "pairs": ["en-*", "*-en"], "phases": phases}, placement="partitioned"
    )
    placement = build_placement(schedule, config, 4)
    assert [task.name for _, task in placement.batches_at(0)] == ["de-en"] and len(placement.batches_at(5)) == 4


def test_more_processes_than_languages_is_a_sentence():
    config, schedule = drawn(
        {"type": "uniform", "pairs": ["en-*", "*-en"]}, placement="partitioned"
    )
    with pytest.raises(
        ConfigError,
        match=r"over 5 processes, .* are 4 groups \(cs, de, fi, fr\); start 4 processes at most",
    ):
        build_placement(schedule, config, 5)
    config, schedule = drawn(
        {"type": "uniform", "pairs": ["en-de", "de-en"], "copies": ["en"]}, placement="partitioned"
    )
    with pytest.raises(ConfigError, match=r"are 2 groups \(de, en\); start 2 processes at most"):
        build_placement(schedule, config, 3)
