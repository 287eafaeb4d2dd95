"""The processes that train one run together, and what they tell each other besides gradients."""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed
from torch import Tensor
from torch.distributed import ProcessGroup

from polyglot.core.console import stderr_console
from polyglot.core.errors import ConfigError, PolyglotError, TrainingError
from polyglot.core.signals import default_signal_handling, exit_code
from polyglot.distributed.launch import SETS, launched
from polyglot.distributed.store import SHORT_PATIENCE, answer, first_to_say, store, waited
from polyglot.distributed.watch import Watch

if TYPE_CHECKING:
    from accelerate import PartialState

logger = logging.getLogger("polyglot")

TIMEOUT = timedelta(hours=2)
"""The longest that anybody waits for processes that are all alive, also while these are halted; who is gone is missed much sooner."""
SOON, LATE = 20.0, 600.0
"""Seconds that a process waits for the others at the beginning until it says so, and until it gives up."""
LINGER = 6.0
"""Seconds that the first process, which holds the store, leaves the others to read it."""


class Processes:
    """This process among those that train a run together; one alone has nobody to talk to, and every call returns at once."""

    def __init__(self, index: int = 0, number: int = 1) -> None:
        self.index, self.number = index, number
        self.watch: Watch | None = None
        self._groups: dict[tuple[int, ...], ProcessGroup | None] = {tuple(range(number)): None}
        if number > 1:
            self.store, self.watch = store(), Watch(index, number)
            self._talk = torch.distributed.new_group(
                backend="gloo", timeout=TIMEOUT
            )  # what the CPU says waits for no device
            self.watch.start()

    @property
    def main(self) -> bool:
        """Whether it is the one that writes and speaks."""
        return self.index == 0

    @classmethod
    @contextmanager
    def together(cls) -> Iterator[Processes]:
        """The processes that a launcher has started, by its environment variables; without them this one alone.

        When one fails, the others end within a minute, and each mistake is said once. Raises ConfigError where they cannot meet.
        """
        if launched() in (None, 1):
            yield cls()
            return
        with default_signal_handling(), _meeting():
            state = _meet()
            processes = cls(state.process_index, state.num_processes)
        if not processes.main:
            logger.setLevel(logging.CRITICAL)
        try:
            yield processes
            processes.meet("end")
        except BaseException as error:
            processes._failed(error)
            raise
        processes.watch.stop()
        processes._leave()
        state.destroy_process_group()

    def tells_what_is_kept(self, kept: Callable[[], str]) -> None:
        """What there is to go on from, for the sentence about a process that is gone: asked for when that happens."""
        if self.watch:
            self.watch.kept = kept

    def gather(self, value: Any, what: str = "the others") -> list[Any]:
        """What each process gives, by its number; whoever comes first waits. what: is waited for, for the sentence about one that is
        gone."""
        if self.number == 1:
            return [value]
        values = [None] * self.number
        with self.waiting(what):
            torch.distributed.all_gather_object(values, value, group=self._talk)
        return values

    def gather_numbers(self, numbers: Sequence[int], what: str) -> list[list[int]]:
        """The same for whole numbers, equally many of each process: quick enough for every update."""
        own = torch.tensor(numbers, dtype=torch.int64)
        rows = [torch.empty_like(own) for _ in range(self.number)]
        with self.waiting(what):
            torch.distributed.all_gather(rows, own, group=self._talk)
        return [row.tolist() for row in rows]

    def group(self, members: Sequence[int]) -> ProcessGroup | None:
        """The group of these processes for tensors of the device. Everybody asks for the same groups in the same order."""
        members = tuple(members)
        if members not in self._groups:
            self._groups[members] = torch.distributed.new_group(list(members), timeout=TIMEOUT)
        return self._groups[members]

    def copy(self, tensors: Sequence[Tensor], *, sender: int, receiver: int, what: str) -> None:
        """Tensors of one process into those of another; the third parties go on."""
        with self.waiting(what):
            for tensor in tensors:
                if self.index == sender:
                    torch.distributed.send(tensor.detach().contiguous(), receiver)
                elif self.index == receiver:
                    torch.distributed.recv(tensor, sender)

    def meet(self, place: str) -> None:
        """Go on when all are there, however long that takes."""
        if self.number > 1:
            self._set(f"{place}/{self.index}", "")
            for other in range(self.number):
                self._wait_for(f"{place}/{other}", f"process {other} ({place})")

    def first_by_main(self, place: str, work: Callable[[], Any]) -> Any:
        """Work that the others only begin when the first process has done it, however long that takes: they find what it left on the
        disk."""
        if not self.main:
            self._wait_for(place, f"what the first process prepares ({place})")
        result = work()
        if self.main and self.number > 1:
            self._set(place, "")
        return result

    def tell(self, key: str, value: Any) -> Any:
        """What the first process says, as JSON holds it, to everybody, however long it takes to find out."""
        if self.number == 1:
            return value
        if self.main:
            self._set(key, json.dumps(value))
        self._wait_for(key, f"what the first process says ({key})")
        return json.loads(self.store.get(key))

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """A broken connection becomes the sentence about who is gone and what was waited for."""
        self.watch.waiting = what
        try:
            yield
        except RuntimeError as error:
            logger.debug("%s", error)
            raise self._lost() from None
        self.watch.waiting = ""

    def _wait_for(self, key: str, what: str) -> None:
        with self.waiting(what):
            while not self.store.check([key]):
                if self.watch.failure:
                    raise self._lost()
                time.sleep(0.05)

    def _set(self, key: str, value: str) -> None:
        with self.waiting("the store of the first process"):
            self.store.set(key, value)

    def _lost(self) -> TrainingError:
        return Lost(str(self.watch.lost()))

    def _failed(self, error: BaseException) -> None:
        """Tell the others, and end in silence what is said by one of them: of an interruption that is the first."""
        self.watch.stop()
        interrupted = isinstance(error, KeyboardInterrupt)
        if isinstance(error, Lost):
            quiet = self.watch.silent or not first_to_say(self.store)
        else:
            quiet = interrupted and not self.main
            what = f"has failed: {error if isinstance(error, PolyglotError) else f'{type(error).__name__} {error}'}"
            what = "was interrupted" if interrupted else what
            try:
                if not quiet and isinstance(error, (PolyglotError, KeyboardInterrupt)):
                    first_to_say(self.store)  # so that the others, who hear of it, need not
                record = json.dumps({"process": self.index, "what": what})
                before = json.loads(
                    answer(partial(self.store.compare_set, "failed", "", record), SHORT_PATIENCE)
                )
                quiet |= (
                    not interrupted and before["process"] != self.index and before["what"] == what
                )
            except RuntimeError:  # the store went with the first process
                pass
        self._leave()
        if quiet:
            raise SystemExit(exit_code(error) if interrupted else 2) from None

    def _leave(self) -> None:
        """The first process holds the store, and goes last: the others read there why it ends, or that all are through."""
        try:
            left = answer(partial(self.store.add, "left", 1), SHORT_PATIENCE)
            end = time.monotonic() + LINGER
            while self.main and left < self.number and time.monotonic() < end:
                time.sleep(0.1)
                left = self.store.add("left", 0)
        except RuntimeError:
            pass


