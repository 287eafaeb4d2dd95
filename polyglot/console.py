"""The one console for everything that is not a result: progress bars and log lines share it, so that neither tears the other."""

from __future__ import annotations

import logging

from rich.console import Console

aside = Console(stderr=True)


class LogLines(logging.Handler):
    """Log records as whole lines, above a progress bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        aside.print(self.format(record), soft_wrap=True, markup=False, highlight=False)
