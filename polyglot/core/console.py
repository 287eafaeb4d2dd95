"""Consoles: text of users is never interpreted, and control characters are visible.

Names, paths and sentences may come from somebody else. They cannot change colours, move the cursor
or set the title of the terminal, and `[red]` or `:x:` stay as they are.
"""

from __future__ import annotations

import errno
import logging
import os
import re
from collections.abc import Iterable
from typing import IO, Any

from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.text import Text

CONTROL_CHARACTERS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""All except tab and line feed; also the characters that reverse the direction of a line, and
surrogates, which stand for bytes of a file name that are not UTF-8."""


def visible(text: str) -> str:
    """Replace control characters by escapes, such as ESC by `\\x1b`."""
    return CONTROL_CHARACTERS.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


RIGHT_TO_LEFT = (
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
"""Characters of the scripts that are written from right to left, such as Hebrew and Arabic."""

RIGHT_TO_LEFT_TEXT = re.compile(
    rf"{RIGHT_TO_LEFT}(?:(?:(?!  )(?:{RIGHT_TO_LEFT}|[^\w\n\x1b]|\d))*{RIGHT_TO_LEFT})?"
)
"""Words from right to left, with single spaces, digits and punctuation between them."""

TRAILING_BLANKS = re.compile(r" +(?=\n)")

FIRST_STRONG_ISOLATE = "\u2068"
POP_ISOLATE = "\u2069"


def isolate_right_to_left(text: str) -> str:
    """Isolate words from right to left, so that they do not reorder the numbers beside them.

    The marks of Unicode (UAX 9) take no place; a terminal without bidirectional text ignores them.
    """
    return RIGHT_TO_LEFT_TEXT.sub(
        lambda match: f"{FIRST_STRONG_ISOLATE}{match[0]}{POP_ISOLATE}",
        text,
    )


class SafeConsole(Console):
    """Console that prints strings as they are, without markup and emoji codes.

    For styles, print a `rich.text.Text`. On a terminal, words from right to left are isolated;
    elsewhere, lines do not end with blanks.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    @property
    def file(self) -> IO[str]:
        return ConsoleStream(self, super().file)

    @file.setter
    def file(self, stream: IO[str]) -> None:
        self._file = stream

    def render_str(self, text: str, **options: Any) -> Text:
        """Convert a string, also one in a cell of a table; its control characters are visible."""
        return super().render_str(visible(text), **{**options, "markup": False, "emoji": False})

    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render anything; control characters inside a `Text` are visible, too."""
        for segment in super().render(renderable, options):
            if segment.control or not CONTROL_CHARACTERS.search(segment.text):
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)


class ConsoleStream:
    """Stream wrapper: isolates words from right to left on a terminal, else removes padding.

    Padding are blanks at the end of a line, which tables have for the width of the terminal.
    """

    def __init__(self, console: Console, stream: IO[str]) -> None:
        self.console = console
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> None:
        if self.console.is_terminal:
            text = isolate_right_to_left(text)
        else:
            text = TRAILING_BLANKS.sub("", text)
        self.stream.write(text)


class DisconnectSafeStream:
    """Stream wrapper that discards its output once the terminal is closed.

    The work continues without a terminal: an I/O error (EIO) redirects the stream to the null
    device.
    """

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> None:
        try:
            self.stream.write(text)
        except OSError as error:
            self._redirect(error)

    def flush(self) -> None:
        try:
            self.stream.flush()
        except OSError as error:
            self._redirect(error)

    def _redirect(self, error: OSError) -> None:
        if error.errno != errno.EIO:
            raise error
        null_device = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_device, self.stream.fileno())
        os.close(null_device)


class StderrConsole(SafeConsole):
    """Console on standard error, for everything that is not a result.

    Progress bars and log lines share it. It survives the end of its terminal.
    """

    @property
    def file(self) -> DisconnectSafeStream:
        return DisconnectSafeStream(super().file)

    @file.setter
    def file(self, stream: IO[str]) -> None:
        self._file = stream


stderr_console = StderrConsole(stderr=True)


class LogHandler(logging.Handler):
    """Logging handler that prints whole lines, above a progress bar if one is shown."""

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record)
        stderr_console.print(line, soft_wrap=True, highlight=False)
