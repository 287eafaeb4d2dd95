"""What a step frees, the next one gets without asking the system."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

STEPS = """
import resource, torch
from polyglot.layers.allocation import keep_freed_memory
keep_freed_memory()
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.zeros(16 * 2**20)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such switch")
def test_a_large_tensor_finds_the_pages_of_the_one_before():
    """64 MiB are 16,384 pages of 4 KiB. In a process of its own, which stays as it is."""
    done = subprocess.run([sys.executable, "-c", STEPS], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1000
