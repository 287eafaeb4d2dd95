"""Folder of a run: what is at its place, and what a killed process left there."""

from __future__ import annotations

import difflib
import os
import shutil
from contextlib import suppress
from pathlib import Path

from polyglot.core.atomic_files import TEMPORARY_SUFFIX
from polyglot.core.file_locks import LOCK_FILE
from polyglot.runs.stored_settings import SETTINGS_FILE


def is_leftover(path: Path) -> bool:
    """True for the files of a process that was killed while it created the run."""
    if path.name == "vocabulary":
        return path.is_dir() and not any(path.iterdir())
    if path.name in (LOCK_FILE, SETTINGS_FILE):
        return True
    return path.name.endswith(TEMPORARY_SUFFIX)


def remove(path: Path) -> None:
    """Remove a file or a folder, if possible."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def missing_reason(path: Path) -> str:
    """Describe what is at the place of a run directory, and suggest an existing run."""
    if os.path.lexists(path / "config.yaml"):
        return "its config.yaml is not a regular file; put it back from a copy of the run"
    if path.is_file():
        reason = "it is a file"
    elif path.is_dir():
        reason = "it has no config.yaml"
    else:
        reason = "it does not exist"
    runs: dict[str, Path] = {}
    for folder in (path.parent, Path("runs")):
        for config_file in sorted(folder.glob("*/config.yaml")):
            runs.setdefault(config_file.parent.name, config_file.parent)
    # The stem, because the name of a configuration file is often also the name of its run.
    near = difflib.get_close_matches(path.stem, list(runs), n=1)
    if near:
        return f"{reason}. Did you mean {runs[near[0]]}?"
    return f"{reason}; a run is the folder that `polyglot train` has made, such as runs/mine"
