"""The folder of a matrix: each direction is there as soon as it is ready, and is used again when nothing that it depends on has changed."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyglot.core.atomic_files import replace_file, sync_folder
from polyglot.core.errors import CheckpointError

MATRIX_FILE = "matrix.json"
"""Where this file of a matrix is, all of it is."""
PROVENANCE_KEYS = ("machine", "torch", "python")
"""What is remembered of who translated a direction."""


def text_name(language: str, lines: Sequence[str]) -> str:
    """Of a text among the texts of a matrix: a text that several directions share is there once."""
    return f"{language}.{digest(lines)[:8]}"


def digest(values: Any) -> str:
    """SHA-256 of what JSON can hold."""
    return hashlib.sha256(
        json.dumps(values, sort_keys=True, ensure_ascii=False).encode()
    ).hexdigest()


@dataclass(frozen=True, slots=True)
class CachedResult:
    """A direction that need not be translated again."""

    lines: list[str]
    seconds: float
    """that translating took"""
    cell: Mapping[str, Any] | None
    """None where it was scored in another way"""
    finished: bool
    """of the matrix that is there, and not of an evaluation that was interrupted"""
    made_with: Mapping[str, str]
    """machine and versions that translated it"""


class ResultsCache:
    """`hypotheses/de-fr.txt`, `text/de.1f3a9c02.txt` and `cells/de-fr.json`, which says what the first was made of.

    What is put comes to `.unfinished/` first; all of it together takes the place of the matrix that is there.
    """

    def __init__(self, folder: Path | None) -> None:
        """folder: None remembers nothing."""
        self.folder = folder
        self.unfinished = folder and folder / ".unfinished"

    def begin(self, *, keep: Collection[str] = ()) -> None:
        """Make the folder, without what an interrupted evaluation left there but the directions to keep.

        Raises CheckpointError when it cannot be written.
        """
        if self.folder is None:
            return
        try:
            for room in ("hypotheses", "text", "cells"):
                (self.folder / room).mkdir(parents=True, exist_ok=True)
                (self.unfinished / room).mkdir(parents=True, exist_ok=True)
            _remove_old(self.unfinished, keep=keep)
        except OSError as error:
            raise _cannot_be_written(self.folder, error) from None

    def finish(self, files: Mapping[str, str], *, keep: Collection[str]) -> None:
        """Put all that was made, and these files, in the place of the matrix that is there; of that the directions to keep stay.

        Raises CheckpointError for what cannot be written, before anything of the other is touched.
        """
        for name, content in files.items():
            replace_file(self.unfinished / name, content)
        made = sorted(
            (path for path in self.unfinished.rglob("*") if path.is_file()),
            key=lambda path: path.name == MATRIX_FILE,
        )
        try:
            (self.folder / MATRIX_FILE).unlink(
                missing_ok=True
            )  # killed in the middle of this, it is no matrix, but one that is soon made again
            _remove_old(self.folder, keep=keep)
            for path in made:
                path.replace(self.folder / path.relative_to(self.unfinished))
            for room in {path.parent.relative_to(self.unfinished) for path in made}:
                sync_folder(self.folder / room)
            shutil.rmtree(self.unfinished)
        except OSError as error:
            raise _cannot_be_written(self.folder, error) from None

    def put_text(self, name: str, lines: Sequence[str]) -> None:
        """Sources or references, one line each."""
        if self.folder is not None:
            _put_lines(self.unfinished / "text" / f"{name}.txt", lines)

    def put_hypotheses(self, name: str, lines: Sequence[str]) -> None:
        """The translations of one direction, one line each."""
        if self.folder is not None:
            _put_lines(self.unfinished / "hypotheses" / f"{name}.txt", lines)

    def put_cell(
        self,
        name: str,
        *,
        keys: Mapping[str, str],
        made_with: Mapping[str, str],
        lines: Sequence[str],
        cell: Mapping[str, Any],
    ) -> None:
        """What is known of a direction, beside hashes of all that it was made of; the hypotheses are there before."""
        if self.folder is not None:
            values = {
                **keys,
                "hypotheses": digest(list(lines)),
                "made_with": dict(made_with),
                "cell": cell,
            }
            replace_file(
                self.unfinished / "cells" / f"{name}.json",
                json.dumps(values, indent=1, ensure_ascii=False),
            )

    def recall(self, name: str, keys: Mapping[str, str]) -> CachedResult | None:
        """What was made of the same; what is damaged or was changed by hand counts as not there."""
        if self.folder is None or not keys["translated"]:
            return None
        return _recall(self.unfinished, name, keys, finished=False) or _recall(
            self.folder, name, keys, finished=True
        )

    def hypotheses(self) -> dict[str, list[str]]:
        """All that are there, by the name of their cell."""
        return {path.stem: _lines(path) for path in self.folder.glob("hypotheses/*.txt")}

    def texts(self) -> dict[str, list[str]]:
        """All that are there, by name."""
        return {path.stem: _lines(path) for path in self.folder.glob("text/*.txt")}


def _recall(folder: Path, name: str, keys: Mapping[str, str], *, finished: bool) -> CachedResult | None:
    try:
        known = json.loads((folder / "cells" / f"{name}.json").read_text(encoding="utf-8"))
        lines = _lines(folder / "hypotheses" / f"{name}.txt")
        if known["translated"] != keys["translated"] or known["hypotheses"] != digest(lines):
            return None
        cell = known["cell"] if known["scored"] == keys["scored"] else None
        made_with = {name: str(known["made_with"][name]) for name in PROVENANCE_KEYS}
        return CachedResult(lines, known["cell"]["seconds"], cell, finished, made_with)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _remove_old(folder: Path, *, keep: Collection[str]) -> None:
    """What a matrix left in a folder, but for hypotheses and cells to keep."""
    for path in [*folder.glob("matrix.*"), *folder.glob("*.png"), *folder.glob("text/*.txt")]:
        path.unlink()
    for path in [*folder.glob("hypotheses/*.txt"), *folder.glob("cells/*.json")]:
        if path.stem not in keep:
            path.unlink()


def _cannot_be_written(folder: Path, error: OSError) -> CheckpointError:
    return CheckpointError(f"{folder}: the matrix cannot be written: {error.strerror or error}")


def _lines(path: Path) -> list[str]:
    return (
        path.read_bytes().decode().split("\n")[:-1]
    )  # a line ends here and nowhere else, whatever Unicode thinks


def _put_lines(path: Path, lines: Sequence[str]) -> None:
    replace_file(path, "".join(f"{line}\n" for line in lines))
