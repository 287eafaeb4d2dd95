"""Checkpoints: a folder with one safetensors file for each component, the training state, and a manifest with checksums.

Nothing in it can run code, nothing half-written ever has a checkpoint's name, and any component can be taken out alone.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from polyglot.core.atomic_files import replace_file, sync_folder, write_synced
from polyglot.core.errors import CheckpointError, abbreviate
from polyglot.core.version import VERSION
from polyglot.distributed.processes import Processes
from polyglot.runs.steps import steps

MANIFEST, TRAINING, STATE, BEST = (
    "manifest.json",
    "training.safetensors",
    "training.json",
    "best.json",
)


@dataclass(frozen=True)
class Checkpoint:
    """One complete checkpoint on disk."""

    path: Path
    manifest: Mapping[str, Any]

    @classmethod
    def open(cls, path: Path) -> Checkpoint:
        """Raises CheckpointError when there is no readable manifest."""
        try:
            manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
            if not isinstance(manifest, dict):
                raise ValueError("it holds no mapping")
            if manifest.pop("checksum", None) not in (None, _checksum(manifest)):
                raise ValueError("its own checksum differs")
            if not isinstance(manifest.get("files"), dict) or not isinstance(
                manifest.get("step"), int
            ):
                raise ValueError("`files` or `step` is missing or something else")
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise CheckpointError(
                f"{path}: no complete checkpoint: {MANIFEST} cannot be used ({why}); {_instead_of(path)}"
            ) from None
        return cls(path, manifest)

    @property
    def step(self) -> int:
        return self.manifest["step"]

    def has_component(self, name: str) -> bool:
        """Whether it holds a component of that name."""
        return f"{name}.safetensors" in self.manifest["files"]

    @property
    def components(self) -> list[str]:
        """The names of all it holds."""
        files = (
            file
            for file in self.manifest["files"]
            if file.endswith(".safetensors") and not _is_training(file)
        )
        return sorted(file.removesuffix(".safetensors") for file in files)

    def component(self, name: str) -> dict[str, Tensor]:
        """The parameters of one component. Raises CheckpointError when it is missing or damaged."""
        if not self.has_component(name):
            raise CheckpointError(
                f"{self.path}: has no component {name!r}; it has {', '.join(self.components)}"
            )
        return self._tensors(f"{name}.safetensors")

    def training_tensors(self, components: Collection[str] | None = None) -> dict[str, Tensor]:
        """What the optimizer keeps for each parameter, named `component/parameter/quantity`; of all components or of these."""
        files = sorted(
            file for file in self.manifest["files"] if _is_training(file) and file != STATE
        )
        everything = ((key, value) for file in files for key, value in self._tensors(file).items())
        return {
            key: value
            for key, value in everything
            if components is None or key.partition("/")[0] in components
        }

    def training_state(self) -> dict[str, Any]:
        """Step, positions in the data, the best score so far."""
        return json.loads(self._bytes(STATE))

    def load_into(self, components: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Copy the named components' tensors. Raises CheckpointError when names or shapes differ."""
        for name, parameters in components.items():
            copy_parameters(self.component(name), parameters, where=f"{self.path}: {name}")

    def _tensors(self, file: str) -> dict[str, Tensor]:
        try:
            return load(self._bytes(file))
        except SafetensorError as error:
            raise CheckpointError(
                f"{self.path / file}: cannot be read as safetensors: {error}"
            ) from None

    def _bytes(self, file: str) -> bytes:
        try:
            content = (self.path / file).read_bytes()
        except OSError as error:
            raise CheckpointError(
                f"{self.path / file}: cannot be read: {error.strerror}; put the file back, or {_instead_of(self.path)}"
            ) from None
        found, expected = hashlib.sha256(content).hexdigest(), self.manifest["files"].get(file)
        if found != expected:
            raise CheckpointError(
                f"{self.path / file}: damaged: its SHA-256 is {found[:12]}…, the manifest says {str(expected)[:12]}…; "
                f"{_instead_of(self.path)}"
            )
        return content


def _instead_of(path: Path) -> str:
    """What to do where a checkpoint is of no use: `--resume` takes none but the last."""
    return (
        f"choose another checkpoint; to train on, remove {path}, and the one before it is continued"
    )


def parameters_digest(chosen: Sequence[Checkpoint]) -> str:
    """A hash of the parameters of one checkpoint or of several: the same parameters have the same."""
    files = [
        sorted(
            (name, sha256)
            for name, sha256 in one.manifest["files"].items()
            if not _is_training(name)
        )
        for one in chosen
    ]
    return hashlib.sha256(json.dumps(files).encode()).hexdigest()


