"""Work that overlaps: while one portion is embedded, the next is tokenised and the last one written."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

Item = TypeVar("Item")
Given = ParamSpec("Given")
DEPTH = 2  # portions that are ready or being made: one to take, one to make


def prefetch(items: Iterable[Item]) -> Iterator[Item]:
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


@contextmanager
def async_writer(work: Callable[Given, object]) -> Iterator[Callable[Given, None]]:
    """Does the same calls in the same order in a thread of their own, while the caller makes the next; what one raises is raised here.

    The caller, which computes, stays in its own thread: another one would have its memory and its helpers to get first.
    """
    worker, waiting = ThreadPoolExecutor(1), deque()

    def give(*values: Given.args, **named: Given.kwargs) -> None:
        if len(waiting) == DEPTH:
            waiting.popleft().result()
        waiting.append(worker.submit(work, *values, **named))

    try:
        yield give
        while waiting:
            waiting.popleft().result()
    finally:
        worker.shutdown(cancel_futures=True)
