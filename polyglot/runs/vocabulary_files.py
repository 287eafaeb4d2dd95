"""Checksums of the files in `vocabulary/`, compared before a file is used."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, TypeAdapter

from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import CheckpointError
from polyglot.core.file_checks import read_regular_file
from polyglot.core.hub_address import download_advice
from polyglot.core.stored_json import read_stored, with_checksum
from polyglot.runs.manifest import Sha256

CHECKSUMS_FILE = "checksums.json"

LARGEST_LIST = 16 * 2**20
LARGEST_VOCABULARY = 2**30


VocabularyName = Annotated[str, Field(pattern=r"^[^/.\x00][^/\x00]{0,254}$")]
"""Name of a file in `vocabulary/`, from a language or a group of languages."""


class StoredChecksums(BaseModel):
    """Schema of `checksums.json`."""

    files: Annotated[dict[VocabularyName, Sha256], Field(max_length=100_000)]


STORED_CHECKSUMS = TypeAdapter(StoredChecksums)


def forget_checksums(folder: Path) -> None:
    """Remove the list before files are replaced. Raises CheckpointError if that fails."""
    path = folder / CHECKSUMS_FILE
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be removed: {error.strerror}") from None


def write_checksums(folder: Path) -> None:
    """List the SHA-256 of every vocabulary. Raises CheckpointError if that fails."""
    files = {}
    try:
        for path in sorted(folder.iterdir()):
            if path.is_file() and path.name != CHECKSUMS_FILE and not path.name.startswith("."):
                files[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise CheckpointError(f"{folder}: cannot be read: {error.strerror}") from None
    content = json.dumps(with_checksum({"files": files}), indent=1)
    replace_file(folder / CHECKSUMS_FILE, f"{content}\n")


def read_checksums(folder: Path) -> dict[str, str]:
    """SHA-256 by file; empty for a run of an older version.

    Raises CheckpointError if the list is damaged.
    """
    path = folder / CHECKSUMS_FILE
    try:
        stored = read_stored(path, STORED_CHECKSUMS, largest=LARGEST_LIST)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise CheckpointError(
            f"{path}: cannot be used: {reason}; put it back from a copy of the run, or remove it: "
            "the vocabularies are then compared with the checkpoint only"
        ) from None
    return stored.files


def check_vocabulary_file(path: Path) -> None:
    """Compare an existing file with its checksum, if there is one.

    Raises CheckpointError if it differs, if the file is too large, or if it cannot be read.
    """
    expected = read_checksums(path.parent).get(path.name)
    try:
        if path.stat().st_size > LARGEST_VOCABULARY:
            raise CheckpointError(f"{path}: has more than {LARGEST_VOCABULARY:,} bytes")
        content = read_regular_file(path)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from None
    sha256 = hashlib.sha256(content).hexdigest()
    if expected not in (None, sha256):
        advice = download_advice(path) or "put the file back from a copy of the run"
        raise CheckpointError(
            f"{path}: damaged: its SHA-256 is {sha256[:12]}…, and {CHECKSUMS_FILE} says "
            f"{expected[:12]}…; {advice}"
        )
