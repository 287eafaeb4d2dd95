"""Noticing that a process has failed or is gone, so that nobody waits for it."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from functools import partial

from polyglot.core.console import stderr_console
from polyglot.core.errors import TrainingError
from polyglot.core.signals import continue_when_parent_ends
from polyglot.distributed.store import PATIENCE, SHORT_PATIENCE, answer, first_to_say, store

BEAT = 2.0
"""Seconds between two signs of life."""
GRACE = 5.0
"""Seconds that the main thread has for ending by itself."""
GONE = "is gone: it was killed or stopped, or its machine is off"


class Watch(threading.Thread):
    """Gives signs of life, and looks for those of the others: the first process at all of them, the others at the first.

    When one has failed, the main thread learns it wherever it waits; where it cannot be woken, the process ends from here.
    """

    def __init__(self, index: int, number: int) -> None:
        super().__init__(name="watch", daemon=True)
        self.index, self.store = index, store()
        self.watched = range(1, number) if index == 0 else [0]
        self.failure: str | None = None
        """The sentence about the process that failed first."""
        self.waiting = ""
        """What the main thread waits for, as the sentence says it."""
        self.kept: Callable[[], str] = str
        """What is there to go on from."""
        self.silent = False
        """Whether the first process finds out the same by itself, and says it."""
        self._stopped, self._found = threading.Event(), threading.Event()
        self._launcher = os.environ.get("POLYGLOT_LAUNCHED")
        if self._launcher:
            continue_when_parent_ends()

    def run(self) -> None:
        seen, last = {}, time.monotonic()
        while not self._stopped.wait(BEAT):
            now = time.monotonic()
            if now - last > 3 * BEAT:  # this process was asleep, and so perhaps everybody
                seen = {}
            last = now
            try:
                answer(partial(self._look, seen, now), PATIENCE)
            except RuntimeError:
                self._fail(0, GONE)
            if not self.failure and self._launcher not in (None, str(os.getppid())):
                self._fail(self.index, "is alone: the program that started the processes is gone")
                self.silent = self.index > 0
            if self.failure:
                return self._end()

    def stop(self) -> None:
        self._stopped.set()
        if self.is_alive():
            self.join(SHORT_PATIENCE)

    def lost(self) -> TrainingError:
        """What to raise when a connection broke: the sentence about whoever is gone, as soon as that is known."""
        try:
            answer(partial(self.store.set, "hurry", ""), SHORT_PATIENCE)
        except RuntimeError:
            self._fail(0, GONE)
        if not self._found.wait(2 * PATIENCE):
            self._fail(self.index, "lost its connection to another one")
        return TrainingError(self.sentence())

    def sentence(self) -> str:
        waited = f"process {self.index} waited for {self.waiting}" if self.waiting else ""
        try:
            kept = answer(self.kept, SHORT_PATIENCE)
        except RuntimeError:  # the disk may have gone with the machine
            kept = ""
        return "; ".join(part for part in (self.failure, waited, kept) if part)

    def _look(self, seen: dict[int, tuple[int, float]], now: float) -> None:
        self.store.add(f"beat/{self.index}", 1)
        patience = SHORT_PATIENCE if self.store.check(["hurry"]) else PATIENCE
        if self.store.check(["failed"]):
            record = json.loads(self.store.get("failed"))
            self._fail(record["process"], record["what"])
        for other in self.watched:
            beats = self.store.add(f"beat/{other}", 0)
            if other not in seen or seen[other][0] != beats:
                seen[other] = beats, now
            elif now - seen[other][1] > patience:
                what = f"is gone: it gave no sign of life for {now - seen[other][1]:.0f} s"
                self.store.compare_set("failed", "", json.dumps({"process": other, "what": what}))
                self._fail(other, what)

    def _fail(self, process: int, what: str) -> None:
        if not self.failure:
            self.failure = f"process {process} {what}"
            self._found.set()

    def _end(self) -> None:
        """Leave it to the main thread, which may be stuck in a call that nothing wakes."""
        if not self._stopped.wait(GRACE):
            try:
                sentence = self.sentence()
                if not self.silent and first_to_say(self.store):
                    stderr_console.show_cursor()
                    stderr_console.print(f"error: {sentence}", markup=False, highlight=False, soft_wrap=True)
            finally:
                os._exit(2)
