"""Batches side by side come in order, each thread with its share of the cores, and leave PyTorch's settings as they were."""

from __future__ import annotations

import threading
import time

import pytest
import torch

from polyglot.inference.parallel import DEPTH, parallel_map

CPU = torch.device("cpu")


def test_results_come_in_order_from_as_many_threads_as_cores(cores):
    meeting = threading.Barrier(min(cores, 3))

    def work(item):
        if item < meeting.parties:
            meeting.wait(timeout=20)  # nobody goes on before all threads have begun
        return item * item, torch.get_num_threads()

    found = list(parallel_map(work, range(3), CPU))
    assert [square for square, _ in found] == [0, 1, 4]
    assert {own for _, own in found} == {1}
    assert torch.get_num_threads() == cores


def test_one_batch_has_all_cores(cores):
    assert list(parallel_map(lambda item: torch.get_num_threads(), ["one"], CPU)) == [cores]
    assert list(parallel_map(lambda item: torch.get_num_threads(), [], CPU)) == []


def test_threads_that_begin_meanwhile_have_all_cores(cores):
    found, others = parallel_map(lambda item: item, range(100), CPU), []
    next(found)
    other = threading.Thread(target=lambda: others.append(torch.get_num_threads()))
    other.start()
    other.join()
    found.close()
    assert others == [cores]


def test_an_error_is_raised_and_what_has_not_begun_does_not_begin(cores):
    begun = []

    def work(item):
        begun.append(item)
        time.sleep(0.001)
        raise ValueError(f"item {item}")

    with pytest.raises(ValueError, match="item 0"):
        list(parallel_map(work, range(1000), CPU))
    assert len(begun) < 1000 and torch.get_num_threads() == cores


def test_no_more_is_asked_for_than_is_needed_and_the_caller_keeps_its_cores(cores):
    asked, there = [], threading.active_count()
    found = parallel_map(
        lambda item: item, (asked.append(item) or item for item in range(1000)), CPU
    )
    for number in range(20):
        assert next(found) == number and torch.get_num_threads() == cores
        assert len(asked) <= number + DEPTH * cores + 1
    torch.set_num_threads(3)  # the caller's own wish, meanwhile
    found.close()
    assert torch.get_num_threads() == 3
    assert len(asked) < 40 and threading.active_count() == there, "no thread is left"


def test_what_asking_raises_is_raised_in_its_place(cores):
    def items():
        yield from range(10)
        raise ValueError("the eleventh")

    done, there = [], threading.active_count()
    with pytest.raises(ValueError, match="the eleventh"):
        done.extend(parallel_map(lambda item: item, items(), CPU))
    assert (
        done == list(range(10))
        and threading.active_count() == there
        and torch.get_num_threads() == cores
    )
