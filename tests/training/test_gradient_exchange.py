"""Several processes compute the updates of one process, and exchange only what was trained."""

from __future__ import annotations

import json
import re
import shutil
from collections import deque
from contextlib import contextmanager

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
from polyglot.training import build
from polyglot.training.placement import Placement, Replicated, build_placement
from polyglot.training.validation import Validator
from tests.builders.runs import make_trainer, tiny_run, tiny_settings, train
from tests.training.parallel_cases import (
    CASES,
    CASES_BY_NUMBER,
    SLOW_CASES,
    STEPS,
    STOP_STEP,
    half_settings,
    settings,
)
from tests.training.parallel_workers import CONTINUED, DIVERGING, FAILING, STOPPED, Workers

NUMBERED_CASES = []
for processes, names in CASES_BY_NUMBER.items():
    for case in names:
        mark = pytest.mark.slow if (processes, case) in SLOW_CASES else ()
        NUMBERED_CASES.append(pytest.param(processes, case, marks=mark))
STREAMED_CASES = []
for case in CASES:
    if case.startswith("streamed"):
        mark = pytest.mark.slow if (2, case) in SLOW_CASES else ()
        STREAMED_CASES.append(pytest.param(case, marks=mark))


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    """Workers by their number; they are started at the first use and train on request."""
    started = {}

    def start(number):
        if number not in started:
            started[number] = Workers(number, tmp_path_factory.mktemp(f"by-{number}"))
        return started[number]

    yield start
    for group in started.values():
        group.close()


# One process that accumulates the batches of all -------------------------------------------------


class CollectedPlacement(Placement):
    """Placement of one process that trains the batches of several ranks."""

    def __init__(self, placement):
        super().__init__(placement.schedule, placement.config, 1)
        self.placement = placement
        self.ranks = deque()
        """ranks of the batches that were not taken yet"""

    def batches_at(self, step):
        plan = self.placement.batches_at(step)
        self.ranks.extend(batch.rank for batch in plan)
        return [batch._replace(rank=0) for batch in plan]


class CollectedStreams:
    """Streams of one task of all ranks that read it, in one process."""

    def __init__(self, dataset, config, placement):
        self.ranks = placement.ranks
        self.readers = placement.placement.readers(dataset.task)
        self.streams = []
        for reader in range(len(self.readers)):
            stream = StreamedBatches(
                dataset,
                config.batching,
                seed=config.seed,
                reader_index=reader,
                reader_count=len(self.readers),
            )
            self.streams.append(stream)
        self.fingerprint = self.streams[0].fingerprint

    def take(self, *, is_local):
        rank = self.ranks.popleft()
        self.current = self.streams[self.readers.index(rank)]
        return self.current.take()

    def batch(self, taken):
        return self.current.batch(taken)

    @property
    def position(self):
        positions = {}
        for stream in self.streams:
            positions.update(stream.position)
        return positions


@contextmanager
def collecting(number):
    """Let trainers that are built inside accumulate the batches of this number of ranks."""

    def placement(schedule, config, processes):
        return CollectedPlacement(build_placement(schedule, config, number))

    def streams(config, datasets, placement, processes):
        if not any(isinstance(text, build.StreamedDataset) for text in datasets.values()):
            return build_streams(config, datasets, placement, processes)
        collected = {}
        for name, dataset in datasets.items():
            collected[name] = CollectedStreams(dataset, config, placement)
        return collected

    build_streams = build.build_streams
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "build_placement", placement)
        patch.setattr(build, "build_streams", streams)
        yield


def train_on_one_process(folder, name, number):
    """Train the same case on one process that accumulates the batches of all."""
    run = tiny_run(folder, f"{name} alone", **settings(name))
    with collecting(number):
        trainer = make_trainer(run, Validator(run))
    trainer.train()
    return run


def last_checkpoint(run):
    [checkpoint] = checkpoints.choose(run.checkpoints, "last")
    assert checkpoint.step == run.config.training.steps
    return checkpoint


def tensors_of(checkpoint):
    """Parameters and optimizer state, by name."""
    tensors = {}
    for component in checkpoint.components:
        for key, tensor in checkpoint.component(component).items():
            tensors[f"{component}/{key}"] = tensor
    for key, tensor in checkpoint.training_tensors().items():
        tensors[f"optimizer/{key}"] = tensor
    return tensors


