"""Checkpoints: a folder with the parameters, the training state, and a manifest with checksums.

Each component has its own safetensors file, so that it can be used alone. No file can run code. A
folder gets the name of a checkpoint only when it is complete. A checkpoint may come from somebody
else: names and types in its JSON files are validated before use.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, TypeAdapter
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import CheckpointError
from polyglot.core.file_checks import is_regular_file
from polyglot.core.hub_address import download_advice
from polyglot.core.stored_json import (
    parse_json,
    read_json,
    validate_stored,
    verify_checksum,
    with_checksum,
)
from polyglot.runs.manifest import LARGEST_STEP, MANIFEST, read_manifest
from polyglot.runs.parameters import copy_parameters
from polyglot.runs.steps import folder_step, step_folder, steps

TRAINING = "training.safetensors"
STATE = "training.json"
BEST = "best.json"
SUFFIX = ".safetensors"


class StoredBest(BaseModel):
    """Schema of `best.json`, which has further entries."""

    step: int = Field(ge=0, le=LARGEST_STEP)


STORED_BEST = TypeAdapter(StoredBest)

Fetch = Callable[[Iterable[Path]], None]
"""Makes files available before they are read: those of a run on the hub are downloaded."""


def fetch_nothing(paths: Iterable[Path]) -> None:
    """Fetch the files of a run on this machine, which are there already."""


@dataclass(frozen=True)
class Checkpoint:
    """One complete checkpoint on disk."""

    path: Path
    manifest: Mapping[str, Any]
    fetch: Fetch = field(default=fetch_nothing, compare=False, repr=False)

    @classmethod
    def open(cls, path: Path, *, fetch: Fetch = fetch_nothing) -> Checkpoint:
        """Open a checkpoint.

        Raises CheckpointError if its manifest is missing or damaged, or of another step than the
        name of the folder.
        """
        try:
            manifest = read_manifest(path / MANIFEST)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise CheckpointError(
                f"{path}: no complete checkpoint: {MANIFEST} cannot be used ({reason}); "
                f"{_alternatives(path)}"
            ) from None
        step = manifest["step"]
        if folder_step(path) not in (None, step):
            name = step_folder(path.parent, step).name
            raise CheckpointError(
                f"{path}: its {MANIFEST} is of step {step}: the folder was renamed or mixed up "
                f"with another; call it {name} again, or put it back from a copy of the run"
            )
        return cls(path, manifest, fetch)

    @property
    def step(self) -> int:
        return self.manifest["step"]

    def has_component(self, name: str) -> bool:
        return name + SUFFIX in self.manifest["files"]

    @property
    def components(self) -> list[str]:
        """Sorted names of its components."""
        names = []
        for file in self.manifest["files"]:
            if file.endswith(SUFFIX) and not is_training_file(file):
                names.append(file.removesuffix(SUFFIX))
        return sorted(names)

    def fetch_components(self, names: Iterable[str]) -> None:
        """Make the files of components available together, before they are read one by one."""
        self.fetch([self.path / f"{name}{SUFFIX}" for name in names])

    def component(self, name: str) -> dict[str, Tensor]:
        """Read a component's parameters. Raises CheckpointError if it is missing or damaged."""
        if not self.has_component(name):
            available = ", ".join(self.components)
            raise CheckpointError(f"{self.path}: has no component {name!r}; it has {available}")
        return self._read_tensors(name + SUFFIX)

    def load_into(self, components: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Load components into a model. Raises CheckpointError if names or shapes differ."""
        for name, parameters in components.items():
            copy_parameters(self.component(name), parameters, where=f"{self.path}: {name}")

    def training_tensors(self, components: Collection[str] | None = None) -> dict[str, Tensor]:
        """Read the optimizer state of all components, or of these.

        The names are `component/parameter/quantity`.
        """
        tensors = {}
        for file in sorted(self.manifest["files"]):
            if file == STATE or not is_training_file(file):
                continue
            for name, tensor in self._read_tensors(file).items():
                component, _, _ = name.partition("/")
                if components is None or component in components:
                    tensors[name] = tensor
        return tensors

    def training_state(self) -> dict[str, Any]:
        """Read the step, the positions in the data and the best score so far.

        Raises CheckpointError if the file is missing or damaged.
        """
        try:
            state = parse_json(self._read_bytes(STATE))
        except ValueError as error:
            raise CheckpointError(f"{self.path / STATE}: damaged: {error}") from None
        if not isinstance(state, dict):
            raise CheckpointError(f"{self.path / STATE}: damaged: it is not a mapping")
        return state

    def _read_tensors(self, file: str) -> dict[str, Tensor]:
        try:
            return load(self._read_bytes(file))
        except SafetensorError as error:
            raise CheckpointError(
                f"{self.path / file}: cannot be read as safetensors: {error}"
            ) from None

    def _read_bytes(self, file: str) -> bytes:
        """Read a file and compare its checksum with the manifest's."""
        path = self.path / file
        self.fetch([path])
        try:
            if not is_regular_file(path):
                raise CheckpointError(f"{path}: damaged: it is not a regular file")
            content = path.read_bytes()
        except OSError as error:
            raise CheckpointError(
                f"{path}: cannot be read: {error.strerror}; put the file back, "
                f"or {_alternatives(self.path)}"
            ) from None
        sha256 = hashlib.sha256(content).hexdigest()
        expected = str(self.manifest["files"].get(file))
        if sha256 != expected:
            raise CheckpointError(
                f"{path}: damaged: its SHA-256 is {sha256[:12]}…, "
                f"the manifest says {expected[:12]}…; {_alternatives(self.path)}"
            )
        return content


def _alternatives(path: Path) -> str:
    """Advice for an unusable checkpoint; `--resume` uses the last checkpoint of the folder."""
    advice = download_advice(path)
    if advice is not None:
        return advice
    return (
        f"choose another checkpoint; to train on, remove {path}, "
        "and training continues from the one before it"
    )


def is_training_file(file: str) -> bool:
    """Return True for `training.json`, `training.safetensors`, `training.2.safetensors`, …"""
    return file.partition(".")[0] == "training"


def training_file(rank: int) -> str:
    """Return the file name for the optimizer state of the components that a rank writes."""
    return f"training.{rank}{SUFFIX}" if rank else TRAINING


# Selection


def mark_best(folder: Path, record: Mapping[str, Any]) -> None:
    """Store the best step; the record has at least `step`.

    Raises CheckpointError if it cannot be written.
    """
    replace_file(folder / BEST, json.dumps(with_checksum(record)))


def best_step(folder: Path) -> int | None:
    """Return the step that was marked best, also if its checkpoint does not exist any more.

    Raises CheckpointError if the file is damaged.
    """
    path = folder / BEST
    if not path.exists():
        return None
    try:
        values = read_json(path)
        best = validate_stored(values, STORED_BEST)
        verify_checksum(values)
        return best.step
    except (OSError, ValueError):
        raise CheckpointError(
            f"{path}: cannot be used; remove it, and the newest checkpoint counts as the best"
        ) from None


def prune(folder: Path, *, keep: int) -> None:
    """Remove all checkpoints but the newest `keep` and the best, and what a killed process left.

    Raises CheckpointError if a folder cannot be removed.
    """
    best = best_step(folder)
    unneeded = list(folder.glob(".step-*"))
    for step in steps(folder)[:-keep]:
        if step != best:
            unneeded.append(step_folder(folder, step))
    for path in unneeded:
        try:
            remove_folder(path)
        except OSError as error:
            reason = error.strerror or error
            raise CheckpointError(f"{path}: cannot be removed: {reason}") from None


def remove_folder(path: Path) -> None:
    """Remove a folder, or a symbolic link with its name. Raises OSError."""
    if path.is_symlink():
        path.unlink()
    else:
        shutil.rmtree(path)


def choose(
    folder: Path,
    which: str | int,
    *,
    fetch: Fetch = fetch_nothing,
) -> list[Checkpoint]:
    """Open the checkpoints for `best`, `last`, a step, or `average:N`: one, or the newest N.

    `best` is the newest if none was marked. Raises CheckpointError that lists the available steps.
    """
    available = steps(folder)
    if not available:
        raise CheckpointError(f"{folder}: no checkpoint; has the run been trained?")
    chosen = _chosen_steps(folder, str(which), available)
    return [Checkpoint.open(step_folder(folder, step), fetch=fetch) for step in chosen]


def _chosen_steps(folder: Path, which: str, available: list[int]) -> list[int]:
    listed = ", ".join(map(str, available))
    if which == "last":
        return available[-1:]
    if which == "best":
        best = best_step(folder) or available[-1]
        if best not in available:
            raise CheckpointError(
                f"{folder / BEST}: step {best} was the best, but its checkpoint is gone; "
                f"there are {listed}: put it back, choose one of these, "
                f"or remove {BEST}, and the newest counts as the best"
            )
        return [best]
    if re.fullmatch(r"average:[1-9][0-9]*", which):
        count = int(which.removeprefix("average:"))
        return available[-count:]
    if re.fullmatch(r"[0-9]+", which):
        if int(which) not in available:
            raise CheckpointError(f"{folder}: no checkpoint of step {which}; there are {listed}")
        return [int(which)]
    raise CheckpointError(
        f"checkpoint {which!r}: write best, last, a step, or average:N; there are {listed}"
    )
