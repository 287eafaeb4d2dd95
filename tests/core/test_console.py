"""What is said aside, and who is there to read it."""

from __future__ import annotations

import os
import pty

import pytest

from polyglot.core.console import DisconnectSafeStream, StderrConsole


@pytest.fixture
def terminal():
    """Its own side, and a stream that writes to it."""
    own, other = pty.openpty()
    with open(other, "w", encoding="utf-8") as stream:
        yield own, stream


def test_a_terminal_that_is_gone_stops_nobody(terminal):
    own, stream = terminal
    lasting = DisconnectSafeStream(stream)
    lasting.write("there\n")
    lasting.flush()
    assert os.read(own, 100) == b"there\r\n" and lasting.isatty() and lasting.encoding == "utf-8"
    os.close(own)
    for _ in range(2):
        lasting.write("gone\n")
        lasting.flush()


def test_the_console_takes_standard_error_of_now(terminal, monkeypatch):
    own, stream = terminal
    console = StderrConsole(stderr=True)
    monkeypatch.setattr("sys.stderr", stream)
    console.print("there")
    assert os.read(own, 100) == b"there\r\n"
    os.close(own)
    console.print("gone")


def test_a_reader_that_has_seen_enough_is_another_thing():
    reading, writing = os.pipe()
    os.close(reading)
    with pytest.raises(BrokenPipeError), open(writing, "w", encoding="utf-8") as stream:
        DisconnectSafeStream(stream).write("there\n")
        DisconnectSafeStream(stream).flush()
