"""Folder that the relative corpus paths of a run start from, also for commands elsewhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, TypeAdapter

from polyglot.core.registry import ComponentConfig
from polyglot.core.stored_json import read_json, validate_stored
from polyglot.data.corpora import Corpora
from polyglot.runs.run import Run

LARGEST_FILE = 1 << 16


class StoredStart(BaseModel):
    """Schema of `started_in.json`."""

    folder: Annotated[str, Field(pattern=r"^/[^\x00]{0,4095}$")]


STORED_START = TypeAdapter(StoredStart)


def start_folder(run: Run) -> Path | None:
    """Return the folder that the run was started in; None if it is not known.

    Runs of older versions, and runs that were created by other programs, do not store it.
    """
    try:
        values = read_json(run.start_file, largest=LARGEST_FILE)
        return Path(validate_stored(values, STORED_START).folder)
    except (OSError, ValueError):
        return None


def data_folders(run: Run) -> list[Path]:
    """Return `data.folder` below the present folder, and below the one the run was started in."""
    folder = Path(run.config.data.folder)
    folders = [folder]
    start = start_folder(run)
    if start is not None and _resolve(start / folder) != _resolve(folder):
        folders.append(start / folder)
    return folders


def find_data_folder(run: Run, corpora: Sequence[ComponentConfig]) -> Path:
    """Return the first folder where all of these corpora can be read, or else the present one."""
    folders = data_folders(run)
    if len(folders) == 1:
        return folders[0]
    for folder in folders:
        if not Corpora(corpora, folder=folder, languages=run.config.languages).problems():
            return folder
    return folders[0]


def tried_folders(run: Run) -> str:
    """Return the end of an error message that names all folders; empty if there is one."""
    folders = data_folders(run)
    if len(folders) == 1:
        return ""
    present, start = map(_resolve, folders)
    return (
        f"; relative paths were tried in {present}, and in {start}, where the run was started: "
        "set data.folder"
    )


def _resolve(folder: Path) -> str:
    """Absolute path without links; unlike `Path.resolve`, also of a link to itself."""
    return os.path.realpath(folder)
