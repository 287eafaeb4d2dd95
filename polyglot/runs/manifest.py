"""Manifest of a checkpoint: its files with their SHA-256, validated before use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, TypeAdapter

from polyglot.core.stored_json import CHECKSUM_KEY, read_json, validate_stored, verify_checksum

MANIFEST = "manifest.json"

LARGEST_STEP = 10**15

FileName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,200}$")]
"""Name of a file in the folder of a checkpoint: no separators, and no dot at the beginning."""


Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class StoredManifest(BaseModel):
    """Schema of `manifest.json`."""

    step: int = Field(ge=0, le=LARGEST_STEP)
    files: dict[FileName, Sha256]
    """SHA-256 of each file."""
    version: str = Field("", max_length=100)
    configuration: dict[str, Any] | str | None = None
    """Settings that the components were built from; the first versions stored a hash."""
    settings: dict[str, Any] | None = None
    """All settings of the run when it wrote the checkpoint."""


STORED_MANIFEST = TypeAdapter(StoredManifest)


def read_manifest(path: Path) -> dict[str, Any]:
    """Read a manifest without its checksum. Raises OSError and ValueError."""
    manifest = read_json(path)
    if not isinstance(manifest, dict):
        raise ValueError("it is not a mapping")
    verify_checksum(manifest)
    manifest.pop(CHECKSUM_KEY, None)
    validate_stored(manifest, STORED_MANIFEST)
    return manifest
