"""Commands of the benchmarks, run within this process: a new one loads PyTorch for a second."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import multiprocessing.dummy
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import torch
from accelerate.state import AcceleratorState
from measuring import MeasurementError

from polyglot import cli


def run_in_process(
    command: Sequence[object],
    *,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
    output: Path | None = None,
) -> str:
    """Run a Polyglot command or a script of the benchmarks, as `measuring.run_process` does."""
    words = [str(word) for word in command]
    assert words[0] == sys.executable
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with program_state(folder or Path.cwd(), printed):
        status = call(words[1:])
    if status:
        raise MeasurementError(f"{words} ended with {status}")
    printed.seek(0)
    text = printed.read()
    if output is not None:
        output.write_text(text, encoding="utf-8")
    return text


def call(words: Sequence[str]) -> int:
    """Call a module or a script; return its exit code."""
    try:
        if words[:2] == ["-m", "polyglot"]:
            sys.argv = ["polyglot", *words[2:]]
            cli.main()
            return 0
        sys.argv = list(words)
        script = importlib.import_module(Path(words[0]).stem)
        if script.__name__ == "two_workers":
            script.main(context=multiprocessing.dummy)
        else:
            script.main()
    except SystemExit as end:
        return end.code or 0
    return 0


@contextlib.contextmanager
def program_state(folder: Path, printed: io.TextIOWrapper) -> Iterator[None]:
    """Restore what a program changes in its process."""
    arguments = sys.argv
    handlers = logging.root.handlers[:]
    level = logging.getLogger("polyglot").level
    working_directory = Path.cwd()
    threads = torch.get_num_threads()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(printed):
            yield
    finally:
        os.chdir(working_directory)
        sys.argv = arguments
        logging.root.handlers[:] = handlers
        logging.getLogger("polyglot").setLevel(level)
        torch.set_num_threads(threads)
        AcceleratorState._reset_state(reset_partial_state=True)  # its precision is the process's
