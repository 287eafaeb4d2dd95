"""Folder of a score matrix: finished directions are stored there and are not translated again."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyglot.core.atomic_files import replace_file, sync_folder
from polyglot.core.errors import CheckpointError
from polyglot.core.file_checks import read_regular_file
from polyglot.core.file_locks import output_lock
from polyglot.core.stored_json import read_json, validate_stored, verify_checksum, with_checksum
from polyglot.core.stored_matrix import STORED_CELL

MATRIX_FILE = "matrix.json"
"""Written last: if a folder has this file, it has all files of the matrix."""

SUBFOLDERS = ("hypotheses", "text", "cells")

PROVENANCE_KEYS = ("machine", "torch", "python")
"""Stored for every translated direction."""


@contextmanager
def results_lock(folder: Path) -> Iterator[None]:
    """Context manager for an evaluation into a folder: one process at a time.

    Other folders of the run, such as those of other protocols, can be written meanwhile. Raises
    CheckpointError that names the other process, or if the folder cannot be written.
    """
    with output_lock(folder, work="writing an evaluation there"):
        yield


def text_name(language: str, lines: Sequence[str]) -> str:
    """Name of a text in the folder; directions with the same text share it."""
    return f"{language}.{digest(lines)[:8]}"


def digest(values: Any) -> str:
    """SHA-256 of anything that JSON can represent."""
    content = json.dumps(values, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode(errors="backslashreplace")).hexdigest()


def files_digests(
    hypotheses: Mapping[str, Sequence[str]],
    texts: Mapping[str, Sequence[str]],
) -> dict[str, str]:
    """SHA-256 of the files with translations and with texts, by their path in the folder."""
    digests = {}
    for name, lines in hypotheses.items():
        digests[f"hypotheses/{name}.txt"] = _content_digest(lines)
    for name, lines in texts.items():
        digests[f"text/{name}.txt"] = _content_digest(lines)
    return digests


def check_files(
    stored: Any,
    hypotheses: Mapping[str, Sequence[str]],
    texts: Mapping[str, Sequence[str]],
) -> None:
    """Compare the files of a matrix with their digests; older versions stored none.

    Raises ValueError that names a file which is missing or was changed.
    """
    if stored is None:
        return
    present = files_digests(hypotheses, texts)
    for name, expected in sorted(stored.items()):
        if name not in present:
            raise ValueError(f"{name} is missing")
        if present[name] != expected:
            raise ValueError(f"{name} was changed or is damaged")


def _content_digest(lines: Sequence[str]) -> str:
    return hashlib.sha256(_file_content(lines)).hexdigest()


@dataclass(frozen=True, slots=True)
class CacheKeys:
    """Hashes of everything that the hypotheses and the scores of a direction depend on."""

    translated: str
    """hash for the hypotheses; empty if the parameters have no hash"""
    scored: str
    """hash for the scores"""


@dataclass(frozen=True, slots=True)
class CachedResult:
    """A direction that need not be translated again."""

    lines: list[str]
    """hypotheses"""
    seconds: float
    """time of translation"""
    cell: Mapping[str, Any] | None
    """scores; None if they were computed with other settings"""
    finished: bool
    """True if it belongs to the complete matrix, False for an interrupted evaluation"""
    provenance: Mapping[str, str]
    """machine and versions of the translation"""


class ResultsCache:
    """Reads and writes the files of a score matrix.

    `hypotheses/de-fr.txt` has the translations, `text/de.1f3a9c02.txt` sources or references, and
    `cells/de-fr.json` the scores with the cache keys. New files are written below `.unfinished/`,
    and `finish` moves all of them at once to the place of the earlier matrix.
    """

    def __init__(self, folder: Path | None) -> None:
        """folder: None stores nothing."""
        self.folder = folder
        self.unfinished = folder and folder / ".unfinished"

    def begin(self, *, keep: Collection[str] = ()) -> None:
        """Create the folder and remove what an interrupted evaluation left there.

        keep: directions of the interrupted evaluation that stay.
        Raises CheckpointError if the folder cannot be written.
        """
        if self.folder is None:
            return
        try:
            for name in SUBFOLDERS:
                (self.folder / name).mkdir(parents=True, exist_ok=True)
                (self.unfinished / name).mkdir(parents=True, exist_ok=True)
            _remove_old(self.unfinished, keep=keep)
        except OSError as error:
            raise _write_error(self.folder, error) from None

    def finish(self, files: Mapping[str, str], *, keep: Collection[str]) -> None:
        """Replace the earlier matrix by all new files.

        files: further files to write, by name. keep: directions of the earlier matrix that stay.
        Raises CheckpointError if a file cannot be written; the earlier matrix is then unchanged.
        """
        for name, content in files.items():
            replace_file(self.unfinished / name, content)
        new_files = sorted(path for path in self.unfinished.rglob("*") if path.is_file())
        new_files.sort(key=lambda path: path.name == MATRIX_FILE)
        try:
            # If the process is killed after this line, the folder has no matrix, but all
            # directions are there for the next evaluation.
            (self.folder / MATRIX_FILE).unlink(missing_ok=True)
            _remove_old(self.folder, keep=keep)
            for path in new_files:
                path.replace(self.folder / path.relative_to(self.unfinished))
            for subfolder in {path.parent.relative_to(self.unfinished) for path in new_files}:
                sync_folder(self.folder / subfolder)
            shutil.rmtree(self.unfinished)
        except OSError as error:
            raise _write_error(self.folder, error) from None

    def put_text(self, name: str, lines: Sequence[str]) -> None:
        """Write sources or references, one per line."""
        if self.folder is not None:
            _write_lines(self.unfinished / "text" / f"{name}.txt", lines)

    def put_hypotheses(self, name: str, lines: Sequence[str]) -> None:
        """Write the translations of a direction, one per line."""
        if self.folder is not None:
            _write_lines(self.unfinished / "hypotheses" / f"{name}.txt", lines)

    def put_cell(
        self,
        name: str,
        *,
        keys: CacheKeys,
        provenance: Mapping[str, str],
        lines: Sequence[str],
        cell: Mapping[str, Any],
    ) -> None:
        """Write the scores of a direction with its cache keys, after its hypotheses."""
        if self.folder is None:
            return
        values = {
            "translated": keys.translated,
            "scored": keys.scored,
            "hypotheses": digest(list(lines)),
            "made_with": dict(provenance),
            "cell": cell,
        }
        content = json.dumps(with_checksum(values), indent=1, ensure_ascii=False)
        replace_file(self.unfinished / "cells" / f"{name}.json", content)

    def recall(self, name: str, keys: CacheKeys) -> CachedResult | None:
        """Read a direction with the same keys; None if it is missing or was changed."""
        if self.folder is None or not keys.translated:
            return None
        result = _recall(self.unfinished, name, keys, finished=False)
        if result is None:
            result = _recall(self.folder, name, keys, finished=True)
        return result

    def hypotheses(self) -> dict[str, list[str]]:
        """Read all translations, by the name of their cell."""
        return {path.stem: _read_lines(path) for path in self.folder.glob("hypotheses/*.txt")}

    def texts(self) -> dict[str, list[str]]:
        """Read all sources and references, by name."""
        return {path.stem: _read_lines(path) for path in self.folder.glob("text/*.txt")}


def _recall(folder: Path, name: str, keys: CacheKeys, *, finished: bool) -> CachedResult | None:
    try:
        values = read_json(folder / "cells" / f"{name}.json")
        verify_checksum(values)
        lines = _read_lines(folder / "hypotheses" / f"{name}.txt")
        is_same_translation = values["translated"] == keys.translated
        is_unchanged = values["hypotheses"] == digest(lines)
        if not (is_same_translation and is_unchanged):
            return None

        cell = values["cell"]
        validate_stored(cell, STORED_CELL)
        has_same_scores = values["scored"] == keys.scored
        provenance = {}
        for key in PROVENANCE_KEYS:
            provenance[key] = str(values["made_with"][key])
        return CachedResult(
            lines=lines,
            seconds=cell["seconds"],
            cell=cell if has_same_scores else None,
            finished=finished,
            provenance=provenance,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # missing or damaged: the direction is translated again


def _remove_old(folder: Path, *, keep: Collection[str]) -> None:
    """Remove the files of a matrix, except hypotheses and cells of the directions to keep."""
    for pattern in ("matrix.*", "*.png", "text/*.txt"):
        for path in folder.glob(pattern):
            path.unlink()
    for pattern in ("hypotheses/*.txt", "cells/*.json"):
        for path in folder.glob(pattern):
            if path.stem not in keep:
                path.unlink()


def _write_error(folder: Path, error: OSError) -> CheckpointError:
    return CheckpointError(f"{folder}: the matrix cannot be written: {error.strerror or error}")


def _read_lines(path: Path) -> list[str]:
    try:
        text = read_regular_file(path).decode()
    except UnicodeDecodeError:
        raise ValueError(f"{path.parent.name}/{path.name} is not UTF-8") from None
    # Only \n ends a line; Unicode line separators are part of a sentence.
    return text.split("\n")[:-1]


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    replace_file(path, _file_content(lines))


def _file_content(lines: Sequence[str]) -> bytes:
    """Content of a file with one line per sentence."""
    return "".join(f"{line}\n" for line in lines).encode()
