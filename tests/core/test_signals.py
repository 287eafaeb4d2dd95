"""How the process is interrupted."""

from __future__ import annotations

import signal

import pytest

from polyglot.core.signals import (
    TERMINATION_SIGNALS,
    active_signals,
    default_signal_handling,
    exit_code,
    signal_handler,
    terminate_as_interrupt,
)


def test_a_polite_end_is_an_interruption_with_a_status_of_its_own():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt) as end, terminate_as_interrupt():
        signal.raise_signal(signal.SIGTERM)
    assert exit_code(end.value) == 143 and exit_code(KeyboardInterrupt()) == 130
    assert signal.getsignal(signal.SIGTERM) == before


def test_an_interruption_at_once_asks_nobody_in_this_process():
    before = signal.getsignal(signal.SIGINT)
    with default_signal_handling():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) == before


@pytest.mark.parametrize("ignored", TERMINATION_SIGNALS)
def test_what_a_process_was_started_to_ignore_is_not_heard(ignored):
    """As Ctrl-C in the background, and the end of the terminal under `nohup`."""
    with signal_handler([ignored], signal.SIG_IGN):
        assert active_signals() == [number for number in TERMINATION_SIGNALS if number != ignored]
        with terminate_as_interrupt(), default_signal_handling():
            assert signal.getsignal(ignored) is signal.SIG_IGN
            signal.raise_signal(ignored)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_every_polite_end_has_its_status_and_a_second_one_does_not_disturb(number, status):
    with terminate_as_interrupt():
        with pytest.raises(KeyboardInterrupt) as end:
            signal.raise_signal(number)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)
    assert exit_code(end.value) == status
