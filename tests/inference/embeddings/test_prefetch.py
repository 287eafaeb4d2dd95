"""Work that overlaps keeps its order, never runs far ahead, and its errors are raised where the results are wanted."""

from __future__ import annotations

import threading

import pytest

from polyglot.inference.embeddings.prefetch import DEPTH, async_writer, prefetch


def test_items_come_in_order_and_no_more_are_made_than_was_said():
    made = []
    items = prefetch(made.append(number) or number for number in range(50))
    assert next(items) == 0 and len(made) <= DEPTH + 1
    assert list(items) == list(range(1, 50))


def test_an_error_of_the_maker_comes_when_its_item_is_wanted():
    def numbers():
        yield 1
        raise ValueError("two")

    items = prefetch(numbers())
    assert next(items) == 1
    with pytest.raises(ValueError, match="two"):
        next(items)


def test_calls_are_made_in_order_in_another_thread_and_are_all_done_at_the_end():
    done = []
    with async_writer(
        lambda number, *, name: done.append((number, name, threading.current_thread()))
    ) as give:
        for number in range(50):
            give(number, name="x")
            assert number + 1 - len(done) <= DEPTH + 1, "few of them wait"
    assert [each[:2] for each in done] == [(number, "x") for number in range(50)]
    assert threading.current_thread() not in {thread for *_, thread in done}


def test_an_error_of_a_call_is_raised_at_the_latest_when_the_block_ends():
    def work(number):
        done.append(number)
        if number == 1:
            raise OSError("full")

    done = []
    with pytest.raises(OSError, match="full"), async_writer(work) as give:
        give(0)
        give(1)
    assert done == [0, 1]
    with pytest.raises(OSError, match="full"), async_writer(work) as give:
        for number in range(50):
            give(number)
    assert max(done) <= 1 + DEPTH, "nothing is done behind an error"
