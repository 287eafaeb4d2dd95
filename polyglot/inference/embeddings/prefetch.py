"""Overlapping work: tokenise the next sentences and write the last vectors in other threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

Item = TypeVar("Item")
Arguments = ParamSpec("Arguments")
DEPTH = 2
"""Items in progress or ready: one to take and one to make."""


def prefetch(items: Iterable[Item]) -> Iterator[Item]:
    """Iterate over the items in another thread, up to `DEPTH` items ahead of the caller.

    Exceptions of the iterable are raised in the caller's thread, in the place of their item.
    """
    iterator = iter(items)
    end = object()
    worker = ThreadPoolExecutor(1)
    try:
        pending = deque(worker.submit(next, iterator, end) for _ in range(DEPTH))
        while True:
            item = pending.popleft().result()
            if item is end:
                return
            pending.append(worker.submit(next, iterator, end))
            yield item
    finally:
        worker.shutdown(cancel_futures=True)


@contextmanager
def async_writer(write: Callable[Arguments, object]) -> Iterator[Callable[Arguments, None]]:
    """Context manager that gives an asynchronous version of `write`.

    The calls are made in order in another thread; at most `DEPTH` of them wait. All are done when
    the context ends, and their exceptions are raised in the caller's thread.

    The writer has the new thread, not the caller: a new thread that computes would first have to
    build its own memory pool and its own worker threads.
    """
    worker = ThreadPoolExecutor(1)
    pending: deque[Future[object]] = deque()

    def submit(*arguments: Arguments.args, **options: Arguments.kwargs) -> None:
        if len(pending) == DEPTH:
            pending.popleft().result()
        pending.append(worker.submit(write, *arguments, **options))

    try:
        yield submit
        while pending:
            pending.popleft().result()
    finally:
        worker.shutdown(cancel_futures=True)
