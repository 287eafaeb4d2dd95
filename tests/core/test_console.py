"""Consoles survive a closed terminal, and print text of somebody else as text."""

from __future__ import annotations

import io
import logging
import os
import pty

import pytest
from rich.table import Table
from rich.text import Text

from polyglot.core.console import (
    CONTROL_CHARACTERS,
    DisconnectSafeStream,
    LogHandler,
    SafeConsole,
    StderrConsole,
    visible,
)
from polyglot.core.tables import FoldedTable


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


# Text of somebody else


def printed(*items, **options):
    """Print to a safe console and return the output."""
    output = io.StringIO()
    console = SafeConsole(file=output, width=80, force_terminal=False)
    for item in items:
        console.print(item, **options)
    return output.getvalue()


@pytest.mark.parametrize("text", ["\x1b]0;title\x07", "\x1b[31mred", "a\rb", "\x9b2J", "a\u202eb"])
def test_control_characters_are_printed_as_text(text):
    table = Table("name")
    table.add_row(text)
    table.add_row(Text(text))
    for item in (text, Text(text), table):
        assert not CONTROL_CHARACTERS.search(printed(item))


def test_escape_character_is_printed_by_its_number():
    assert printed("a\x1b[31mb") == "a\\x1b[31mb\n"


def test_markup_and_emoji_codes_stay_as_they_are():
    table = Table("[red]head", title="[red]title")
    table.add_row("[bold]:x:[/]")
    output = printed("[red]:x:[/] [/nothing]", table)
    assert "[red]:x:[/] [/nothing]" in output
    assert "[bold]:x:[/]" in output
    assert "[red]head" in output
    assert "[red]title" in output


def test_bytes_of_a_file_name_that_are_not_utf8_are_escaped():
    name = b"caf\xe9".decode(errors="surrogateescape")
    assert printed(name).encode() == b"caf\\udce9\n"


def test_tab_and_line_feed_are_not_changed():
    assert visible("a\tb\nc") == "a\tb\nc"


def test_long_log_lines_are_not_wrapped(monkeypatch):
    errors = io.StringIO()
    monkeypatch.setattr("sys.stderr", errors)
    monkeypatch.setenv("COLUMNS", "20")
    message = "word " * 30 + "end"
    LogHandler().emit(logging.makeLogRecord({"msg": message}))
    assert errors.getvalue() == f"{message}\n"


def test_lines_do_not_end_with_blanks_unless_printed_to_a_terminal():
    table = Table.grid()
    table.add_row(Text("title, longer than a row"))
    table.add_row("row")
    printed = {}
    for is_terminal in (False, True):
        stream = io.StringIO()
        console = SafeConsole(file=stream, force_terminal=is_terminal, width=60)
        console.print(table)
        console.print(FoldedTable("language", "text", text_columns={"text"}))
        printed[is_terminal] = stream.getvalue().splitlines()
    assert len(printed[False]) == len(printed[True])
    assert any(line.endswith(" ") for line in printed[True])
    assert not any(line.endswith(" ") for line in printed[False])
