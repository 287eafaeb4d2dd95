"""The one console for everything that is not a result: progress bars and log lines share it, so that neither tears the other."""

from __future__ import annotations

import errno
import logging
import os
from typing import IO, Any

from rich.console import Console


class DisconnectSafeStream:
    """A stream until its terminal is gone; what is written to it from then on goes nowhere, for what works need not be looked at."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> None:
        try:
            self.stream.write(text)
        except OSError as error:
            self._leave(error)

    def flush(self) -> None:
        try:
            self.stream.flush()
        except OSError as error:
            self._leave(error)

    def _leave(self, error: OSError) -> None:
        if error.errno != errno.EIO:
            raise error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.stream.fileno())
        os.close(nowhere)


class StderrConsole(Console):
    """Standard error, as long as somebody can look at it."""

    @property
    def file(self) -> DisconnectSafeStream:
        return DisconnectSafeStream(super().file)


stderr_console = StderrConsole(stderr=True)


class LogHandler(logging.Handler):
    """Log records as whole lines, above a progress bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        stderr_console.print(self.format(record), soft_wrap=True, markup=False, highlight=False)
