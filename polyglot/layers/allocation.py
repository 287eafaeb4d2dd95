"""Where tensors get their memory from on a CPU."""

from __future__ import annotations

import ctypes
import platform

MMAP_MAX, TRIM_THRESHOLD = -4, -1  # mallopt(3)
NEVER = 2**31 - 1


def keep_freed_memory() -> None:
    """Let the process keep the memory of freed tensors for the next ones.

    glibc hands large blocks back to the system at once, and every step of training faults tens of thousands of fresh pages in
    again: a tenth of its time. Other C libraries have no such switch and are left alone.
    """
    if platform.libc_ver()[0] == "glibc":
        library = ctypes.CDLL(None)
        library.mallopt(MMAP_MAX, 0)
        library.mallopt(TRIM_THRESHOLD, NEVER)