def _is_training(file: str) -> bool:
    """Whether a file is about training rather than a component: `training.json`, `training.safetensors`, `training.2.safetensors`."""
    return file.partition(".")[0] == "training"


def copy_parameters(
    tensors: Mapping[str, Tensor], parameters: Mapping[str, Tensor], *, where: str
) -> None:
    """Tensors into parameters of the same names and shapes. Raises CheckpointError when they are not the same."""
    check_compatible(tensors, parameters, where=where)
    with torch.no_grad():
        for key, parameter in parameters.items():
            parameter.copy_(tensors[key])


def check_compatible(
    tensors: Mapping[str, Tensor], parameters: Mapping[str, Tensor], *, where: str
) -> None:
    """Raises CheckpointError unless names and shapes are the same."""
    if tensors.keys() != parameters.keys():
        different = abbreviate(sorted(tensors.keys() ^ parameters.keys()), shown=4)
        raise CheckpointError(
            f"{where}: comes from another configuration: the parameters differ ({different})"
        )
    for key, parameter in parameters.items():
        if tensors[key].shape != parameter.shape:
            raise CheckpointError(
                f"{where}: comes from another configuration: {key} has shape {tuple(tensors[key].shape)}, "
                f"this model's has {tuple(parameter.shape)}"
            )


def write(
    folder: Path,
    *,
    step: int,
    components: Mapping[str, Mapping[str, Tensor]],
    training: Mapping[str, Tensor],
    state: Mapping[str, Any],
    configuration: Any,
    processes: Processes = Processes(),
) -> Checkpoint:
    """Write a checkpoint below `folder`: all of it under a temporary name, synced, then renamed.

    components, training: what this process writes; each of several names other components. state: of the first one counts.
    configuration: what the components were built from, as JSON can hold it. Raises CheckpointError, on all processes, when it cannot be
    written; what was there before stays as it was.
    """
    path, temporary = folder / f"step-{step:08d}", folder / f".step-{step:08d}.writing"

    def begin() -> None:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)

    def put_all() -> dict[str, str]:
        own = {
            file: _put(temporary / file, content)
            for file, content in _files(components, training, part=processes.index)
        }
        return own | (
            {STATE: _put(temporary / STATE, json.dumps(state, indent=1).encode())}
            if processes.main
            else {}
        )

    def complete() -> None:
        _put(
            temporary / MANIFEST,
            json.dumps({**manifest, "checksum": _checksum(manifest)}, indent=1).encode(),
        )
        sync_folder(temporary)
        _put_in_place(temporary, path)
        sync_folder(folder)

    try:
        _by_all(processes, begin if processes.main else None)
        checksums = {file: one for own in _by_all(processes, put_all) for file, one in own.items()}
        manifest = {
            "step": step,
            "version": VERSION,
            "configuration": configuration,
            "files": checksums,
        }
        _by_all(processes, complete if processes.main else None)
    except OSError as error:
        if processes.main:
            shutil.rmtree(temporary, ignore_errors=True)
        last = steps(folder)[-1:]
        kept = f"the last good one is step {last[0]}" if last else "there is no earlier one"
        raise CheckpointError(
            f"{path}: the checkpoint cannot be written: {error.strerror or error}; {kept}"
        ) from None
    return Checkpoint(path, manifest)


def _by_all(processes: Processes, work: Callable[[], Any] | None) -> list[Any]:
    """Done by every process that has something to do, and what it gave each; where one fails, all do."""
    result = failed = None
    try:
        result = work() if work else None
    except OSError as error:
        failed = error.strerror or str(error)
    everybody = processes.gather((result, failed), "its part of the checkpoint")
    for _, problem in everybody:
        if problem:
            raise OSError(problem)
    return [each for each, _ in everybody]


def _files(
    components: Mapping[str, Mapping[str, Tensor]], training: Mapping[str, Tensor], *, part: int
) -> Iterator[tuple[str, bytes]]:
    """One after the other: no second copy of the whole model in memory. part: the number of the process."""
    for name, own in components.items():
        yield f"{name}.safetensors", save({key: _plain(one) for key, one in own.items()})
    if training or not part:
        yield training_file(part), save({key: _plain(one) for key, one in training.items()})


def training_file(part: int) -> str:
    """What a process writes of the optimizer's numbers: those of the components that it writes."""
    return f"training.{part}.safetensors" if part else TRAINING


def _put(path: Path, content: bytes) -> str:
    """Write a file; returns its SHA-256."""
    write_synced(path, content)
    return hashlib.sha256(content).hexdigest()


