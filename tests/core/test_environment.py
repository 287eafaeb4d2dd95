"""What the program asks of its process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from polyglot.core.environment import SHAPE_CACHES, hide_library_warnings

SAY = """
from polyglot.core.environment import reduce_garbage_collection, keep_freed_memory
keep_freed_memory()
reduce_garbage_collection()
import gc, os
import torch
states = [torch.ones(1 << 20) for _ in range(4)]
print(os.environ["THP_MEM_ALLOC_ENABLE"], gc.get_threshold()[0], sum(float(each.sum()) for each in states))
"""


@pytest.mark.parametrize("given", [None, "0"])
def test_large_pages_unless_told_otherwise_and_rare_collections(given):
    environment = {key: value for key, value in os.environ.items() if key != "THP_MEM_ALLOC_ENABLE"}
    environment |= {} if given is None else {"THP_MEM_ALLOC_ENABLE": given}
    done = subprocess.run(
        [sys.executable, "-c", SAY], env=environment, capture_output=True, text=True, check=True
    )
    assert (
        done.stdout.split() == [given or "1", "100000", str(4.0 * (1 << 20))] and done.stderr == ""
    )


MULTIPLY = """
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


@pytest.mark.parametrize(
    ("given", "grows"), [({}, False), (dict.fromkeys(SHAPE_CACHES, "1024"), True)]
)
def test_memory_does_not_grow_with_the_shapes_of_products_unless_told_otherwise(given, grows):
    environment = {
        key: value for key, value in os.environ.items() if key not in SHAPE_CACHES
    } | given
    done = subprocess.run(
        [sys.executable, "-c", MULTIPLY],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (float(done.stdout) > 100) == grows, f"{done.stdout.strip()} MiB"


@pytest.mark.parametrize("given", [None, "INFO"])
def test_warnings_of_libraries_unless_told_otherwise(given, monkeypatch):
    monkeypatch.setenv("TORCH_CPP_LOG_LEVEL", "INFO")
    if not given:
        monkeypatch.delenv("TORCH_CPP_LOG_LEVEL")
    hide_library_warnings()
    assert os.environ["TORCH_CPP_LOG_LEVEL"] == (given or "ERROR")
