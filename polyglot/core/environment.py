"""How the process handles its memory and its threads, and what libraries say aside."""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import platform
import sys

MMAP_MAX, TRIM_THRESHOLD = -4, -1  # mallopt(3)
NEVER = 2**31 - 1
SHAPE_CACHES = (
    "LRU_CACHE_CAPACITY",
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY",
)  # PyTorch's, and oneDNN's own
SHAPES = 128


def keep_freed_memory() -> None:
    """Let the process keep the memory of freed tensors for the next ones, and take it in large pages. Before PyTorch is loaded.

    glibc hands large blocks back to the system at once, and every step of training would fault tens of thousands of fresh pages in
    again. Other C libraries have no such switch and are left alone. Large pages (2 MiB) are PyTorch's own
    setting; where the system has none, nothing changes.
    """
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    if platform.libc_ver()[0] == "glibc":
        library = ctypes.CDLL(None)
        library.mallopt(MMAP_MAX, 0)
        library.mallopt(TRIM_THRESHOLD, NEVER)


def limit_shape_caches() -> None:
    """Bound what PyTorch and oneDNN keep of products on a CPU: what they prepared for the last shapes, no more than 128 each unless the
    user's environment says otherwise. Before PyTorch is loaded.

    By default they keep 1024, and as batches are seldom alike training fills much of both, with hundreds of megabytes; training and search
    were not seen to take longer with 128.
    """
    for name in SHAPE_CACHES:
        os.environ.setdefault(name, str(SHAPES))


def hide_library_warnings() -> None:
    """Leave out the warnings of PyTorch's own code, unless the user's environment says otherwise. Before PyTorch is loaded.

    When one of several processes ends, each of the others would show the stack of every connection before the sentence that says so.
    """
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")


def reduce_garbage_collection() -> None:
    """Look for unreachable circles of objects after 100 000 new ones, and not at all when the process ends.

    Loading PyTorch makes hundreds of thousands of objects that all stay; by Python's default they are looked through again and again,
    and once more at the end, which together is a good part of the time of a short command.
    """
    gc.set_threshold(100_000, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)


def shorten_switch_interval() -> None:
    """Let a thread that runs Python hand over to another that waits for its turn after a millisecond, instead of Python's five.

    Where batches are computed side by side, every operation of each begins with a bit of Python, and has to wait while text is cut into
    pieces beside it: writing sentence embeddings took a twentieth longer.
    """
    sys.setswitchinterval(0.001)
