"""Check of the log and of the results of evaluations and analyses in a run directory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from polyglot.core.atomic_files import check_appendable
from polyglot.core.errors import CheckpointError, abbreviate, pluralize
from polyglot.core.file_checks import (
    DAMAGED,
    INTACT,
    MISSING,
    UNCHECKED,
    FileCheck,
    is_regular_file,
)
from polyglot.core.linked_folders import is_inside
from polyglot.core.stored_json import CHECKSUM_KEY, read_json, verify_checksum
from polyglot.core.stored_log import read_log_line
from polyglot.core.stored_results import has_present_format, validate_result
from polyglot.runs.averaging import parameters_digest
from polyglot.runs.checkpoint import Checkpoint
from polyglot.runs.steps import step_folder

BLOCK = 1 << 20
LONGEST_LOG_LINE = 1 << 24


def check_log(path: Path) -> Iterator[FileCheck]:
    """Check that every line is a JSON object; lines have no checksum."""
    try:
        check_appendable(path)
    except PermissionError:
        pass  # a run that only others may continue is not damaged
    except OSError as error:
        advice = "remove it; training begins a new log"
        yield FileCheck(path, DAMAGED, str(error.strerror), advice)
        return
    if not path.exists():
        return
    unreadable = []
    number = 0
    with path.open("rb") as file:
        while line := file.readline(LONGEST_LOG_LINE):
            number += 1
            if read_log_line(line) is None:
                unreadable.append(number)
    if unreadable:
        message = f"cannot be read: line {abbreviate(unreadable)} of {number}"
        advice = "training and translation do not need it; the report leaves these lines out"
        yield FileCheck(path, DAMAGED, message, advice)
    else:
        yield FileCheck(path, UNCHECKED, pluralize(number, "line"))


def check_results(path: Path, folder: Path) -> Iterator[FileCheck]:
    """Check the results of evaluations or analyses, and the files that they list."""
    advice = f"compute it again; `polyglot evaluate {path}` uses what is intact"
    if folder.name == "analysis":
        advice = "compute it again"
    for file in sorted(folder.rglob("*.json")):
        try:
            values = read_json(file)
            if not isinstance(values, dict):
                raise ValueError("it is not a mapping")
            if has_present_format(file.name, values):
                validate_result(file.name, values)
            else:
                verify_checksum(values)
        except (OSError, ValueError) as error:
            yield FileCheck(file, DAMAGED, str(error), advice)
            continue
        state = INTACT if CHECKSUM_KEY in values else UNCHECKED
        yield FileCheck(file, state, _scored_checkpoint(path, values))
        files = values.get("files")
        if isinstance(files, dict):
            for name, expected in sorted(files.items()):
                yield _check_listed_file(file, name, expected, advice)


def _check_listed_file(result: Path, name: str, expected: Any, advice: str) -> FileCheck:
    """Check a file that a result lists with its SHA-256; it must be in the folder of the result."""
    folder = result.parent
    path = folder / name
    if not is_inside(path, folder):
        message = f"{result.name} names the file {name[:200]!r}"
        return FileCheck(folder, DAMAGED, message, advice)
    return check_sha256(path, str(expected), advice, listed_in=result.name)


def _scored_checkpoint(path: Path, values: dict[str, Any]) -> str:
    """Describe the checkpoint of a matrix, and whether the run still has it."""
    origin = values.get("checkpoint")
    if not isinstance(origin, dict) or not isinstance(origin.get("steps"), list):
        return ""
    steps = [step for step in origin["steps"] if isinstance(step, int)]
    listed = abbreviate(steps)
    try:
        members = [Checkpoint.open(step_folder(path / "checkpoints", step)) for step in steps]
    except CheckpointError:
        return f"scores of step {listed}, whose checkpoint is gone or damaged"
    if parameters_digest(members) != origin.get("sha256"):
        return f"scores of another checkpoint than the present step {listed}"
    return f"scores of step {listed}"


def check_sha256(
    path: Path,
    expected: str,
    advice: str,
    *,
    listed_in: str = "the manifest",
) -> FileCheck:
    """Compare a file with its SHA-256. listed_in: file that has the SHA-256, for the message."""
    try:
        if not is_regular_file(path):
            return FileCheck(path, DAMAGED, "it is not a regular file", advice)
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
    except FileNotFoundError:
        return FileCheck(path, MISSING, "", advice)
    except OSError as error:
        return FileCheck(path, DAMAGED, f"cannot be read: {error.strerror}", advice)
    if digest.hexdigest() != expected:
        return FileCheck(path, DAMAGED, f"its SHA-256 is not that of {listed_in}", advice)
    return FileCheck(path, INTACT)
