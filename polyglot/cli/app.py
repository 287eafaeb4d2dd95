"""The program around the verbs, and what they have in common."""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from typer.core import TyperGroup

from polyglot.cli import completion
from polyglot.core.console import LogHandler, stderr_console
from polyglot.core.environment import (
    hide_library_warnings,
    keep_freed_memory,
    limit_shape_caches,
    reduce_garbage_collection,
    shorten_switch_interval,
)
from polyglot.core.errors import ConfigError, PolyglotError
from polyglot.core.signals import cancel_deferred_interrupt, exit_code
from polyglot.core.version import VERSION


class Verbs(TyperGroup):
    """Each of them ends well when whoever reads its results has seen enough, as `head` has; interrupted, it says so."""

    def invoke(self, context: typer.Context) -> None:
        try:
            super().invoke(context)
            sys.stdout.flush()
        except BrokenPipeError:
            _leave_output()
            raise typer.Exit from None
        except KeyboardInterrupt as interruption:  # here, because typer ends without a word
            stderr_console.print("interrupted")
            raise typer.Exit(exit_code(interruption)) from None


class Screen(Console):
    """Standard output; `Verbs` deals with its reader's leaving."""

    def on_broken_pipe(self) -> None:
        raise  # what rich has just caught


app = typer.Typer(
    name="polyglot",
    cls=Verbs,
    help="Multilingual many-to-many translation: train language pairs from one YAML file, translate every direction.",
    epilog="Start with: polyglot train phrasebook · then: polyglot evaluate runs/phrasebook",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
screen = Screen()
logger = logging.getLogger("polyglot")
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
OUT_OF_MEMORY = (
    "lower batching.size (by: tokens bounds the widest batch) or the sizes of the model, or the beam of a search; "
    "what training needs, `polyglot train … --dry-run` estimates"
)

Overrides = Annotated[
    Optional[list[str]],
    typer.Argument(
        metavar="[KEY=VALUE]...", help="Settings that differ, such as training.steps=5000."
    ),
]
RunPath = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        help="A run directory, such as runs/phrasebook.",
        autocompletion=completion.runs,
    ),
]
Checkpoint = Annotated[
    str,
    typer.Option(help="best, last, a step, or average:N.", autocompletion=completion.checkpoints),
]
Device = Annotated[
    Optional[str],
    typer.Option(
        help="cpu, cuda, cuda:1 or mps. Default: a GPU where there is one.",
        autocompletion=completion.devices,
    ),
]


def main() -> None:
    """The program: mistakes of the user's end in one message and exit status 2."""
    keep_freed_memory()
    limit_shape_caches()
    hide_library_warnings()
    reduce_garbage_collection()
    shorten_switch_interval()
    # Text is UTF-8 on both sides, independent of the terminal.
    sys.stdout.reconfigure(encoding="utf-8")
    try:
        app(prog_name="polyglot")
    except KeyboardInterrupt:  # before there is a verb, or after
        sys.exit(130)
    except PolyglotError as error:
        stderr_console.print("[bold red]error:[/] ", end="")
        stderr_console.print(str(error), markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        _leave_output()
        stderr_console.print("[bold red]error:[/] ", end="")
        place = error.filename or "standard output, or a file of this command"
        stderr_console.print(
            f"{place}: cannot be written: {error.strerror}; make room there",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        sys.exit(2)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        stderr_console.print("[bold red]error:[/] ", end="")
        stderr_console.print(
            f"not enough memory: {OUT_OF_MEMORY}", markup=False, highlight=False, soft_wrap=True
        )
        sys.exit(2)
    finally:
        cancel_deferred_interrupt()


def _leave_output() -> None:
    """What is left in the buffer of standard output disturbs nobody when the program ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def is_out_of_memory(error: Exception) -> bool:
    """PyTorch says it of a GPU in one way, of the machine's own memory in another."""
    return (
        isinstance(error, MemoryError)
        or "out of memory" in str(error)
        or "can't allocate memory" in str(error)
    )


def _version(wanted: bool) -> None:
    if wanted:
        screen.print(f"polyglot {VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only say what goes wrong.")] = False,
) -> None:
    lines = LogHandler()
    lines.setFormatter(logging.Formatter("%(asctime)s %(message)s", datefmt="%H:%M:%S"))
    logging.basicConfig(handlers=[lines], force=True)
    logger.setLevel(logging.ERROR if quiet else logging.INFO)


def lines_bar(*, hidden: bool = False) -> Progress:
    """How many lines are done, and how long the rest will take."""
    columns = TextColumn("lines"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=stderr_console, transient=True, redirect_stdout=False, disable=hidden)


def lines_of(file: Path | None) -> tuple[int | None, Iterator[list[str]]]:
    """How many lines there are, where that can be known, and the lines of a file or of standard input."""
    from polyglot.data.text_files import line_blocks, pipe_blocks, stream_blocks

    if (
        file and not file.is_fifo()
    ):  # what comes through a pipe, as `<(zcat …)` does, can be read only once
        total = sum(
            map(len, line_blocks(file, empty=True))
        )  # which also finds what is no text before anything is written
        return total, line_blocks(file, empty=True)
    return None, pipe_blocks(file) if file else stream_blocks(
        sys.stdin.buffer, name="standard input"
    )


def sentences_of(given: Sequence[str] | None) -> list[tuple[str, str]]:
    """`LANGUAGE=TEXT` of an option that may be repeated. Raises ConfigError for what is no such thing."""
    pairs = [each.partition("=")[::2] for each in given or ()]
    for (language, text), each in zip(pairs, given or ()):
        if not language or not text.strip():
            raise ConfigError(
                f"--sentence: found {each!r}; write language and text, such as de='Ein Hund rennt.'"
            )
    return pairs
