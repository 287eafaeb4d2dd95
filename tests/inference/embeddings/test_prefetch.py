"""Overlapping work keeps its order, has a limit, and raises errors in the caller's thread."""

from __future__ import annotations

import threading

import pytest

from polyglot.inference.embeddings.prefetch import DEPTH, async_writer, prefetch


def test_prefetch_keeps_the_order_and_is_only_a_few_items_ahead():
    started = []

    def numbers():
        for number in range(50):
            started.append(number)
            yield number

    items = prefetch(numbers())
    assert next(items) == 0
    assert len(started) <= DEPTH + 1
    assert list(items) == list(range(1, 50))


def test_prefetch_iterates_in_another_thread():
    def threads():
        yield threading.current_thread()

    (thread,) = prefetch(threads())
    assert thread is not threading.current_thread()


def test_prefetch_raises_an_error_in_the_place_of_its_item():
    def numbers():
        yield 1
        raise ValueError("two")

    items = prefetch(numbers())
    assert next(items) == 1
    with pytest.raises(ValueError, match="two"):
        next(items)


def test_async_writer_makes_all_calls_in_order_in_another_thread():
    calls = []

    def write(number, *, name):
        calls.append((number, name))
        threads.add(threading.current_thread())

    threads = set()
    with async_writer(write) as submit:
        for number in range(50):
            submit(number, name="x")
            assert number + 1 - len(calls) <= DEPTH + 1
    assert calls == [(number, "x") for number in range(50)]
    assert len(threads) == 1
    assert threading.current_thread() not in threads


def failing_write(calls):
    def write(number):
        calls.append(number)
        if number == 1:
            raise OSError("full")

    return write


def test_async_writer_raises_an_error_when_the_context_ends():
    calls = []
    with pytest.raises(OSError, match="full"), async_writer(failing_write(calls)) as submit:
        submit(0)
        submit(1)
    assert calls == [0, 1]


def test_async_writer_raises_an_error_during_later_calls():
    calls = []
    with pytest.raises(OSError, match="full"), async_writer(failing_write(calls)) as submit:
        for number in range(50):
            submit(number)
    assert max(calls) <= 1 + DEPTH
