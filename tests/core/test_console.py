"""The console on standard error survives a closed terminal."""

from __future__ import annotations

import os
import pty

import pytest

from polyglot.core.console import DisconnectSafeStream, StderrConsole


@pytest.fixture
def terminal():
    """Descriptor of a terminal, and a stream that writes to it."""
    descriptor, program_side = pty.openpty()
    with open(program_side, "w", encoding="utf-8") as stream:
        yield descriptor, stream


def test_output_after_the_end_of_the_terminal_is_discarded(terminal):
    descriptor, stream = terminal
    safe_stream = DisconnectSafeStream(stream)
    safe_stream.write("open\n")
    safe_stream.flush()
    assert os.read(descriptor, 100) == b"open\r\n"
    assert safe_stream.isatty()
    assert safe_stream.encoding == "utf-8"
    os.close(descriptor)
    for _ in range(2):
        safe_stream.write("closed\n")
        safe_stream.flush()


def test_the_console_writes_to_the_current_standard_error(terminal, monkeypatch):
    descriptor, stream = terminal
    console = StderrConsole(stderr=True)
    monkeypatch.setattr("sys.stderr", stream)
    console.print("open")
    assert os.read(descriptor, 100) == b"open\r\n"
    os.close(descriptor)
    console.print("closed")


def test_a_closed_pipe_is_still_an_error():
    reading_end, writing_end = os.pipe()
    os.close(reading_end)
    with pytest.raises(BrokenPipeError), open(writing_end, "w", encoding="utf-8") as stream:
        DisconnectSafeStream(stream).write("open\n")
        DisconnectSafeStream(stream).flush()
