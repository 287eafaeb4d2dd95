"""Commands on the small run of the tests, and helpers that look at its files."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path
from typing import Any

from polyglot.core.file_locks import LOCK_FILES
from tests.builders.forked import PROGRAM, ForkedProgram

TRANSLATE = ("translate", "runs/mine", "--from", "de", "--to", "fr")
LAST_CHECKPOINT = Path("runs/mine/checkpoints/step-00000004")
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def file_hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file. The lock does not belong to the run."""
    hashes = {}
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in LOCK_FILES:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            hashes[str(path.relative_to(folder))] = digest
    return hashes


def flip_last_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def one_line(text: str) -> str:
    """Return the text without the line breaks of tables and long messages."""
    return " ".join(text.split())


def start_program(
    *arguments: str, popen: type[subprocess.Popen] = ForkedProgram, **settings: Any
) -> subprocess.Popen:
    """Start `polyglot` as a process. popen: `subprocess.Popen` for a new interpreter"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return popen([*PROGRAM, *arguments], env=ENVIRONMENT, **{**pipes, **settings})
