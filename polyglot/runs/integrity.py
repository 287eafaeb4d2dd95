"""Check of every file of a run directory: intact or not, and what belongs together."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from polyglot.core.atomic_files import TEMPORARY_SUFFIX
from polyglot.core.errors import CheckpointError, PolyglotError, abbreviate
from polyglot.core.file_checks import (
    CHANGED,
    DAMAGED,
    INTACT,
    LEFTOVER,
    MISSING,
    UNCHECKED,
    FileCheck,
    is_regular_file,
)
from polyglot.core.file_locks import LOCK_FILES
from polyglot.core.linked_folders import ADVICE, LEADS_OUT, links_out_of
from polyglot.decoding.shortlist import Shortlist
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.checkpoint import Checkpoint
from polyglot.runs.config_changes import changes_since, stored_settings
from polyglot.runs.data_folder import start_folder
from polyglot.runs.manifest import MANIFEST
from polyglot.runs.result_checks import check_log, check_results, check_sha256
from polyglot.runs.run import Run
from polyglot.runs.steps import step_folder
from polyglot.runs.stored_settings import SETTINGS_FILE, accept_hint, unaccepted_changes
from polyglot.runs.vocabulary_files import (
    CHECKSUMS_FILE,
    check_vocabulary_file,
    read_checksums,
)
from polyglot.text.word_list import load_vocabulary

FOLDERS = ("checkpoints", "vocabulary", "shortlists", "evaluation", "analysis")
COPY = "put it back from a copy of the run"
ORIGIN_ADVICE = "put config.yaml and vocabulary/ back as they were for this checkpoint"


def check_run(path: Path) -> list[FileCheck]:
    """Check every file of a run directory; nothing is changed."""
    try:
        run = Run.open(path, accept_changes=True)
    except PolyglotError as error:
        run = None
        results = [_damaged_config(path, str(error))]
    else:
        results = list(_check_config(run))
    results += _check_folders(path)
    results += _check_start(run)
    results += _check_vocabularies(path, run)
    results += _check_shortlists(path)
    results += _check_checkpoints(path, run)
    results += check_log(path / "log.jsonl")
    for name in ("evaluation", "analysis"):
        results += check_results(path, path / name)

    checked = {result.path for result in results}
    results += _other_files(path, checked)
    return results


# Configuration ------------------------------------------------------------------------------------


def _damaged_config(path: Path, message: str) -> FileCheck:
    advice = COPY
    if (path / SETTINGS_FILE).is_file():
        advice = f"{COPY}; {SETTINGS_FILE} has its values too"
    return FileCheck(path / "config.yaml", DAMAGED, message, advice)


def _check_config(run: Run) -> Iterator[FileCheck]:
    settings_file = run.path / SETTINGS_FILE
    hint = accept_hint(run.path)
    try:
        stored = stored_settings(run.path)
    except CheckpointError as error:
        yield FileCheck(settings_file, DAMAGED, str(error), f"{hint} writes it again")
        yield FileCheck(run.config_file, UNCHECKED, f"{SETTINGS_FILE} is damaged")
        return

    if stored is None:
        message = "the run is of an older version: a change cannot be noticed"
        yield FileCheck(run.config_file, UNCHECKED, message, f"{hint} stores its values")
        return
    if settings_file.exists():
        yield FileCheck(settings_file, INTACT)
    else:
        message = "the values of the newest checkpoint were compared"
        yield FileCheck(settings_file, MISSING, message, f"{hint} writes it again")
    changes = unaccepted_changes(stored, run.config)
    if not changes:
        yield FileCheck(run.config_file, INTACT)
        return
    message = f"was changed since the program wrote it: {abbreviate(changes, shown=20)}"
    advice = f"put the old values back, or accept the new ones with {hint}"
    yield FileCheck(run.config_file, CHANGED, message, advice)


def _check_start(run: Run | None) -> Iterator[FileCheck]:
    if run is None or not run.start_file.exists():
        return
    if start_folder(run) is None:
        advice = "remove it: relative paths of text then start from the present folder"
        yield FileCheck(run.start_file, DAMAGED, "it names no folder", advice)
    else:
        yield FileCheck(run.start_file, INTACT)


def _check_folders(path: Path) -> Iterator[FileCheck]:
    """Check that nothing else is in the place of a folder, and that no folder leads out."""
    for name in FOLDERS:
        folder = path / name
        if os.path.lexists(folder) and not folder.is_dir():
            yield FileCheck(folder, DAMAGED, "it is not a folder", f"{COPY}, or remove it")
    for link in links_out_of(path, start=path):
        yield FileCheck(link, DAMAGED, f"{LEADS_OUT} of {path}", ADVICE)


# Vocabularies and shortlists ----------------------------------------------------------------------


def _check_vocabularies(path: Path, run: Run | None) -> Iterator[FileCheck]:
    folder = path / "vocabulary"
    try:
        listed = read_checksums(folder)
    except CheckpointError as error:
        listed = {}
        yield FileCheck(folder / CHECKSUMS_FILE, DAMAGED, str(error), COPY)
    else:
        if (folder / CHECKSUMS_FILE).exists():
            yield FileCheck(folder / CHECKSUMS_FILE, INTACT)

    expected = {folder / name for name in listed}
    if run is not None and checkpoints.steps(run.checkpoints):
        # An export has only the vocabularies of its components.
        expected |= {run.vocabulary_file(language) for language in _trained_languages(run)}
    for file in sorted(expected | set(folder.glob("*.model")) | set(folder.glob("symbols.json"))):
        yield _check_vocabulary(file, is_listed=file.name in listed)


def _trained_languages(run: Run) -> list[str]:
    """Languages whose vocabularies the newest checkpoint was built from."""
    newest = checkpoints.steps(run.checkpoints)[-1]
    try:
        checkpoint = Checkpoint.open(step_folder(run.checkpoints, newest))
    except CheckpointError:
        return []
    configuration = checkpoint.manifest.get("configuration")
    vocabularies = configuration.get("vocabularies") if isinstance(configuration, dict) else None
    if not isinstance(vocabularies, dict):
        return []
    return [language for language in run.config.languages if language in vocabularies]


def _check_vocabulary(file: Path, *, is_listed: bool) -> FileCheck:
    if not file.exists():
        return FileCheck(file, MISSING, "", COPY)
    try:
        if not is_regular_file(file):
            raise CheckpointError(f"{file}: not a regular file")
        check_vocabulary_file(file)
        if file.suffix == ".model":
            load_vocabulary(file)
    except CheckpointError as error:
        return FileCheck(file, DAMAGED, str(error), COPY)
    return FileCheck(file, INTACT if is_listed else UNCHECKED)


def _check_shortlists(path: Path) -> Iterator[FileCheck]:
    for file in sorted(path.glob("shortlists/*.safetensors")):
        try:
            Shortlist.load(file)
        except CheckpointError as error:
            advice = f"`polyglot shortlist {path} {file.stem}` writes it again"
            yield FileCheck(file, DAMAGED, str(error), advice)
        else:
            yield FileCheck(file, INTACT)


# Checkpoints --------------------------------------------------------------------------------------


def _check_checkpoints(path: Path, run: Run | None) -> Iterator[FileCheck]:
    folder = path / "checkpoints"
    available = checkpoints.steps(folder)
    try:
        best = checkpoints.best_step(folder)
    except CheckpointError as error:
        best = None
        advice = "remove it, and the newest checkpoint counts as the best"
        yield FileCheck(folder / checkpoints.BEST, DAMAGED, str(error), advice)
    if best is not None:
        yield FileCheck(folder / checkpoints.BEST, INTACT, f"step {best}")
    if best is not None and best not in available:
        advice = f"{COPY}, or remove {checkpoints.BEST}, and the newest counts as the best"
        yield FileCheck(step_folder(folder, best), MISSING, "it was the best", advice)
    for step in available:
        yield from _check_checkpoint(step_folder(folder, step), run)


def _check_checkpoint(folder: Path, run: Run | None) -> Iterator[FileCheck]:
    advice = f"{COPY}, or use another checkpoint; to train on, remove {folder}"
    try:
        checkpoint = Checkpoint.open(folder)
    except CheckpointError as error:
        yield FileCheck(folder / MANIFEST, DAMAGED, str(error), advice)
        return
    yield _check_origin(checkpoint, run)
    for name, expected in sorted(checkpoint.manifest["files"].items()):
        yield check_sha256(folder / name, expected, advice)


def _check_origin(checkpoint: Checkpoint, run: Run | None) -> FileCheck:
    """Check that the checkpoint belongs to the configuration and the vocabularies."""
    manifest = checkpoint.path / MANIFEST
    if run is None:
        return FileCheck(manifest, INTACT)
    try:
        run.check_compatible(checkpoint)
    except PolyglotError as error:
        return FileCheck(manifest, CHANGED, str(error), ORIGIN_ADVICE)
    changes = changes_since(checkpoint, run.config)
    message = ""
    if changes:
        message = f"written before these changes: {abbreviate(changes, shown=4)}"
    return FileCheck(manifest, INTACT, message)


# Other files ------------------------------------------------------------------------------------


def _other_files(path: Path, checked: set[Path]) -> Iterator[FileCheck]:
    """Files without a checksum, and what a killed process left."""
    for file in sorted(path.rglob("*")):
        if file in checked or file.is_dir() or file.name in LOCK_FILES:
            continue
        parts = file.relative_to(path).parts
        temporary = [part for part in parts if part.startswith(".")]
        if any(part.endswith(TEMPORARY_SUFFIX) for part in temporary):
            yield FileCheck(file, LEFTOVER, "of a process that was killed", "remove it")
        elif ".unfinished" in parts:
            yield FileCheck(file, LEFTOVER, "of an evaluation that the next one continues")
        else:
            yield FileCheck(file, UNCHECKED)