def check_close(tensors, expected):
    """Compare up to rounding.

    Gradients that nearly cancel out are mostly the rounding of their parts, and the optimizer
    stores gradients.
    """
    assert tensors.keys() == expected.keys()
    for key, tensor in expected.items():
        tolerance = 1e-3 if key.startswith("optimizer/") else 1e-6
        difference = tensors[key].double() - tensor.double()
        assert difference.norm() <= tolerance * tensor.double().norm(), key


def log_lines(run, kind):
    lines = [json.loads(line) for line in run.log.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line["kind"] == kind]


def check_same_log(run, expected_run):
    compared = {"training": ("step", "loss", "gradient_norm"), "validation": ("step", "value")}
    for kind, keys in compared.items():
        pairs = zip(log_lines(run, kind), log_lines(expected_run, kind), strict=True)
        for line, expected in pairs:
            values = {key: line[key] for key in keys}
            assert values == pytest.approx({key: expected[key] for key in keys}, rel=1e-5)
            for key in ("losses", "bleu"):
                assert line.get(key, {}) == pytest.approx(expected.get(key, {}), rel=1e-5)


@pytest.mark.parametrize(("number", "name"), NUMBERED_CASES)
def test_several_processes_equal_one_that_accumulates_the_same_batches(number, name, workers):
    folder = workers(number).train(name)
    run = Run.open(folder / name)
    expected_run = train_on_one_process(folder, name, number)
    checkpoint = last_checkpoint(run)
    expected = last_checkpoint(expected_run)
    check_close(tensors_of(checkpoint), tensors_of(expected))

    state = checkpoint.training_state()
    expected_state = expected.training_state()
    for key in ("positions", "data", "optimizer"):
        assert state[key] == expected_state[key]
    assert state["progress"]["tokens"] == expected_state["progress"]["tokens"]
    check_same_log(run, expected_run)


def gradients_of(trainer, batch):
    """Gradients of the loss of one batch, by component and name; None where it has none."""
    total = trainer.criterion(trainer.model(batch), batch).total
    keys = []
    parameters = []
    for component in component_names(batch.task.pair):
        for name, parameter in trainer.parameters.get(component, {}).items():
            keys.append((component, name))
            parameters.append(parameter)
    return dict(zip(keys, torch.autograd.grad(total, parameters, allow_unused=True)))


def expected_step(trainer, batches, learning_rate):
    """Parameters after a step of SGD along the mean gradient of each component.

    The mean is Σ n·g / Σ n over the batches that train the component, with n target tokens.
    """
    sums = {}
    tokens = {}
    for batch in batches:
        for key, gradient in gradients_of(trainer, batch).items():
            tokens[key] = tokens.get(key, 0) + batch.target_tokens
            if gradient is not None:
                sums[key] = sums.get(key, 0) + batch.target_tokens * gradient

    expected = {}
    for component, parameters in trainer.parameters.items():
        for name, parameter in parameters.items():
            key = (component, name)
            mean = sums[key] / tokens[key] if key in sums else 0
            expected[key] = parameter.detach() - learning_rate * mean
    return expected


def test_each_update_of_two_processes_is_a_step_along_the_mean_gradient(workers, tmp_path):
    name = "plain updates"
    run = Run.open(workers(2).train(name) / name)
    trainer = make_trainer(tiny_run(tmp_path, **settings(name)))
    placement = build_placement(trainer.placement.schedule, run.config, 2)
    for step in range(run.config.training.steps):
        batches = []
        for _, task in placement.batches_at(step):
            stream = trainer.streams[task.name]
            batches.append(stream.batch(stream.take()))
        expected = expected_step(trainer, batches, run.config.optimizer.learning_rate)

        [checkpoint] = checkpoints.choose(run.checkpoints, step + 1)
        checkpoint.load_into(trainer.model.component_tensors())
        for (component, key), tensor in expected.items():
            parameter = trainer.parameters[component][key]
            assert torch.allclose(parameter, tensor, atol=1e-6), (step, component, key)


