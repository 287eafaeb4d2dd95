"""What the program asks of its process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SAY = """
from polyglot.process import collect_rarely, keep_freed_memory
keep_freed_memory()
collect_rarely()
import gc, os
import torch
states = [torch.ones(1 << 20) for _ in range(4)]
print(os.environ["THP_MEM_ALLOC_ENABLE"], gc.get_threshold()[0], sum(float(each.sum()) for each in states))
"""


@pytest.mark.parametrize("given", [None, "0"])
def test_large_pages_unless_told_otherwise_and_rare_collections(given):
    environment = {key: value for key, value in os.environ.items() if key != "THP_MEM_ALLOC_ENABLE"}
    environment |= {} if given is None else {"THP_MEM_ALLOC_ENABLE": given}
    done = subprocess.run([sys.executable, "-c", SAY], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [given or "1", "100000", str(4.0 * (1 << 20))] and done.stderr == ""
