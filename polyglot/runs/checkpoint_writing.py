"""Write checkpoints: every rank writes its files, and the folder gets its name when complete."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import save
from torch import Tensor

from polyglot.core.atomic_files import sync_folder, temporary_path, write_synced
from polyglot.core.errors import CheckpointError
from polyglot.core.stored_json import with_checksum
from polyglot.core.version import VERSION
from polyglot.distributed.processes import Processes
from polyglot.runs.checkpoint import STATE, SUFFIX, Checkpoint, remove_folder, training_file
from polyglot.runs.manifest import MANIFEST
from polyglot.runs.steps import step_folder, steps
from polyglot.tasks.transfers import to_host

WriteResult = tuple[str | dict[str, str] | None, str | None]
"""Result of a rank (a name, or the checksums of its files) and its error message, if any."""


def write(
    folder: Path,
    *,
    step: int,
    components: Mapping[str, Mapping[str, Tensor]],
    training: Mapping[str, Tensor],
    state: Mapping[str, Any],
    configuration: Any,
    settings: Mapping[str, Any] | None = None,
    processes: Processes = Processes(),
) -> Checkpoint:
    """Write a checkpoint below `folder`: under a temporary name, synced to disk, then renamed.

    Collective over all ranks. components, training: the part that this rank writes; no component
    is written by two ranks. state: only rank 0's is written. configuration: settings that the
    components were built from, as JSON values. settings: all settings of the run.
    Raises CheckpointError on all ranks if the checkpoint cannot be written; then the folder is
    unchanged.
    """
    path = step_folder(folder, step)
    temporary = None
    try:
        temporary = _make_temporary_folder(path, processes)
        files = _write_files(temporary, components, training, state, processes)
        manifest = {
            "step": step,
            "version": VERSION,
            "configuration": configuration,
            "settings": settings,
            "files": files,
        }
        _finish(temporary, path, manifest, processes)
    except OSError as error:
        if processes.is_main and temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        raise CheckpointError(_not_written(path, error)) from None
    return Checkpoint(path, manifest)


def _make_temporary_folder(path: Path, processes: Processes) -> Path:
    """Make a folder beside `path`, and remove those of interrupted writes. Raises OSError."""

    def make_folder() -> str:
        path.parent.mkdir(parents=True, exist_ok=True)
        for incomplete in path.parent.glob(".step-*"):
            with contextlib.suppress(OSError):  # it only takes space
                remove_folder(incomplete)
        new_folder = temporary_path(path.parent, prefix=f".{path.name}.")
        new_folder.mkdir()
        return new_folder.name

    names = _on_all_ranks(processes, make_folder if processes.is_main else None)
    return path.parent / names[0]


def _write_files(
    folder: Path,
    components: Mapping[str, Mapping[str, Tensor]],
    training: Mapping[str, Tensor],
    state: Mapping[str, Any],
    processes: Processes,
) -> dict[str, str]:
    """Write the files of all ranks, and return the SHA-256 of each. Raises OSError."""

    def write_part() -> dict[str, str]:
        checksums = {}
        for file, content in _file_contents(components, training, rank=processes.rank):
            checksums[file] = _write_file(folder / file, content)
        if processes.is_main:
            content = json.dumps(state, indent=1).encode()
            checksums[STATE] = _write_file(folder / STATE, content)
        return checksums

    files: dict[str, str] = {}
    for checksums in _on_all_ranks(processes, write_part):
        files |= checksums
    return files


def _finish(
    temporary: Path,
    path: Path,
    manifest: Mapping[str, Any],
    processes: Processes,
) -> None:
    """Write the manifest, sync the folder to disk and give it its name. Raises OSError."""

    def write_manifest() -> None:
        content = json.dumps(with_checksum(manifest), indent=1)
        _write_file(temporary / MANIFEST, content.encode())
        sync_folder(temporary)
        _rename(temporary, path)
        sync_folder(path.parent)

    _on_all_ranks(processes, write_manifest if processes.is_main else None)


def _not_written(path: Path, error: OSError) -> str:
    """Error message for a checkpoint that could not be written."""
    available = steps(path.parent)
    previous = "there is no earlier one"
    if available:
        previous = f"the last good one is step {available[-1]}"
    reason = error.strerror or error
    return f"{path}: the checkpoint cannot be written: {reason}; {previous}"


def _on_all_ranks(processes: Processes, work: Callable[[], Any] | None) -> list[Any]:
    """Do the work of each rank and gather the results; raise OSError on all ranks if one fails."""
    result = None
    failure = None
    try:
        if work is not None:
            result = work()
    except OSError as error:
        failure = error.strerror or str(error)
    gathered = processes.gather(
        (result, failure),
        WriteResult,
        "checkpoint files of all processes",
    )
    for _, rank_failure in gathered:
        if rank_failure:
            raise OSError(rank_failure)
    return [rank_result for rank_result, _ in gathered]


def _file_contents(
    components: Mapping[str, Mapping[str, Tensor]],
    training: Mapping[str, Tensor],
    *,
    rank: int,
) -> Iterator[tuple[str, bytes]]:
    """Yield file names and contents one by one: memory never holds a second copy of the model."""
    for name, parameters in components.items():
        yield name + SUFFIX, _serialize(parameters)
    if training:
        yield training_file(rank), _serialize(training)


def _serialize(tensors: Mapping[str, Tensor]) -> bytes:
    contiguous = {}
    for name, tensor in tensors.items():
        contiguous[name] = to_host(tensor.detach()).contiguous()
    return save(contiguous)


def _write_file(path: Path, content: bytes) -> str:
    """Write a file, sync it to disk and return its SHA-256."""
    write_synced(path, content)
    return hashlib.sha256(content).hexdigest()


def _rename(temporary: Path, path: Path) -> None:
    """Rename a folder.

    An older folder with this name, from the same step before a resume, is moved away first, and
    removed or restored afterwards.
    """
    older = temporary_path(path.parent, prefix=f".{path.name}.", suffix=".before")
    if path.exists():
        path.rename(older)
    try:
        temporary.rename(path)
    except OSError:
        if older.exists():
            older.rename(path)
        raise
    shutil.rmtree(older, ignore_errors=True)
