"""Batches side by side: on a CPU, threads with a core each finish more than all cores together on one small operation after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from threading import Barrier
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")
DEPTH = 2  # items of each thread that are begun, wait or are done and not yet taken: nobody waits for the next


def parallel_map(
    work: Callable[[Item], Result], items: Iterable[Item], device: torch.device
) -> Iterator[Result]:
    """What `work` makes of each item, in order, as it is ready; on a CPU by as many threads as PyTorch would use for one operation.

    Items are asked for by the caller's thread, few more than were taken, so that there may be any number of them; what asking raises
    comes after the results of those before. PyTorch's number of threads stays what it is for everybody else. The threads begin with its
    defaults: `work` itself turns gradients off.
    """
    items = iter(items)
    first = list(islice(items, torch.get_num_threads())) if device.type == "cpu" else []
    if len(first) <= 1:
        yield from map(work, chain(first, items))
        return
    threads, items = len(first), chain(first, items)
    del first  # what was done with is kept by nobody
    pool, waiting, failure = _threads(threads), deque(), None
    try:
        while failure is None:
            try:
                waiting.append(pool.submit(work, next(items)))
            except Exception as error:  # also the end
                failure = error
            while waiting and (failure or len(waiting) == DEPTH * threads or waiting[0].done()):
                yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
    if not isinstance(failure, StopIteration):
        raise failure


def _threads(count: int) -> ThreadPoolExecutor:
    """So many threads that have begun, each with its share of the cores."""
    cores, ready = torch.get_num_threads(), Barrier(count + 1)

    def begin() -> None:
        torch.set_num_threads(cores // count)
        torch.get_num_threads()  # a thread takes over the number when it first asks, and then keeps it
        ready.wait()

    pool = ThreadPoolExecutor(count)
    for _ in range(count):
        pool.submit(begin)
    ready.wait()
    torch.set_num_threads(cores)  # what threads that begin later take for theirs
    return pool
