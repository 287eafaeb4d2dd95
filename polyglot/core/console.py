"""Console for everything that is not a result: progress bars and log lines share it."""

from __future__ import annotations

import errno
import logging
import os
from typing import IO, Any

from rich.console import Console


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


class StderrConsole(Console):
    """Console on standard error that survives the end of its terminal."""

    @property
    def file(self) -> DisconnectSafeStream:
        return DisconnectSafeStream(super().file)


stderr_console = StderrConsole(stderr=True)


class LogHandler(logging.Handler):
    """Logging handler that prints whole lines, above a progress bar if one is shown."""

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record)
        stderr_console.print(line, soft_wrap=True, markup=False, highlight=False)
