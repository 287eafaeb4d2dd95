"""Settings of the process: memory, garbage collection and warnings of libraries."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from polyglot.core.environment import (
    SHAPE_CACHES,
    SPINS,
    WAITING_VARIABLES,
    hide_library_warnings,
    limit_waiting_loops,
)

ALLOCATE_TENSORS = """
from polyglot.core.environment import reduce_garbage_collection, keep_freed_memory
keep_freed_memory()
reduce_garbage_collection()
import gc, os
import torch
tensors = [torch.ones(1 << 20) for _ in range(4)]
total = sum(float(tensor.sum()) for tensor in tensors)
print(os.environ["THP_MEM_ALLOC_ENABLE"], gc.get_threshold()[0], total)
"""
MULTIPLY_MANY_SHAPES = """
import psutil
from polyglot.core.environment import limit_shape_caches
limit_shape_caches()
import torch
from polyglot.layers.linear import Linear
layer = Linear(16, 32)
for rows in range(1, 1001):
    layer(torch.ones(rows, 16, requires_grad=True)).sum().backward()
    if rows == 200:
        before = psutil.Process().memory_info().rss
print((psutil.Process().memory_info().rss - before) / 2**20)
"""


def run_python(code, *, without=(), variables=None):
    """Run code in a new process and return the finished process."""
    environment = {name: value for name, value in os.environ.items() if name not in without}
    environment.update(variables or {})
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done


@pytest.mark.parametrize(
    ("variables", "setting"), [({}, "1"), ({"THP_MEM_ALLOC_ENABLE": "0"}, "0")]
)
def test_large_pages_unless_the_user_sets_the_variable(variables, setting):
    done = run_python(ALLOCATE_TENSORS, without=["THP_MEM_ALLOC_ENABLE"], variables=variables)
    assert done.stderr == ""
    assert done.stdout.split() == [setting, "100000", str(4.0 * (1 << 20))]


@pytest.mark.parametrize(
    ("variables", "grows"),
    [
        ({}, False),
        pytest.param(dict.fromkeys(SHAPE_CACHES, "1024"), True, marks=pytest.mark.slow),
    ],
)
def test_memory_does_not_grow_with_the_number_of_shapes_by_default(variables, grows):
    done = run_python(MULTIPLY_MANY_SHAPES, without=SHAPE_CACHES, variables=variables)
    growth = float(done.stdout)
    assert (growth > 100) == grows, f"{growth} MiB"


@pytest.mark.parametrize("level", [None, "INFO"])
def test_library_warnings_are_hidden_unless_the_user_sets_the_variable(level, monkeypatch):
    monkeypatch.setenv("TORCH_CPP_LOG_LEVEL", "INFO")
    if level is None:
        monkeypatch.delenv("TORCH_CPP_LOG_LEVEL")
    hide_library_warnings()
    assert os.environ["TORCH_CPP_LOG_LEVEL"] == (level or "ERROR")


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, str(SPINS)),
        ({"GOMP_SPINCOUNT": "7"}, "7"),
        ({"OMP_WAIT_POLICY": "active"}, None),
    ],
)
def test_waiting_threads_sleep_soon_unless_the_user_chooses(variables, expected, monkeypatch):
    for name in WAITING_VARIABLES:
        monkeypatch.setenv(name, "")  # restored afterwards
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    limit_waiting_loops()
    assert os.environ.get("GOMP_SPINCOUNT") == expected
