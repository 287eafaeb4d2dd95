"""The program around the commands: its global options, its error messages and exit codes."""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from polyglot.cli.help_texts import Command, HelpLayout
from polyglot.core.console import LogHandler, SafeConsole, stderr_console, visible
from polyglot.core.environment import (
    hide_library_warnings,
    keep_freed_memory,
    limit_shape_caches,
    limit_waiting_loops,
    reduce_garbage_collection,
    shorten_switch_interval,
)
from polyglot.core.errors import USER_ERROR, PolyglotError
from polyglot.core.signals import cancel_deferred_interrupt, exit_code
from polyglot.core.version import VERSION

INTERRUPTED = 130  # exit code after Ctrl-C
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
LONGEST_MESSAGE = 3500
"""Bytes of an error message that are printed."""
LONGEST_USAGE_MESSAGE = 2000
"""Bytes of a message about wrong options; a frame around it needs some more."""
UsageError = typer.BadParameter.__base__  # typer has no public name for it
"""Error of typer about wrong options or arguments."""
OUT_OF_MEMORY = (
    "not enough memory: lower batching.size (with `by: tokens`, it limits the longest batch), "
    "the sizes of the model, or the beam of a search; "
    "`polyglot train … --dry-run` estimates the memory of training"
)


class CommandGroup(HelpLayout, TyperGroup):
    """All commands. Handles Ctrl-C, and the end of the program that reads the output."""

    def make_context(self, *arguments: Any, **settings: Any) -> typer.Context:
        with shortened_usage_errors():
            return super().make_context(*arguments, **settings)

    def invoke(self, context: typer.Context) -> None:
        try:
            with shortened_usage_errors():
                super().invoke(context)
            sys.stdout.flush()
        except BrokenPipeError:
            _discard_output()
            raise typer.Exit from None
        except KeyboardInterrupt as interruption:  # typer would end without a message
            stderr_console.print("interrupted")
            raise typer.Exit(exit_code(interruption)) from None


@contextmanager
def shortened_usage_errors() -> Iterator[None]:
    """Shorten messages about wrong options, which quote the arguments."""
    try:
        yield
    except UsageError as error:
        error.message = shorten(str(error.message), LONGEST_USAGE_MESSAGE)
        raise


class StdoutConsole(SafeConsole):
    """Console on standard output that leaves a closed pipe to `CommandGroup`."""

    def on_broken_pipe(self) -> None:
        raise  # the error that rich is handling


app = typer.Typer(
    name="polyglot",
    cls=CommandGroup,
    help="Train and use multilingual translation models for many language pairs.",
    epilog="polyglot train phrasebook\npolyglot evaluate runs/phrasebook",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
screen = StdoutConsole()
logger = logging.getLogger("polyglot")


def command(*examples: str, name: str | None = None) -> Callable[[Callable], Callable]:
    """Register a function as a command; its help shows the examples.

    name: default the name of the function.
    """
    return app.command(name, cls=Command, epilog="\n".join(examples))


def main() -> None:
    """Run the program. An error of the user ends it with one message and exit code 2."""
    keep_freed_memory()
    limit_shape_caches()
    limit_waiting_loops()
    hide_library_warnings()
    reduce_garbage_collection()
    shorten_switch_interval()
    _open_missing_streams()
    # Text is UTF-8 on both sides, independent of the terminal. Only names of files can have other
    # bytes, which are printed as escapes.
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")

    try:
        app(prog_name="polyglot")
    except KeyboardInterrupt:  # before or after a command
        sys.exit(INTERRUPTED)
    except PolyglotError as error:
        _exit_with(str(error))
    except OSError as error:
        _discard_output()
        _exit_with(_describe(error))
    except UnicodeDecodeError as error:
        _exit_with(f"text that is not UTF-8: {error.reason} at byte {error.start}")
    except RecursionError:
        _exit_with("the input is nested too deeply")
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        _exit_with(OUT_OF_MEMORY)
    finally:
        cancel_deferred_interrupt()


def is_out_of_memory(error: Exception) -> bool:
    """True for an allocation that failed: of Python, on a GPU, or of PyTorch on the CPU."""
    text = str(error)
    return (
        isinstance(error, MemoryError) or "out of memory" in text or "can't allocate memory" in text
    )


def _describe(error: OSError) -> str:
    """Message for a file or stream that the system could not open, read or write."""
    place = error.filename or "standard input or output, or a file of this command"
    reason = error.strerror or str(error)
    if error.errno in DISK_FULL:
        return f"{place}: cannot be written: {reason}; free some space there"
    return f"{place}: cannot be used: {reason}"


def _exit_with(message: str) -> None:
    message = shorten(message, LONGEST_MESSAGE)
    stderr_console.print(Text("error: ", style="bold red"), end="")
    stderr_console.print(message, highlight=False, soft_wrap=True)
    sys.exit(USER_ERROR)


def shorten(text: str, size: int) -> str:
    """Return a text with visible control characters, cut off after `size` bytes of UTF-8."""
    text = visible(text)
    content = text.encode(errors="surrogatepass")
    if len(content) <= size:
        return text
    start = content[:size].decode(errors="ignore")
    return f"{start} …"


def _discard_output() -> None:
    """Discard buffered output, so that the end of the process does not try to write it again."""
    null_device = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_device, sys.stdout.fileno())
    os.close(null_device)


def _open_missing_streams() -> None:
    """Replace closed standard streams (`>&-`), so that no file of the program takes their place.

    Reading the input or writing the output then fails with a message; messages are discarded.
    """
    for descriptor, mode in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free number is the missing one, since those below it are open.
            os.open(os.devnull, mode)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        screen.print(f"polyglot {VERSION}")
        raise typer.Exit


@app.callback()
def set_global_options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print results and errors only.")
    ] = False,
) -> None:
    handler = LogHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", datefmt="%H:%M:%S"))
    # huggingface_hub prints its messages itself.
    handler.addFilter(lambda record: not record.name.startswith("huggingface_hub"))
    logging.basicConfig(handlers=[handler], force=True)
    logger.setLevel(logging.ERROR if quiet else logging.INFO)
