"""Full disks, and folders and files without permission."""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.torture.kills import continue_training
from tests.torture.trial import Finding, Outcome, Trial
from tests.torture.workplace import COMMANDS, RUN, Workplace, call


def full_disks(workplace: Workplace, random: Random, count: int) -> Iterator[Trial]:
    """No file may grow beyond a size; with space again, the training continues exactly."""
    for _ in range(count):
        size = int(10 ** random.uniform(1.0, 4.7))

        def attempt(folder: Path, size: int = size) -> Finding:
            workplace.copy_text(folder)

            def limit() -> None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

            result = call(folder, "train", "mine.yaml", prepare=limit)
            problem = result.problem()
            # The limit holds for the file with the messages, too.
            if problem and problem.outcome is not Outcome.SILENT_ERROR:
                return problem
            return continue_training(workplace, folder)

        yield Trial("full disks", f"files of at most {size} bytes", attempt)


def permissions(workplace: Workplace, random: Random, count: int) -> Iterator[Trial]:
    """One file or folder of the run cannot be read or written."""
    places = sorted(path for path in (workplace.intact / RUN).rglob("*"))
    places.append(workplace.intact / RUN)
    for _ in range(count):
        place = random.choice(places)
        mode = random.choice((0o000, 0o444, 0o555))
        name = random.choice(tuple(COMMANDS))

        def attempt(
            folder: Path, place: Path = place, mode: int = mode, name: str = name
        ) -> Finding:
            workplace.copy(folder)
            target = folder / place.relative_to(workplace.intact)
            target.chmod(mode)
            try:
                result = call(folder, *COMMANDS[name], prepare=_drop_rights)
            finally:
                target.chmod(0o755)
            problem = result.problem()
            if problem:
                return problem
            if result.status:
                return _named(result.errors + result.output, name)
            return workplace.results.comparison(name, result, folder)

        relative = place.relative_to(workplace.intact)
        yield Trial("permissions", f"{relative} with mode {mode:03o}, then {name}", attempt)


def _named(message: str, name: str) -> Finding:
    """A refusal is an error message, or the report of `check` on damaged files."""
    if "error" in message.lower() or "damaged" in message:
        return Finding(Outcome.CORRECT)
    return Finding(Outcome.SILENT_ERROR, f"{name} refused without an error message: {message}")


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


CAPABILITY_VERSION = 0x20080522


def _drop_rights() -> None:
    """Give up the rights of the superuser, who may read and write everything."""
    header = _CapabilityHeader(CAPABILITY_VERSION, 0)
    no_rights = (ctypes.c_uint32 * 6)()
    failed = ctypes.CDLL(None, use_errno=True).capset(ctypes.byref(header), no_rights)
    assert not failed, os.strerror(ctypes.get_errno())
