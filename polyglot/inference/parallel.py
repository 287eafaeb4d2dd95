"""Parallel computation of batches in threads.

On a CPU, threads with one core each are faster than all cores together on one small operation
after the other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from threading import Barrier
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")
DEPTH = 2
"""Items in progress or finished for each thread, so that no thread waits for the next item."""


def parallel_map(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    device: torch.device,
) -> Iterator[Result]:
    """Apply `work` to the items in threads, and yield the results in order as they are ready.

    On a CPU, PyTorch's threads for one operation are divided among as many threads of this pool.
    On other devices, or for a single item, the caller's thread does the work.

    The caller's thread takes the items from the iterable, only a few more than the results it has
    yielded, so that there may be any number of items. An exception of the iterable is raised after
    the results of the items before it. PyTorch's number of threads does not change for other
    threads. The pool's threads start with PyTorch's defaults: `work` itself turns gradients off.
    """
    iterator = iter(items)
    first = []
    if device.type == "cpu":
        first = list(islice(iterator, torch.get_num_threads()))
    if len(first) <= 1:
        yield from map(work, chain(first, iterator))
        return

    threads = len(first)
    remaining = chain(first, iterator)
    del first  # finished items must not stay in memory
    pool = _start_threads(threads)
    pending: deque[Future[Result]] = deque()
    end: Exception | None = None
    try:
        while end is None:
            try:
                pending.append(pool.submit(work, next(remaining)))
            except Exception as error:  # also StopIteration
                end = error
            while pending:
                is_full = len(pending) == DEPTH * threads
                if end is None and not is_full and not pending[0].done():
                    break
                yield pending.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
    if not isinstance(end, StopIteration):
        raise end


def _start_threads(count: int) -> ThreadPoolExecutor:
    """Start a pool of threads, each with an equal share of PyTorch's cores."""
    cores = torch.get_num_threads()
    ready = Barrier(count + 1)

    def set_cores() -> None:
        torch.set_num_threads(cores // count)
        torch.get_num_threads()  # PyTorch fixes a thread's number of cores at the first query
        ready.wait()

    pool = ThreadPoolExecutor(count)
    for _ in range(count):
        pool.submit(set_cores)
    ready.wait()
    torch.set_num_threads(cores)  # the default of threads that start later
    return pool
