"""Termination signals: interruption, exit codes, and signals that the process ignores."""

from __future__ import annotations

import signal
import time

import pytest

from polyglot.core.signals import (
    TERMINATION_SIGNALS,
    active_signals,
    cancel_deferred_interrupt,
    default_signal_handling,
    defer_interrupt_during_import,
    exit_code,
    signal_handler,
    terminate_as_interrupt,
)


def test_sigterm_becomes_an_interrupt_and_the_previous_handler_is_restored():
    handler = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt) as interrupt, terminate_as_interrupt():
        signal.raise_signal(signal.SIGTERM)
    assert exit_code(interrupt.value) == 143
    assert exit_code(KeyboardInterrupt()) == 130
    assert signal.getsignal(signal.SIGTERM) == handler


def test_default_handling_is_temporary():
    handler = signal.getsignal(signal.SIGINT)
    with default_signal_handling():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) == handler


@pytest.mark.parametrize("ignored", TERMINATION_SIGNALS)
def test_an_ignored_signal_stays_ignored(ignored):
    """Such as Ctrl-C in the background, and the end of the terminal under `nohup`."""
    with signal_handler([ignored], signal.SIG_IGN):
        assert active_signals() == [number for number in TERMINATION_SIGNALS if number != ignored]
        with terminate_as_interrupt(), default_signal_handling():
            assert signal.getsignal(ignored) is signal.SIG_IGN
            signal.raise_signal(ignored)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_each_signal_has_its_exit_code_and_a_second_signal_is_ignored(number, status):
    with terminate_as_interrupt():
        with pytest.raises(KeyboardInterrupt) as interrupt:
            signal.raise_signal(number)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)
    assert exit_code(interrupt.value) == status


@pytest.fixture
def interrupted_import():
    """Ctrl-C in code that looks like Python's import system; the code is finished."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGALRM)}
    defer_interrupt_during_import()
    names = {"raise_signal": signal.raise_signal, "SIGINT": signal.SIGINT, "finished": False}
    code = "raise_signal(SIGINT)\nfinished = True"
    assert not is_interrupted(lambda: run_as_import(code, names))
    assert names["finished"]
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number, handler in handlers.items():
        signal.signal(number, handler)


def run_as_import(code, names):
    exec(compile(code, "<frozen importlib._bootstrap>", "exec"), names)


def is_interrupted(function):
    try:
        function()
    except KeyboardInterrupt:
        return True
    return False


def test_an_interrupt_during_an_import_comes_after_it(interrupted_import):
    assert is_interrupted(lambda: time.sleep(5))


def test_an_interrupt_during_an_import_does_not_come_after_the_work(interrupted_import):
    cancel_deferred_interrupt()
    assert not is_interrupted(lambda: time.sleep(0.1))  # twice as long as the interrupt waits
