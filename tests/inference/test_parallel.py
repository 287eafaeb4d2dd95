"""Parallel batches keep their order, share the cores, and leave PyTorch's settings unchanged."""

from __future__ import annotations

import threading
import time

import pytest
import torch

from polyglot.inference.parallel import DEPTH, parallel_map

CPU = torch.device("cpu")


def identity(item):
    return item


def test_results_are_in_order_and_each_thread_has_its_share_of_the_cores(cores):
    all_started = threading.Barrier(min(cores, 3))

    def work(item):
        if item < all_started.parties:
            all_started.wait(timeout=20)
        return item * item, torch.get_num_threads()

    results = list(parallel_map(work, range(3), CPU))
    assert [square for square, _ in results] == [0, 1, 4]
    assert {threads for _, threads in results} == {1}
    assert torch.get_num_threads() == cores


def test_fewer_items_than_cores_share_all_cores():
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    threads = list(parallel_map(lambda item: torch.get_num_threads(), range(2), CPU))
    torch.set_num_threads(before)
    assert threads == [2, 2]


def test_a_single_item_has_all_cores(cores):
    threads = list(parallel_map(lambda item: torch.get_num_threads(), ["item"], CPU))
    assert threads == [cores]


def test_no_items_give_no_results(cores):
    assert list(parallel_map(identity, [], CPU)) == []


def test_other_devices_compute_in_the_callers_thread(cores):
    device = torch.device("meta")
    threads = list(parallel_map(lambda item: threading.current_thread(), range(9), device))
    assert set(threads) == {threading.current_thread()}


def test_threads_that_start_meanwhile_have_all_cores(cores):
    results = parallel_map(identity, range(100), CPU)
    next(results)
    threads = []
    other = threading.Thread(target=lambda: threads.append(torch.get_num_threads()))
    other.start()
    other.join()
    results.close()
    assert threads == [cores]


def test_an_error_is_raised_and_waiting_items_are_cancelled(cores):
    started = []

    def work(item):
        started.append(item)
        time.sleep(0.001)
        raise ValueError(f"item {item}")

    with pytest.raises(ValueError, match="item 0"):
        list(parallel_map(work, range(1000), CPU))
    assert len(started) < 1000
    assert torch.get_num_threads() == cores


def test_items_are_taken_only_as_they_are_needed_and_all_threads_end(cores):
    taken = []

    def items():
        for item in range(1000):
            taken.append(item)
            yield item

    threads = threading.active_count()
    results = parallel_map(identity, items(), CPU)
    for number in range(20):
        assert next(results) == number
        assert torch.get_num_threads() == cores
        assert len(taken) <= number + DEPTH * cores + 1
    torch.set_num_threads(5)  # a change by the caller meanwhile
    results.close()
    assert torch.get_num_threads() == 5
    assert len(taken) < 40
    assert threading.active_count() == threads


def test_an_error_of_the_items_is_raised_after_the_results_before_it(cores):
    def items():
        yield from range(10)
        raise ValueError("the eleventh")

    results = []
    threads = threading.active_count()
    with pytest.raises(ValueError, match="the eleventh"):
        results.extend(parallel_map(identity, items(), CPU))
    assert results == list(range(10))
    assert threading.active_count() == threads
    assert torch.get_num_threads() == cores
