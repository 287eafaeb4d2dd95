"""Thread with the model: translates the sentences of waiting requests together.

All requests wait in one queue. A batch has the sentences of as many requests as fit, in any mixture
of directions. A long request is translated in several batches, between those of other requests.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Any

from polyglot.inference.mixed_directions import DirectedSentence
from polyglot.inference.types import Translation
from polyglot.serving.limits import UNAVAILABLE, Limits, RequestError

TranslateMixed = Callable[[Sequence[DirectedSentence]], Iterable[tuple[int, list[Translation]]]]
"""Function that returns the position and the n best translations of each sentence, in any order."""

logger = logging.getLogger("polyglot")


@dataclass(eq=False)
class Job:
    """Work that waits for the model, and the future of its result."""

    size: int
    """sentences"""
    future: Future[Any] = field(default_factory=Future)
    is_abandoned: bool = False
    """True if its client waits no longer"""
    is_started: bool = False

    def begin(self) -> bool:
        """Start or continue the job; return False if it has ended or its client has left.

        A job that has started cannot be cancelled.
        """
        if self.is_abandoned:
            return False
        if not self.is_started:
            self.is_started = True
            return self.future.set_running_or_notify_cancel()
        return not self.future.done()


@dataclass(eq=False)
class CallJob(Job):
    """Call of a function that uses the model, such as for scores."""

    function: Callable[[], Any] = field(kw_only=True)


@dataclass(eq=False)
class TranslationJob(Job):
    """Sentences to translate. Several batches may have parts of them."""

    sentences: Sequence[DirectedSentence] = field(kw_only=True)
    taken: int = 0
    """sentences that are in a batch, or were in one"""
    translations: dict[int, list[Translation]] = field(default_factory=dict)
    """n best translations by the position of the sentence"""

    def take(self, count: int) -> JobPart:
        """Return at most `count` sentences that no batch had."""
        start = self.taken
        sentences = self.sentences[start : start + count]
        self.taken += len(sentences)
        return JobPart(self, start, sentences)

    def add(self, position: int, translations: list[Translation]) -> None:
        """Add the translations of a sentence; the last missing ones complete the result."""
        self.translations[position] = translations
        self.complete()

    def complete(self) -> None:
        """Set the result, a list in the order of the sentences, if nothing is missing."""
        if len(self.translations) == self.size and not self.future.done():
            result = [self.translations[number] for number in range(self.size)]
            self.future.set_result(result)


@dataclass(frozen=True)
class JobPart:
    """Consecutive sentences of a translation job in one batch."""

    job: TranslationJob
    start: int
    sentences: Sequence[DirectedSentence]


@dataclass(frozen=True)
class Batch:
    """Calls, and parts of translation jobs that are translated together after them."""

    calls: list[CallJob] = field(default_factory=list)
    parts: list[JobPart] = field(default_factory=list)


class ModelWorker:
    """Queue of jobs, and the thread that does them."""

    def __init__(self, translate: TranslateMixed, limits: Limits) -> None:
        """translate: for the sentences of a batch."""
        self._translate = translate
        self._limits = limits
        self._jobs: deque[Job] = deque()
        self._waiting = 0
        self._is_closed = False
        self._condition = Condition()
        self._thread = Thread(target=self._run, name="model", daemon=True)

    @property
    def waiting_sentences(self) -> int:
        """Sentences that are in no batch yet."""
        return self._waiting

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Do the jobs that wait, and end the thread; further jobs are refused."""
        with self._condition:
            self._is_closed = True
            self._condition.notify()
        if self._thread.is_alive():
            self._thread.join(timeout=self._limits.seconds)

    def submit(self, job: Job) -> None:
        """Append a job to the queue. Raises RequestError if the queue is full or closed."""
        with self._condition:
            if self._is_closed:
                raise RequestError(UNAVAILABLE, "the server is stopping; try again later")
            waiting = self._waiting + job.size
            if self._jobs and waiting > self._limits.waiting_sentences:
                raise RequestError(
                    UNAVAILABLE,
                    f"the server is busy: {self._waiting} sentences wait for the model, and "
                    f"{self._limits.waiting_sentences} may; try again later",
                )
            self._waiting = waiting
            self._jobs.append(job)
            self._condition.notify()

    def _run(self) -> None:
        while True:
            batch = self._next_batch()
            if batch is None:
                return
            for job in batch.calls:
                _call(job)
            if batch.parts:
                self._translate_parts(batch.parts)

    def _next_batch(self) -> Batch | None:
        """Wait for jobs, and shortly for further ones; None if the queue is closed and empty."""
        with self._condition:
            self._condition.wait_for(lambda: self._jobs or self._is_closed)
            if not self._jobs:
                return None
            self._condition.wait_for(self._is_full, timeout=self._limits.collect_seconds)
            return self._take_batch()

    def _is_full(self) -> bool:
        return self._is_closed or self._waiting >= self._limits.batch_sentences

    def _take_batch(self) -> Batch:
        """Take jobs from the queue up to the size of a batch; the rest of a long one goes last."""
        batch = Batch()
        unfinished = []
        remaining = self._limits.batch_sentences
        while self._jobs and remaining > 0:
            job = self._jobs.popleft()
            if not job.begin():
                self._waiting -= _untaken(job)
                continue
            if isinstance(job, TranslationJob):
                part = job.take(remaining)
                batch.parts.append(part)
                count = len(part.sentences)
                if _untaken(job) > 0:
                    unfinished.append(job)
            else:
                batch.calls.append(job)
                count = job.size
            remaining -= count
            self._waiting -= count
        self._jobs.extend(unfinished)
        return batch

    def _translate_parts(self, parts: Sequence[JobPart]) -> None:
        """Translate parts of jobs together. After an error, the parts are tried one by one."""
        sentences: list[DirectedSentence] = []
        places: list[tuple[TranslationJob, int]] = []
        for part in parts:
            for number, sentence in enumerate(part.sentences, part.start):
                sentences.append(sentence)
                places.append((part.job, number))
            part.job.complete()  # a job without sentences
        try:
            for row, translations in self._translate(sentences):
                job, number = places[row]
                job.add(number, translations)
        except Exception as error:  # the request gets it, and the thread goes on
            self._translate_apart(parts, error)

    def _translate_apart(self, parts: Sequence[JobPart], error: Exception) -> None:
        """Translate the parts of unfinished jobs one by one; a single part ends its job."""
        if len(parts) == 1:
            _fail(parts[0].job, error)
            return
        for part in parts:
            if not part.job.future.done():
                self._translate_parts([part])


def _untaken(job: Job) -> int:
    """Sentences of a job that are in no batch."""
    if isinstance(job, TranslationJob):
        return job.size - job.taken
    return job.size


def _call(job: CallJob) -> None:
    try:
        result = job.function()
    except Exception as error:  # the request gets it, and the thread goes on
        _fail(job, error)
    else:
        job.future.set_result(result)


def _fail(job: Job, error: Exception) -> None:
    """End a job with an error, of which its client is told."""
    if not job.future.done():
        job.future.set_exception(error)