class Lost(TrainingError):
    """Another process is gone."""


def _meet() -> PartialState:
    """accelerate's state with the process group in it; on the CPU where there is no accelerator."""
    from accelerate import PartialState  # here: who only reads checkpoints need not load it
    from accelerate.utils import parse_flag_from_env

    devices = torch.accelerator.device_count() if torch.accelerator.is_available() else 0
    cpu = (
        not devices
        or parse_flag_from_env("ACCELERATE_USE_CPU")
        or torch.accelerator.current_accelerator().type == "mps"
    )
    local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    if not cpu and local > devices:
        raise ConfigError(
            f"{local} processes on this machine, which has {devices} devices; start one for each"
        )
    _look_up(os.environ["MASTER_ADDR"])
    state = PartialState(cpu=cpu, timeout=TIMEOUT)
    if state.num_processes != launched():
        raise ConfigError(
            f"a launcher has started {launched()} processes, and accelerate counts {state.num_processes}; {SETS}"
        )
    return state


def _look_up(name: str) -> None:
    """Whether there is such a machine, or soon will be. Raises OSError for one that nobody knows."""
    deadline = time.monotonic() + SOON
    while True:
        try:
            socket.getaddrinfo(name, None)
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


@contextmanager
def _meeting() -> Iterator[None]:
    """Around what waits for all of them at the beginning, before anybody gives signs of life: it is said that it takes long, once on each
    machine, and it has an end, which must come from another thread, since nothing wakes the main one.

    Raises ConfigError where they cannot meet.
    """
    where = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    sentence = f"the processes cannot meet at {where}: {{}}; were all of them started, with the same address?".format
    met, speaks = threading.Event(), os.environ["LOCAL_RANK"] == "0"

    def say(words: str) -> None:
        if speaks:
            stderr_console.print(words, markup=False, highlight=False, soft_wrap=True)

    def watch() -> None:
        if not waited(met, SOON):
            say(f"process {os.environ['RANK']} waits for the others at {where}")
            if not waited(met, LATE - SOON):
                say(f"error: {sentence(f'not all came within {LATE:.0f} s')}")
                os._exit(2)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    except (RuntimeError, OSError, ValueError) as error:
        raise ConfigError(sentence(str(error).partition("\n")[0])) from None
    finally:
        met.set()
