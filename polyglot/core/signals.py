"""How the process hears that it is to end: Ctrl-C, a polite end (SIGTERM), a terminal that is gone (SIGHUP)."""

from __future__ import annotations

import ctypes
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

LOOK_AGAIN = 0.05  # seconds
TIMERS = hasattr(signal, "setitimer")
PR_SET_PDEATHSIG = 1  # prctl(2)
TERMINATION_SIGNALS = [
    signal.SIGINT,
    signal.SIGTERM,
    *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []),
]


def active_signals(numbers: Sequence[signal.Signals] = TERMINATION_SIGNALS) -> list[signal.Signals]:
    """Of these signals, by default those that ask for an end, the ones that this process was not started to ignore: it is in the background
    or under `nohup`."""
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]


def continue_when_parent_ends() -> None:
    """Let a process that somebody has halted go on when the one that started it ends, so that it notices; on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGCONT)


def defer_interrupt_during_import() -> None:
    """Let Ctrl-C wait for the end of an import, which takes a second at most.

    In the middle of one, NumPy takes it for a failure of its own and tries again, which ends in its traceback, or nobody hears it.
    A system without timers interrupts where it stands.
    """
    signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    place = frame if TIMERS else None
    while place is not None:
        if place.f_code.co_filename.startswith("<frozen importlib"):
            signal.signal(signal.SIGALRM, lambda _, later: _interrupt(number, later))
            signal.setitimer(signal.ITIMER_REAL, LOOK_AGAIN)
            return
        place = place.f_back
    raise KeyboardInterrupt(number)


@contextmanager
def terminate_as_interrupt() -> Iterator[None]:
    """Let a polite end, also that of the terminal, be what Ctrl-C is, so that what was begun is put away; a second one does not disturb
    that."""
    polite = [number for number in active_signals() if number != signal.SIGINT]

    def end(number: int, frame: FrameType | None) -> None:
        for each in polite:
            signal.signal(each, signal.SIG_IGN)
        _interrupt(number, frame)

    with signal_handler(polite, end):
        yield


@contextmanager
def default_signal_handling() -> Iterator[None]:
    """Let Ctrl-C and a polite end do what the system does with them: for waiting in C++, which hears of nothing else, and before anything
    has begun. What is not heard, as in the background, stays so."""
    with signal_handler(active_signals(), signal.SIG_DFL):
        yield


@contextmanager
def signal_handler(
    numbers: Sequence[int], handler: Callable[[int, FrameType | None], object] | signal.Handlers
) -> Iterator[None]:
    """Let signals be handled so; what handled them before comes back."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, each in before.items():
            signal.signal(number, each)


def exit_code(interruption: KeyboardInterrupt) -> int:
    """The exit status, as shells say it: 130, or 143 after a polite end, 129 when the terminal is gone."""
    return 128 + next(iter(interruption.args), signal.SIGINT)


def cancel_deferred_interrupt() -> None:
    """Forget a Ctrl-C that still waits: the work is done."""
    if TIMERS:
        signal.setitimer(signal.ITIMER_REAL, 0)