def _plain(tensor: Tensor) -> Tensor:
    return tensor.detach().cpu().contiguous()


def _checksum(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _put_in_place(temporary: Path, path: Path) -> None:
    """Rename a folder; one that has the name already, from the same step of an earlier start, is only removed after that."""
    before = path.with_name(f".{path.name}.before")
    shutil.rmtree(before, ignore_errors=True)
    if path.exists():
        path.rename(before)
    try:
        temporary.rename(path)
    except OSError:
        if before.exists():
            before.rename(path)
        raise
    shutil.rmtree(before, ignore_errors=True)


def mark_best(folder: Path, record: Mapping[str, Any]) -> None:
    """Remember which step was best; the record has at least `step`. Raises CheckpointError when that cannot be written."""
    replace_file(folder / BEST, json.dumps(dict(record)))


def best_step(folder: Path) -> int | None:
    """The step that was marked best, whether or not its checkpoint is still there. Raises CheckpointError when the mark is damaged."""
    if not (folder / BEST).is_file():
        return None
    try:
        step = json.loads((folder / BEST).read_text(encoding="utf-8"))["step"]
        if not isinstance(step, int):
            raise ValueError("no step")
    except (OSError, ValueError, KeyError, TypeError):
        raise CheckpointError(
            f"{folder / BEST}: cannot be used; remove it, and the newest checkpoint counts as the best"
        ) from None
    return step


def prune(folder: Path, *, keep: int) -> None:
    """Remove all but the newest `keep` and the best, and what a process left that was killed while it wrote.

    Raises CheckpointError for what cannot be removed.
    """
    best = best_step(folder)
    old = [folder / f"step-{step:08d}" for step in steps(folder)[:-keep] if step != best]
    for path in [*folder.glob(".step-*"), *old]:
        try:
            shutil.rmtree(path)
        except OSError as error:
            raise CheckpointError(f"{path}: cannot be removed: {error.strerror or error}") from None


def choose(folder: Path, which: str | int) -> list[Checkpoint]:
    """`best`, `last`, a step, or `average:N` to the checkpoints that are meant: one, or the newest N.

    `best` is the newest where none was marked. Raises CheckpointError naming what there is, also when the best one is gone.
    """
    which, there = str(which), steps(folder)
    if not there:
        raise CheckpointError(f"{folder}: no checkpoint; has the run been trained?")
    if which == "last":
        wanted = there[-1:]
    elif which == "best":
        wanted = [best_step(folder) or there[-1]]
        if not set(wanted) <= set(there):
            raise CheckpointError(
                f"{folder / BEST}: step {wanted[0]} was the best, but its checkpoint is gone; there are {_list(there)}: "
                f"put it back, choose one of these, or remove {BEST}, and the newest counts as the best"
            )
    elif re.fullmatch(r"[0-9]+", which):
        wanted = [int(which)]
    elif re.fullmatch(r"average:[1-9][0-9]*", which):
        wanted = there[-int(which.removeprefix("average:")) :]
    else:
        raise CheckpointError(
            f"checkpoint {which!r}: write best, last, a step, or average:N; there are {_list(there)}"
        )
    if not set(wanted) <= set(there):
        raise CheckpointError(f"{folder}: no checkpoint of step {which}; there are {_list(there)}")
    return [Checkpoint.open(folder / f"step-{step:08d}") for step in wanted]


def load_average(
    checkpoints: Iterable[Checkpoint], components: Mapping[str, Mapping[str, Tensor]]
) -> None:
    """The mean of some checkpoints' parameters into a model; of one, exactly its parameters."""
    checkpoints = list(checkpoints)
    for name, parameters in components.items():
        copy_parameters(
            average(checkpoints, name), parameters, where=f"{checkpoints[-1].path}: {name}"
        )


def average(checkpoints: Sequence[Checkpoint], name: str) -> dict[str, Tensor]:
    """The mean of one component's parameters over some checkpoints; of one, exactly its parameters.

    Raises CheckpointError when names or shapes differ between them.
    """
    parts = [checkpoint.component(name) for checkpoint in checkpoints]
    if len(parts) == 1:
        return parts[0]
    for checkpoint, part in zip(checkpoints, parts):
        check_compatible(part, parts[-1], where=f"{checkpoint.path}: {name}")
    return {
        key: torch.stack([part[key].double() for part in parts]).mean(dim=0).to(one.dtype)
        for key, one in parts[-1].items()
    }


def _list(there: list[int]) -> str:
    return ", ".join(map(str, there))