# What is exchanged -------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "name"), NUMBERED_CASES)
def test_an_update_exchanges_the_bytes_of_the_trained_components(number, name, workers):
    run = Run.open(workers(number).train(name) / name)
    checkpoint = last_checkpoint(run)
    frozen = {"encoder.de", "bridge"} if name == "frozen" else set()
    sizes = {}
    for component in set(checkpoint.components) - frozen:
        tensors = checkpoint.component(component).values()
        sizes[component] = sum(4 * tensor.numel() for tensor in tensors)

    steps = run.config.training.steps
    for rank in range(number):
        facts = workers(number).facts(name, rank)
        assert facts["step"] == len(facts["transferred"]) == steps
        for transferred, tasks in facts["transferred"]:
            trained = set()
            for task in tasks:
                trained.update(component_names(LanguagePair.parse(task), run.config.sharing))
            trained &= set(facts["exchanged"])
            expected = sum(sizes.get(component, 0) for component in trained)
            assert transferred == pytest.approx(expected, rel=0.05)


def test_different_parameters_on_two_processes_are_an_error(workers):
    for rank in range(2):
        message = workers(2).facts(DIVERGING, rank)
        assert message.startswith(
            "step 7: bridge is no longer the same on all processes: "
            "rank 0 and rank 1 have different parameters; "
        )


def test_a_validation_that_fails_on_one_process_loses_no_step(workers):
    """All processes write a checkpoint together, and then end with the error."""
    messages = [workers(2).facts(FAILING, rank) for rank in range(2)]
    assert messages[1] == "no tokenizer"
    assert re.fullmatch(
        "the validation of (de-fr|fr-en) failed in another process: ValueError: no tokenizer",
        messages[0],
    )
    run = Run.open(workers(2).folder / FAILING)
    [checkpoint] = checkpoints.choose(run.checkpoints, "last")
    assert checkpoint.step == 4
    assert tensors_of(checkpoint)


# Resuming ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STREAMED_CASES)
def test_stopped_and_resumed_streams_equal_streams_that_never_stopped(name, workers):
    """Compares, bit for bit, parameters, optimizer state, and positions in the files."""
    never_stopped = Run.open(workers(2).train(name) / name)
    stopped = Run.open(workers(2).train(name + STOPPED) / (name + STOPPED))
    checkpoint = last_checkpoint(stopped)
    expected = last_checkpoint(never_stopped)

    tensors = tensors_of(checkpoint)
    expected_tensors = tensors_of(expected)
    assert tensors.keys() == expected_tensors.keys()
    for key, tensor in expected_tensors.items():
        assert torch.equal(tensors[key], tensor), key
    positions = checkpoint.training_state()["positions"]
    assert positions == expected.training_state()["positions"]

    # The stop was inside a pool and after the first epoch.
    [at_stop] = checkpoints.choose(stopped.checkpoints, STOP_STEP)
    readers = []
    for by_reader in at_stop.training_state()["positions"].values():
        readers += by_reader.values()
    assert any(reader["index"] for reader in readers)
    epochs = [text["epoch"] for reader in readers for text in reader["texts"].values()]
    assert any(epochs)


def test_a_run_continues_partitioned_and_on_one_process_again(workers, tmp_path):
    expected_run = tiny_run(tmp_path, **half_settings())
    train(expected_run)
    expected_run = Run.open_with_overrides(expected_run.path, [f"training.steps={STEPS}"])
    with collecting(2):
        trainer = make_trainer(expected_run)
    trainer.train()

    run = Run.open(workers(2).train(CONTINUED) / CONTINUED)
    [checkpoint] = checkpoints.choose(run.checkpoints, "last")
    check_close(tensors_of(checkpoint), tensors_of(last_checkpoint(expected_run)))

    shutil.copytree(run.path, tmp_path / "again")
    longer = {**run.config.model_dump(), "training": {"steps": STEPS + 4}}
    again = train(Run(tmp_path / "again", check_config(longer, where="again")))
    assert again.progress.step == STEPS + 4
    assert set(again.parameters) == set(checkpoint.components)


# Placement ---------------------------------------------------------------------------------------

LANGUAGES = ["en", "de", "fr", "cs", "fi"]


