"""Settings of the process: memory allocation, threads, caches and warnings of libraries."""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import platform
import sys

# Parameters of mallopt(3).
MMAP_MAX = -4
TRIM_THRESHOLD = -1
NEVER = 2**31 - 1

SHAPE_CACHES = ("LRU_CACHE_CAPACITY", "ONEDNN_PRIMITIVE_CACHE_CAPACITY")
"""Environment variables for the cache sizes of PyTorch and of oneDNN."""
SHAPES = 128

WAITING_VARIABLES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
"""Environment variables by which a user chooses how OpenMP's threads wait."""
SPINS = 1_000
"""Rounds of the empty loop of a waiting thread; GNU's default is 300 000."""


def keep_freed_memory() -> None:
    """Keep the memory of freed tensors in the process, in large pages. Call before PyTorch loads.

    By default glibc returns large blocks to the system at once, and every training step causes
    tens of thousands of page faults. Other C libraries have no such setting. Large pages (2 MiB)
    are a setting of PyTorch; on a system without them nothing changes.
    """
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    if platform.libc_ver()[0] == "glibc":
        library = ctypes.CDLL(None)
        library.mallopt(MMAP_MAX, 0)
        library.mallopt(TRIM_THRESHOLD, NEVER)


def limit_shape_caches() -> None:
    """Limit the caches of prepared operations on a CPU to 128 shapes. Call before PyTorch loads.

    By default PyTorch and oneDNN keep 1024 each. Batches seldom have equal shapes, so training
    fills the caches with hundreds of megabytes; a limit of 128 did not slow training or search.
    The user's environment has priority.
    """
    for name in SHAPE_CACHES:
        os.environ.setdefault(name, str(SHAPES))


def limit_waiting_loops() -> None:
    """Let a thread that waits for the others sleep soon. Call before PyTorch loads.

    OpenMP's threads wait for each other after every operation, with GNU's library in an empty loop
    of about a millisecond. If another program uses one of the cores, the loop keeps a core from the
    thread that the others wait for. With 1 000 rounds, two threads train `multi30k/tiny` twice as
    fast beside a busy process, and 4 to 15 % slower on a quiet machine of two cores.
    The user's environment has priority.
    """
    if not any(name in os.environ for name in WAITING_VARIABLES):
        os.environ["GOMP_SPINCOUNT"] = str(SPINS)


def hide_library_warnings() -> None:
    """Hide the C++ warnings of PyTorch. Call before PyTorch loads.

    If one of several ranks ends, each other rank would print a stack trace for every connection
    before our message. The user's environment has priority.
    """
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")


def reduce_garbage_collection() -> None:
    """Collect reference cycles after 100 000 new objects, and not at the end of the process.

    PyTorch creates hundreds of thousands of objects that are never freed. With Python's default,
    the collector visits them many times, a large part of the time of a short command.
    """
    gc.set_threshold(100_000, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)


def shorten_switch_interval() -> None:
    """Let Python threads switch after 1 ms instead of 5 ms.

    Batches are computed in parallel threads while text is tokenised; each operation starts with
    a little Python code and waits for its turn. At 5 ms, sentence embeddings took 5 % longer.
    """
    sys.setswitchinterval(0.001)
