"""Folders that are symbolic links: a foreign run cannot redirect writes out of its own folder."""

from __future__ import annotations

import os
from pathlib import Path

from polyglot.core.errors import CheckpointError

RUN_ENTRIES = ("config.yaml", "checkpoints")
"""Names by which a folder is known as a run directory."""

LEADS_OUT = "it is a link to a folder outside"
ADVICE = "move that folder here; only a run directory as a whole may be a link"


def refuse_linked_folders(folder: Path) -> None:
    """Check a folder that a command writes into; it may be missing.

    The folder itself may be a link, also a whole run directory. Raises CheckpointError if it is
    part of a run and leads out of the run, or if a folder inside of it does.
    """
    run = _run_around(folder)
    if run is not None and not is_inside(folder, run):
        raise _refusal(folder, run)
    outer_folder = run or folder
    for link in links_out_of(outer_folder, start=folder):
        raise _refusal(link, outer_folder)


def links_out_of(outer_folder: Path, *, start: Path) -> list[Path]:
    """List the links to folders, below `start`, that lead out of another folder around it."""
    links = []
    for parent, names, _ in os.walk(start):
        for name in names:
            path = Path(parent, name)
            if path.is_symlink() and not is_inside(path, outer_folder):
                links.append(path)
    return links


def is_inside(path: Path, folder: Path) -> bool:
    """Tell if a path leads to a place in the folder, after all links are followed.

    False for a name that no file can have, such as one with a NUL character.
    """
    try:
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
    except ValueError:
        return False


def _run_around(folder: Path) -> Path | None:
    """Innermost run directory that contains the folder by its path, without following links."""
    for parent in folder.parents:
        if all(os.path.lexists(parent / name) for name in RUN_ENTRIES):
            return parent
    return None


def _refusal(link: Path, folder: Path) -> CheckpointError:
    return CheckpointError(f"{link}: {LEADS_OUT} of {folder}; {ADVICE}")
