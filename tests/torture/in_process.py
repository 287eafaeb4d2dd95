"""The program as a call in this process, with everything that a test of robustness measures."""

from __future__ import annotations

import io
import logging
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from unittest import mock

from polyglot import cli
from polyglot.core.signals import cancel_deferred_interrupt

LONGEST_MESSAGE = 4096  # bytes
LONGEST_CALL = 10.0  # seconds of processor time, so that other programs do not matter


@dataclass(frozen=True, slots=True)
class Call:
    """How one call of the program ended."""

    arguments: Sequence[str]
    status: int
    output: str
    errors: str
    seconds: float
    """processor time"""
    crash: str = ""
    """the traceback of an exception that the program did not turn into a message"""

    @property
    def complaints(self) -> list[str]:
        """What a user would see and should not; empty for a call that ended as it should."""
        complaints = []
        if self.crash or "Traceback" in self.errors:
            complaints.append(f"traceback: {self.crash or self.errors}")
        if self.seconds > LONGEST_CALL:
            complaints.append(f"{self.seconds:.1f} s")
        length = len(self.errors.encode(errors="surrogatepass"))
        if self.status and length > LONGEST_MESSAGE:
            complaints.append(f"a message of {length} bytes: {self.errors[:300]}")
        if self.status and not self.errors.strip():
            complaints.append(f"exit code {self.status} without a message")
        if any(ord(character) < 32 and character not in "\t\n" for character in self.errors):
            complaints.append(f"control characters: {self.errors[:300]!r}")
        return complaints


def call_program(*arguments: str, stdin: bytes = b"") -> Call:
    """Run `polyglot` in this process, with standard streams of its own."""
    errors = io.StringIO()
    handlers = logging.root.handlers[:]
    crash = ""
    start = time.process_time()
    with tempfile.TemporaryFile() as output:
        # A descriptor of its own: the program may redirect it after a failure.
        stdout = open(os.dup(output.fileno()), "w", encoding="utf-8")
        streams = {
            "argv": ["polyglot", *arguments],
            "stdin": io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"),
            "stdout": stdout,
            "stderr": errors,
        }
        try:
            with mock.patch.multiple(sys, **streams):
                cli.main()
            status = 0
        except SystemExit as end:
            status = int(end.code or 0)
        except Exception:  # any of them is the traceback that the tests look for
            status = 1
            crash = traceback.format_exc()
        finally:
            cancel_deferred_interrupt()
            logging.root.handlers[:] = handlers
            seconds = time.process_time() - start
            stdout.close()
        output.seek(0)
        text = output.read().decode(errors="replace")
    return Call(arguments, status, text, errors.getvalue(), seconds, crash)