def build_schedule(schedule, **parallel):
    """Configuration and schedule of a run of five languages."""
    values = {
        "languages": LANGUAGES,
        "data": {"train": [{"type": "phrasebook"}]},
        "training": {"steps": 5},
        "schedule": schedule,
        "parallel": parallel,
    }
    config = check_config(values, where="tiny")
    sizes = {task.pair: 100 for task in config.tasks}
    built = SCHEDULES.build(
        config.schedule, tasks=config.tasks, languages=LANGUAGES, sizes=sizes, seed=1
    )
    return config, built


@pytest.mark.parametrize("kind", ["uniform", "round_robin", "proportional", "temperature"])
def test_three_processes_draw_the_tasks_of_one_with_three_times_as_many_tasks(kind, tmp_path):
    languages = ["en", "de", "fr"]

    def schedule(tasks_per_update):
        config = SCHEDULES.configure(kind, copies=True, tasks_per_update=tasks_per_update)
        tasks = schedule_tasks(config, languages)
        sizes = {task.pair: 10 * (number + 1) for number, task in enumerate(tasks)}
        return SCHEDULES.build(config, tasks=tasks, languages=languages, sizes=sizes, seed=3)

    small = schedule(2)
    large = schedule(6)
    mixed = check_config(tiny_settings(tmp_path), where="tiny")
    same = check_config(tiny_settings(tmp_path, parallel={"tasks": "same"}), where="tiny")
    for step in range(30):
        drawn = Replicated(small, mixed, 3).batches_at(step)
        assert [batch.task for batch in drawn] == large.tasks_at(step)

        drawn = Replicated(small, same, 3).batches_at(step)
        assert [batch.rank for batch in drawn] == [0, 0, 1, 1, 2, 2]
        assert [batch.task for batch in drawn] == 3 * small.tasks_at(step)


@pytest.mark.parametrize("kind", ["uniform", "round_robin", "temperature"])
def test_a_partitioned_run_keeps_each_task_and_each_language_on_one_process(kind):
    config, schedule = build_schedule(
        {"type": kind, "pairs": ["en-*", "*-en"], "copies": True}, placement="partitioned"
    )
    placement = build_placement(schedule, config, 3)

    batches = []
    for step in range(400):
        batches += placement.batches_at(step)
    assert [batch.rank for batch in batches] == 400 * [0, 1, 2]
    assert {batch.task for batch in batches} == set(config.tasks)
    assert len(set(batches)) == len(config.tasks)

    for language in LANGUAGES[1:]:
        assert len(placement.ranks_of(f"encoder.{language}")) == 1
        assert len(placement.ranks_of(f"decoder.{language}")) == 1
    assert placement.ranks_of("bridge") == (0, 1, 2)
    assert placement.ranks_of("encoder.en") == (0, 1, 2)

    loads = [len(placement.tasks_of(rank)) for rank in range(3)]
    assert max(loads) <= 6
    assert sum(loads) == 13


def test_a_process_without_a_task_in_a_phase_trains_nothing():
    phases = [{"until_step": 5, "pairs": ["de-en"]}]
    config, schedule = build_schedule(
        {"type": "uniform", "pairs": ["en-*", "*-en"], "phases": phases}, placement="partitioned"
    )
    placement = build_placement(schedule, config, 4)
    assert [batch.task.name for batch in placement.batches_at(0)] == ["de-en"]
    assert len(placement.batches_at(5)) == 4


@pytest.mark.parametrize(
    ("schedule", "processes", "message"),
    [
        (
            {"type": "uniform", "pairs": ["en-*", "*-en"]},
            5,
            r"4 groups of tasks \(cs, de, fi, fr\), but there are 5 processes; "
            "start at most 4 processes",
        ),
        (
            {"type": "uniform", "pairs": ["en-de", "de-en"], "copies": ["en"]},
            3,
            r"2 groups of tasks \(de, en\), but there are 3 processes; start at most 2 processes",
        ),
    ],
)
def test_more_processes_than_groups_of_tasks_are_an_error(schedule, processes, message):
    config, built = build_schedule(schedule, placement="partitioned")
    with pytest.raises(ConfigError, match=message):
        build_placement(built, config, processes)
