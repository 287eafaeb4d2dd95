"""Streamed text that cannot be read: training ends with a message, and no step is lost."""

from __future__ import annotations

import errno
import os

import pytest
import torch

from polyglot.core.errors import DataError
from polyglot.data import open_files
from polyglot.data.streaming import StreamedBatches
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from tests.builders.runs import tiny_run, train

STEPS = 9
SECTIONS = {
    "training": {"steps": STEPS},
    "data": {"train": [{"type": "text", "path": "train.{language}", "streaming": True}]},
    "batching": {"size": 8, "buffer": 20},
    "schedule": {"copies": True, "tasks_per_update": 2},
}


def last_tensors(run: Run) -> dict[str, torch.Tensor]:
    [checkpoint] = checkpoints.choose(run.checkpoints, "last")
    assert checkpoint.step == STEPS
    tensors = {}
    for component in checkpoint.components:
        for name, tensor in checkpoint.component(component).items():
            tensors[f"{component}/{name}"] = tensor
    return tensors


@pytest.fixture(scope="module")
def expected_tensors(tmp_path_factory) -> dict[str, torch.Tensor]:
    run = tiny_run(tmp_path_factory.mktemp("whole"), **SECTIONS)
    train(run)
    return last_tensors(run)


@pytest.mark.parametrize("failing_batch", [1, 8, 9, 16])
def test_training_continues_where_the_text_could_not_be_read(
    failing_batch, tmp_path, monkeypatch, expected_tensors
):
    taken = 0
    take = StreamedBatches.take

    def take_or_fail(self, *, is_local=True):
        nonlocal taken
        taken += 1
        if taken == failing_batch:
            raise DataError("train.de, line 7: not UTF-8")
        return take(self, is_local=is_local)

    run = tiny_run(tmp_path, **SECTIONS)
    monkeypatch.setattr(StreamedBatches, "take", take_or_fail)
    with pytest.raises(DataError, match="train.de, line 7: not UTF-8; .*checkpoint"):
        train(run)
    finished_steps = (failing_batch - 1) // 2
    assert checkpoints.steps(run.checkpoints)[-1] == finished_steps

    train(Run.open(run.path))
    tensors = last_tensors(run)
    assert tensors.keys() == expected_tensors.keys()
    for name, expected in expected_tensors.items():
        assert torch.equal(tensors[name], expected), name


def test_without_free_descriptors_training_ends_with_a_checkpoint(
    tmp_path, monkeypatch, expected_tensors
):
    reads = 0
    pread = os.pread

    def read_or_fail(descriptor, size, position):
        nonlocal reads
        reads += 1
        if reads > 12:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return pread(descriptor, size, position)

    run = tiny_run(tmp_path, **SECTIONS)
    monkeypatch.setattr("polyglot.data.text_files.SMALL_BLOCK", 64)
    with monkeypatch.context() as patch:
        patch.setattr(open_files.os, "pread", read_or_fail)
        with pytest.raises(DataError, match="Too many open files; `ulimit -n` shows the limit"):
            train(run)

    train(Run.open(run.path))
    tensors = last_tensors(run)
    for name, expected in expected_tensors.items():
        assert torch.equal(tensors[name], expected), name
