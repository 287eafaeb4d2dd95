"""Progress bars on standard error; they disappear when the work is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from polyglot.core.console import stderr_console

Advance = Callable[[str, int, int], None]
"""Called with a description, the number that is done, and the total."""


def line_progress(*, hidden: bool = False) -> Progress:
    """Return a progress bar with the number of lines and the remaining time.

    Without a terminal there is none: rich would print a blank line at its end.
    """
    return Progress(
        TextColumn("lines"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=stderr_console,
        transient=True,
        redirect_stdout=False,
        disable=hidden or not stderr_console.is_terminal,
    )


@contextmanager
def described_progress(description: str) -> Iterator[Advance]:
    """Show a progress bar and yield the function that advances it.

    description: shown until the first call.
    """
    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    bar = Progress(
        *columns,
        console=stderr_console,
        transient=True,
        disable=not stderr_console.is_terminal,
    )
    with bar as progress:
        row = progress.add_task(description)

        def advance(current: str, done: int, total: int) -> None:
            progress.update(row, completed=done, total=total, description=current)

        yield advance
