"""Batches side by side: on a CPU, threads with a core each finish more than all cores together on one small operation after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")
DEPTH = 2  # items of each thread that are begun, wait or are done and not yet taken: nobody waits for the next


def side_by_side(work: Callable[[Item], Result], items: Iterable[Item], device: torch.device) -> Iterator[Result]:
    """What `work` makes of each item, in order, as it is ready; on a CPU by as many threads as PyTorch would use for one operation.

    Items are asked for by the caller's thread, few more than were taken, so that there may be any number of them. Its own number of
    PyTorch's threads stays what it is. The others begin with PyTorch's defaults: `work` itself turns gradients off.
    """
    cores, items = torch.get_num_threads(), iter(items)
    first = list(islice(items, cores)) if device.type == "cpu" else []
    if len(first) <= 1:
        yield from map(work, chain(first, items))
        return
    threads = len(first)
    pool, waiting = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(cores // threads,)), deque()
    try:
        for item in chain(first, items):
            waiting.append(pool.submit(work, item))
            if len(waiting) == DEPTH * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(cores)  # what threads that begin later take for theirs
