"""`polyglot` as a process that is forked from the process of the tests, which has PyTorch already.

A new process would need seconds to load PyTorch and other libraries, a forked one starts at once.
It has a process number, signals, streams and an exit code of its own, but no new interpreter:
functions that a test has replaced stay replaced, and functions for the exit of the interpreter
are not called. A few tests start a new interpreter with `subprocess.Popen`.
"""

from __future__ import annotations

import importlib
import logging
import os
import signal
import stat
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from accelerate.state import AcceleratorState, PartialState

from polyglot.__main__ import main
from polyglot.text.language_identification import identifier_codes

PROGRAM = [sys.executable, "-m", "polyglot"]
SLOW_IMPORTS = ("datasets", "torch._dynamo")
"""Libraries that a training imports after its start; they take seconds."""
EVALUATION_IMPORTS = (
    "matplotlib.backends.backend_agg",
    "polyglot.cli.evaluation",
    "polyglot.evaluation.evaluator",
    "polyglot.evaluation.external_outputs",
)
"""Modules that an evaluation imports after its start."""


class ForkedProgram(subprocess.Popen):
    """`Popen` that forks a process instead if the command is `python -m polyglot ARGUMENTS`.

    Such a process starts others in the same way.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        preexec_fn: Callable[[], object] | None = None,
        **settings: Any,
    ) -> None:
        if list(command[: len(PROGRAM)]) != PROGRAM:
            super().__init__(command, env=env, preexec_fn=preexec_fn, **settings)
            return
        arguments = command[len(PROGRAM) :]
        load_before_fork(arguments)
        environment = dict(os.environ if env is None else env)

        def run_instead_of_command() -> NoReturn:
            """Called in the new process, where `Popen` would start the command."""
            try:
                if preexec_fn:
                    preexec_fn()
                close_pipes()
                prepare(arguments, environment)
                status = call_main()
                sys.stdout.flush()
                sys.stderr.flush()
            except BaseException:
                traceback.print_exc(file=open(2, "w", closefd=False))
                status = 1
            finally:
                os._exit(status)

        super().__init__(command, preexec_fn=run_instead_of_command, **settings)


def load_before_fork(arguments: Sequence[str]) -> None:
    """Import once what each forked process with these arguments would import again."""
    for library in SLOW_IMPORTS:
        importlib.import_module(library)
    if "evaluate" in arguments:
        for module in EVALUATION_IMPORTS:
            importlib.import_module(module)
        identifier_codes(["en"])  # reads the model that identifies languages


def close_pipes() -> None:
    """Close the pipes, sockets and terminals that a new process would not have.

    Their numbers stay in use: objects of the process of the tests may close them again.
    """
    null_device = os.open(os.devnull, os.O_RDWR)
    for descriptor in map(int, os.listdir("/dev/fd")):
        try:
            mode = os.fstat(descriptor).st_mode
        except OSError:  # the list itself, which is closed
            continue
        is_file = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
        if not is_file and descriptor not in (0, 1, 2, null_device):
            os.dup2(null_device, descriptor)


def prepare(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Give this process the arguments, environment, streams and signals of a new one."""
    sys.argv = ["polyglot", *arguments]
    os.environ.clear()
    os.environ.update(environment)
    sys.stdin = open(0, closefd=False)
    sys.stdout = open(1, "w", closefd=False)
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    logging.root.handlers.clear()
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    AcceleratorState._reset_state()
    PartialState._reset_state()
    subprocess.Popen = ForkedProgram


def call_main() -> int:
    """Run the program; returns its exit code."""
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0
