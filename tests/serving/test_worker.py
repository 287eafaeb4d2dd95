"""The queue of the model: batches over requests, order, limits, errors, and the end."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglot.core.errors import DataError
from polyglot.decoding.base import SearchConfig
from polyglot.inference.mixed_directions import DirectedSentence
from polyglot.inference.types import Translation
from polyglot.serving.limits import Limits, RequestError
from polyglot.serving.worker import CallJob, ModelWorker, TranslationJob

CONFIG = SearchConfig()
TIMEOUT = 30


class FakeModel:
    """Translates into upper case, and notes the batches. It can be held at the first batch."""

    def __init__(self, *, held: bool = False) -> None:
        self.batches: list[list[str]] = []
        self.has_started = threading.Event()
        self.may_continue = threading.Event()
        if not held:
            self.may_continue.set()

    def translate(
        self, sentences: Sequence[DirectedSentence]
    ) -> Iterator[tuple[int, list[Translation]]]:
        """Yields from the last sentence to the first."""
        self.batches.append([sentence.line for sentence in sentences])
        self.has_started.set()
        assert self.may_continue.wait(TIMEOUT)
        for row, sentence in reversed(list(enumerate(sentences))):
            if sentence.line == "bad":
                raise DataError("bad sentence")
            yield row, [Translation(sentence.line.upper(), 0.0, 0.0)]


def job(*lines: str) -> TranslationJob:
    sentences = [DirectedSentence(line, "de", "fr", CONFIG) for line in lines]
    return TranslationJob(len(sentences), sentences=sentences)


def texts(finished: TranslationJob) -> list[str]:
    return [best.text for [best] in finished.future.result(TIMEOUT)]


def start(model: FakeModel, **limits: float) -> ModelWorker:
    worker = ModelWorker(model.translate, Limits(**{"collect_seconds": 0.0, **limits}))
    worker.start()
    return worker


def held_worker(model: FakeModel, **limits: float) -> ModelWorker:
    """Worker that is translating `first` until the model may continue."""
    worker = start(model, **limits)
    worker.submit(job("first"))
    assert model.has_started.wait(TIMEOUT)
    return worker


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "bad"]), max_size=7), max_size=8),
    st.integers(1, 6),
)
def test_every_job_gets_its_translations_in_batches_of_limited_size(lines_of_jobs, size):
    model = FakeModel(held=True)
    worker = held_worker(model, batch_sentences=size)
    jobs = [job(*lines) for lines in lines_of_jobs]
    for waiting in jobs:
        worker.submit(waiting)
    model.may_continue.set()
    worker.stop()
    assert not worker.is_alive
    assert worker.waiting_sentences == 0
    for lines, finished in zip(lines_of_jobs, jobs):
        if "bad" in lines:
            with pytest.raises(DataError):
                finished.future.result(TIMEOUT)
        else:
            assert texts(finished) == [line.upper() for line in lines]
    assert max(map(len, model.batches)) <= size


def test_waiting_requests_are_translated_together():
    model = FakeModel(held=True)
    worker = held_worker(model)
    jobs = [job(f"a{number}", f"b{number}") for number in range(10)]
    for waiting in jobs:
        worker.submit(waiting)
    model.may_continue.set()
    for finished in jobs:
        assert len(texts(finished)) == 2
    assert list(map(len, model.batches)) == [1, 20]
    worker.stop()


def test_a_request_waits_for_others_a_moment():
    model = FakeModel()
    worker = start(model, collect_seconds=TIMEOUT, batch_sentences=2)
    first, second = job("a"), job("b")
    worker.submit(first)
    worker.submit(second)
    assert texts(first) + texts(second) == ["A", "B"]
    assert model.batches == [["a", "b"]]
    worker.stop()


def test_a_short_request_is_not_behind_all_of_a_long_one():
    model = FakeModel(held=True)
    worker = held_worker(model, batch_sentences=4)
    long = job(*"abcdefghijklmnop")
    short = job("x")
    worker.submit(long)
    worker.submit(short)
    model.may_continue.set()
    assert texts(long) == list("ABCDEFGHIJKLMNOP")
    assert "x" in model.batches[2]
    worker.stop()


def test_a_full_queue_refuses_and_later_accepts():
    model = FakeModel(held=True)
    worker = held_worker(model, waiting_sentences=3)
    worker.submit(job("a", "b"))
    with pytest.raises(RequestError, match="2 sentences wait for the model, and 3 may") as caught:
        worker.submit(job("c", "d"))
    assert caught.value.status == 503
    last = job("e")
    worker.submit(last)
    model.may_continue.set()
    assert texts(last) == ["E"]
    worker.submit(job("f", "g"))
    worker.stop()


def test_abandoned_and_cancelled_jobs_are_left_out():
    model = FakeModel(held=True)
    worker = held_worker(model)
    abandoned, cancelled, wanted = job("a"), job("b"), job("c")
    for waiting in (abandoned, cancelled, wanted):
        worker.submit(waiting)
    abandoned.is_abandoned = True
    assert cancelled.future.cancel()
    model.may_continue.set()
    assert texts(wanted) == ["C"]
    assert model.batches == [["first"], ["c"]]
    with pytest.raises(CancelledError):
        cancelled.future.result(TIMEOUT)
    worker.stop()
    assert worker.waiting_sentences == 0


def test_the_rest_of_a_long_job_is_left_out_after_its_client_has_gone():
    model = FakeModel(held=True)
    worker = start(model, batch_sentences=2)
    long = job(*"abcdef")
    worker.submit(long)
    assert model.has_started.wait(TIMEOUT)
    long.is_abandoned = True
    model.may_continue.set()
    worker.stop()
    assert model.batches == [["a", "b"]]


def test_a_translation_is_returned_before_its_batch_is_finished():
    may_finish = threading.Event()

    def translate(sentences: Sequence[DirectedSentence]) -> Iterator[tuple[int, list[Translation]]]:
        yield 1, [Translation("B", 0.0, 0.0)]
        assert may_finish.wait(TIMEOUT)
        yield 0, [Translation("A", 0.0, 0.0)]

    worker = ModelWorker(translate, Limits(collect_seconds=TIMEOUT, batch_sentences=2))
    worker.start()
    slow, quick = job("a"), job("b")
    worker.submit(slow)
    worker.submit(quick)
    assert texts(quick) == ["B"]
    assert not slow.future.done()
    may_finish.set()
    assert texts(slow) == ["A"]
    worker.stop()


def test_an_error_of_one_request_does_not_reach_the_others():
    model = FakeModel(held=True)
    worker = held_worker(model)
    good, bad = job("a"), job("bad")
    worker.submit(good)
    worker.submit(bad)
    model.may_continue.set()
    assert texts(good) == ["A"]
    with pytest.raises(DataError):
        bad.future.result(TIMEOUT)
    worker.stop()


def test_calls_run_in_the_thread_of_the_model():
    worker = start(FakeModel())
    names = CallJob(1, function=lambda: threading.current_thread().name)
    failing = CallJob(1, function=lambda: 1 / 0)
    worker.submit(names)
    worker.submit(failing)
    assert names.future.result(TIMEOUT) == "model"
    with pytest.raises(ZeroDivisionError):
        failing.future.result(TIMEOUT)
    worker.stop()


def test_stop_finishes_what_waits_and_refuses_the_rest():
    model = FakeModel(held=True)
    worker = held_worker(model)
    waiting = job("a")
    worker.submit(waiting)
    model.may_continue.set()
    worker.stop()
    assert texts(waiting) == ["A"]
    with pytest.raises(RequestError, match="stopping"):
        worker.submit(job("b"))
