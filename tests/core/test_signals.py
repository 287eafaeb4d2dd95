"""How the process is interrupted."""

from __future__ import annotations

import signal

import pytest

from polyglot.core.signals import (
    ENDS,
    handled,
    heard,
    interrupted_at_once,
    polite_end_interrupts,
    status_of,
)


def test_a_polite_end_is_an_interruption_with_a_status_of_its_own():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt) as end, polite_end_interrupts():
        signal.raise_signal(signal.SIGTERM)
    assert status_of(end.value) == 143 and status_of(KeyboardInterrupt()) == 130
    assert signal.getsignal(signal.SIGTERM) == before


def test_an_interruption_at_once_asks_nobody_in_this_process():
    before = signal.getsignal(signal.SIGINT)
    with interrupted_at_once():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) == before


@pytest.mark.parametrize("ignored", ENDS)
def test_what_a_process_was_started_to_ignore_is_not_heard(ignored):
    """As Ctrl-C in the background, and the end of the terminal under `nohup`."""
    with handled([ignored], signal.SIG_IGN):
        assert heard() == [number for number in ENDS if number != ignored]
        with polite_end_interrupts(), interrupted_at_once():
            assert signal.getsignal(ignored) is signal.SIG_IGN
            signal.raise_signal(ignored)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_every_polite_end_has_its_status_and_a_second_one_does_not_disturb(number, status):
    with polite_end_interrupts():
        with pytest.raises(KeyboardInterrupt) as end:
            signal.raise_signal(number)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)
    assert status_of(end.value) == status
