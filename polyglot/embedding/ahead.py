"""Work that overlaps: while one portion is embedded, the next is tokenised and the last one written."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
DEPTH = 2  # portions that are ready or being made: one to take, one to make


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The same items in the same order, made in a thread of their own before they are asked for; what it raises is raised here."""
    iterator, end = iter(items), object()
    worker = ThreadPoolExecutor(1)
    try:
        waiting = deque(worker.submit(next, iterator, end) for _ in range(DEPTH))
        while (item := waiting.popleft().result()) is not end:
            waiting.append(worker.submit(next, iterator, end))
            yield item
    finally:
        worker.shutdown(cancel_futures=True)
