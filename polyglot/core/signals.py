"""Signals that ask the process to end: Ctrl-C (SIGINT), SIGTERM, and a closed terminal (SIGHUP)."""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

RETRY_INTERVAL = 0.05  # seconds
HAS_TIMERS = hasattr(signal, "setitimer")
PR_SET_PDEATHSIG = 1  # prctl(2)

TERMINATION_SIGNALS = [signal.SIGINT, signal.SIGTERM]
if hasattr(signal, "SIGHUP"):
    TERMINATION_SIGNALS.append(signal.SIGHUP)

Handler = Callable[[int, FrameType | None], object]


def active_signals(
    signals: Sequence[signal.Signals] = TERMINATION_SIGNALS,
) -> list[signal.Signals]:
    """Return those of the signals that the process does not ignore.

    A process in the background or under `nohup` is started with some of them ignored.
    """
    return [number for number in signals if signal.getsignal(number) is not signal.SIG_IGN]


def continue_when_parent_ends() -> None:
    """Send SIGCONT to this process when its parent ends, so that it notices if it is stopped.

    Only on Linux.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGCONT)


def defer_interrupt_during_import() -> None:
    """Let Ctrl-C wait for the end of an import, which takes a second at most.

    NumPy takes an interrupt during its import for a failure of its own and imports again, which
    ends in a traceback or ignores the interrupt. On a system without timers, Ctrl-C does not
    wait.
    """
    signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, or try again later if an import is running."""
    if HAS_TIMERS and _is_importing(frame):
        signal.signal(signal.SIGALRM, lambda _, later_frame: _interrupt(number, later_frame))
        signal.setitimer(signal.ITIMER_REAL, RETRY_INTERVAL)
        return
    raise KeyboardInterrupt(number)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def cancel_deferred_interrupt() -> None:
    """Cancel a Ctrl-C that still waits for an import: the work is done."""
    if HAS_TIMERS:
        signal.setitimer(signal.ITIMER_REAL, 0)


@contextmanager
def terminate_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM and SIGHUP like Ctrl-C, so that the work is saved.

    A second signal is ignored, so that it does not interrupt the saving.
    """
    signals = [number for number in active_signals() if number != signal.SIGINT]

    def interrupt_once(number: int, frame: FrameType | None) -> None:
        for ignored in signals:
            signal.signal(ignored, signal.SIG_IGN)
        _interrupt(number, frame)

    with signal_handler(signals, interrupt_once):
        yield


@contextmanager
def call_on_signal(function: Callable[[int], object]) -> Iterator[None]:
    """Call a function with the number of a termination signal, so that the work can end soon.

    A second Ctrl-C interrupts at once. Signals that the process ignores stay ignored. Only the main
    thread may set signal handlers; in other threads, this context does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    signals = active_signals()

    def handle(number: int, frame: FrameType | None) -> None:
        function(number)
        if signal.SIGINT in signals:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    with signal_handler(signals, handle):
        yield


@contextmanager
def default_signal_handling() -> Iterator[None]:
    """Let termination signals end the process at once, as by default; ignored signals stay ignored.

    For code that waits in C++ and does not notice signals, and before any work begins.
    """
    with signal_handler(active_signals(), signal.SIG_DFL):
        yield


@contextmanager
def signal_handler(signals: Sequence[int], handler: Handler | signal.Handlers) -> Iterator[None]:
    """Install a handler for some signals, and restore their previous handlers at the end."""
    previous = {number: signal.signal(number, handler) for number in signals}
    try:
        yield
    finally:
        for number, previous_handler in previous.items():
            signal.signal(number, previous_handler)


def exit_code(interruption: KeyboardInterrupt) -> int:
    """Return the exit code as shells do: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP."""
    number = signal.SIGINT
    if interruption.args:
        number = interruption.args[0]
    return 128 + number
