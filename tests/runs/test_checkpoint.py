"""Checkpoints: exact, protected by checksums, and complete whatever happens during writing."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from polyglot.core.errors import CheckpointError
from polyglot.core.stored_json import with_checksum
from polyglot.distributed.processes import Processes
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs import checkpoint_writing
from polyglot.runs.checkpoint import Checkpoint

STATE = {"progress": {"step": 7, "best": None}, "positions": {"de-fr": {"epoch": 3, "index": 1}}}
TRAINING = {
    "encoder.de/weight/exp_avg": torch.arange(12.0).view(4, 3),
    "encoder.de/weight/step": torch.tensor(3.0),
    "bridge/heads.weight/exp_avg": torch.ones(4, 2),
}
FILES = [
    "bridge.safetensors",
    "decoder.fr.safetensors",
    "encoder.de.safetensors",
    "manifest.json",
    "training.json",
    "training.safetensors",
]


def make_components(seed=0):
    """Parameters of several types; one is not contiguous, one is NaN."""
    generator = torch.Generator().manual_seed(seed)

    def random(*shape):
        return torch.randn(*shape, generator=generator)

    return {
        "encoder.de": {"weight": random(4, 3), "bias": random(4)},
        "bridge": {"heads.weight": random(2, 4).t()},
        "decoder.fr": {
            "weight": random(5, 4).to(torch.bfloat16),
            "scale": torch.tensor(float("nan")),
        },
    }


def write(folder, step=7, seed=0, **changes):
    arguments = {
        "components": make_components(seed),
        "training": TRAINING,
        "state": STATE,
        "configuration": "abc",
    }
    return checkpoint_writing.write(folder, step=step, **(arguments | changes))


def assert_same(tensors, expected):
    assert tensors.keys() == expected.keys()
    for name, tensor in expected.items():
        assert tensors[name].dtype == tensor.dtype
        torch.testing.assert_close(tensors[name].detach(), tensor, rtol=0, atol=0, equal_nan=True)


def all_files(folder):
    paths = [path for path in Path(folder).rglob("*") if path.is_file()]
    return sorted(path.relative_to(folder).as_posix() for path in paths)


# Reading


def test_a_checkpoint_is_read_exactly(tmp_path):
    written = write(tmp_path)
    for checkpoint in (written, Checkpoint.open(tmp_path / "step-00000007")):
        for name, tensors in make_components().items():
            assert_same(checkpoint.component(name), tensors)
        assert_same(checkpoint.training_tensors(), TRAINING)
        assert checkpoint.training_state() == STATE
        assert checkpoint.step == 7
        assert checkpoint.manifest["configuration"] == "abc"
        assert checkpoint.components == ["bridge", "decoder.fr", "encoder.de"]


def test_training_tensors_of_some_components(tmp_path):
    tensors = write(tmp_path).training_tensors(["bridge", "decoder.fr"])
    assert list(tensors) == ["bridge/heads.weight/exp_avg"]


@pytest.mark.parametrize(
    ("name", "expected"), [("bridge", True), ("decoder.de", False), ("training", True)]
)
def test_has_component_looks_for_a_file(name, expected, tmp_path):
    assert write(tmp_path).has_component(name) == expected


def test_load_into_copies_the_parameters_of_a_model(tmp_path):
    written = write(tmp_path)
    model = {}
    for name, tensors in make_components().items():
        model[name] = {
            key: nn.Parameter(torch.zeros_like(tensor)) for key, tensor in tensors.items()
        }
    written.load_into(model)
    for name, tensors in make_components().items():
        assert_same(model[name], tensors)


def test_load_into_another_model_is_an_error(tmp_path):
    written = write(tmp_path)
    model = {"bridge": {"heads.weight": nn.Parameter(torch.zeros(9, 9))}}
    message = "step-00000007: bridge: comes from another configuration: heads.weight has shape"
    with pytest.raises(CheckpointError, match=message):
        written.load_into(model)


def test_a_component_is_a_safetensors_file_of_its_own(tmp_path):
    written = write(tmp_path)
    expected = make_components()
    assert_same(load_file(written.path / "encoder.de.safetensors"), expected["encoder.de"])
    for file in FILES:
        if file not in ("bridge.safetensors", "manifest.json"):
            (written.path / file).unlink()
    assert_same(Checkpoint.open(written.path).component("bridge"), expected["bridge"])


def test_no_file_can_run_code(tmp_path):
    written = write(tmp_path)
    assert all_files(written.path) == FILES
    for file in FILES:
        content = (written.path / file).read_bytes()
        if file.endswith(".json"):
            json.loads(content)
        else:
            header_size = int.from_bytes(content[:8], "little")
            json.loads(content[8 : 8 + header_size])
            load_file(written.path / file)


def test_the_package_uses_no_pickle():
    package = Path(checkpoints.__file__).parents[1]
    # Conversion of another program's checkpoints.
    safe = "torch.load(path, weights_only=True, "
    for path in package.rglob("*.py"):
        source = path.read_text(encoding="utf-8").replace(safe, "")
        for unsafe in ("import pickle", "torch.load(", "torch.save("):
            assert unsafe not in source, path


def test_the_manifest_has_the_checksum_of_every_file(tmp_path):
    written = write(tmp_path)
    manifest = json.loads((written.path / "manifest.json").read_text())
    assert sorted(manifest["files"]) == [file for file in FILES if file != "manifest.json"]
    for file, checksum in manifest["files"].items():
        content = (written.path / file).read_bytes()
        assert hashlib.sha256(content).hexdigest() == checksum
    checksum = manifest.pop("checksum")
    content = json.dumps(manifest, sort_keys=True).encode()
    assert hashlib.sha256(content).hexdigest() == checksum


# Several ranks


class Ranks(Processes):
    """One of two ranks; the results of the other rank are prepared."""

    def __init__(self, rank, other_results):
        super().__init__()
        self.rank = rank
        self.other_results = list(other_results)

    def gather(self, value, kind, awaited="the others"):
        results = [value, self.other_results.pop(0)]
        return results if self.rank == 0 else results[::-1]


def test_two_ranks_write_one_checkpoint(tmp_path):
    """Rank 1 writes its files; rank 0 collects their checksums."""
    folder = tmp_path / ".step-00000007.writing"
    folder.mkdir()
    components = make_components()
    rank_1 = Ranks(1, [(folder.name, None), ({}, None), (None, None)])
    write(
        tmp_path,
        components={"decoder.fr": components["decoder.fr"]},
        training={"decoder.fr/scale/step": torch.tensor(5.0)},
        state={"wrong": 1},
        processes=rank_1,
    )
    assert all_files(folder) == ["decoder.fr.safetensors", "training.1.safetensors"]
    checksums = {}
    contents = {}
    for file in all_files(folder):
        contents[file] = (folder / file).read_bytes()
        checksums[file] = hashlib.sha256(contents[file]).hexdigest()

    class RankZero(Ranks):
        def gather(self, value, kind, awaited="the others"):
            if len(self.other_results) == 2:  # rank 1 has written its files now
                (new_folder,) = tmp_path.glob(".step-*")
                for file, content in contents.items():
                    (new_folder / file).write_bytes(content)
            return super().gather(value, kind, awaited)

    rank_0 = RankZero(0, [(None, None), (checksums, None), (None, None)])
    part = {name: components[name] for name in ("encoder.de", "bridge")}
    write(tmp_path, components=part, processes=rank_0)
    checkpoint = Checkpoint.open(tmp_path / "step-00000007")
    for name, tensors in components.items():
        assert_same(checkpoint.component(name), tensors)
    expected = TRAINING | {"decoder.fr/scale/step": torch.tensor(5.0)}
    assert_same(checkpoint.training_tensors(), expected)
    assert checkpoint.training_state() == STATE


def test_a_checkpoint_with_the_name_of_another_step_is_an_error(tmp_path):
    path = write(tmp_path, step=7).path
    assert Checkpoint.open(path.rename(tmp_path / "copy")).step == 7
    renamed = (tmp_path / "copy").rename(tmp_path / "step-00000008")
    with pytest.raises(CheckpointError, match="is of step 7.*call it step-00000007 again"):
        Checkpoint.open(renamed)


def test_a_failure_of_another_rank_is_an_error_on_this_rank(tmp_path):
    write(tmp_path, step=5)
    failure = (None, "No space left on device")
    processes = Ranks(0, [(None, None), failure])
    message = (
        "the checkpoint cannot be written: No space left on device; the last good one is step 5"
    )
    with pytest.raises(CheckpointError, match=message):
        write(tmp_path, processes=processes)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000005"]


# Damage


def read_all(folder):
    (checkpoint,) = checkpoints.choose(folder, "last")
    for name in make_components():
        checkpoint.component(name)
    checkpoint.training_tensors()
    checkpoint.training_state()
    return checkpoint


@pytest.mark.parametrize("file", [file for file in FILES if file != "manifest.json"])
def test_a_flipped_bit_in_a_file_is_noticed(file, tmp_path):
    write(tmp_path, step=5)
    written = write(tmp_path)
    content = (written.path / file).read_bytes()
    message = (
        f"{file}: damaged: its SHA-256 is .*choose another checkpoint; to train on, remove "
        ".*step-0+7, and training continues from the one before it"
    )
    for place in {*range(0, len(content), 7), len(content) - 1}:
        damaged = bytearray(content)
        damaged[place] ^= 1 << (place % 8)
        (written.path / file).write_bytes(damaged)
        with pytest.raises(CheckpointError, match=message):
            read_all(tmp_path)


def test_a_flipped_bit_in_the_manifest_is_noticed(tmp_path):
    written = write(tmp_path)
    path = written.path / "manifest.json"
    content = path.read_bytes()
    unnoticed = 0
    for place in range(0, len(content), 3):
        damaged = bytearray(content)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        try:
            assert read_all(tmp_path).manifest.items() >= written.manifest.items()
            unnoticed += 1
        except CheckpointError as error:
            assert str(written.path) in str(error)
    # If the key of the checksum changes, there is no checksum to compare with.
    assert unnoticed <= len("checksum")


@pytest.mark.parametrize("length", [0, 1, 100])
@pytest.mark.parametrize("file", ["bridge.safetensors", "training.json", "manifest.json"])
def test_a_truncated_file_is_noticed(file, length, tmp_path):
    written = write(tmp_path)
    path = written.path / file
    path.write_bytes(path.read_bytes()[:length])
    message = "manifest.json cannot be used" if file == "manifest.json" else str(path)
    with pytest.raises(CheckpointError, match=message):
        read_all(tmp_path)


@pytest.mark.parametrize("file", ["bridge.safetensors", "training.json", "training.safetensors"])
def test_a_missing_file_is_an_error(file, tmp_path):
    written = write(tmp_path)
    (written.path / file).unlink()
    message = (
        f"{file}: cannot be read: No such file or directory; put the file back, or choose another"
    )
    with pytest.raises(CheckpointError, match=message):
        read_all(tmp_path)


def test_a_file_with_a_right_checksum_that_is_not_safetensors_is_an_error(tmp_path):
    written = write(tmp_path)
    content = b"something else"
    (written.path / "bridge.safetensors").write_bytes(content)
    files = {"bridge.safetensors": hashlib.sha256(content).hexdigest()}
    checkpoint = Checkpoint(written.path, {"step": 7, "files": files})
    with pytest.raises(CheckpointError, match="bridge.safetensors: cannot be read as safetensors"):
        checkpoint.component("bridge")


def test_an_unknown_component_is_an_error(tmp_path):
    message = "step-00000007: has no component 'decoder.de'; it has bridge, decoder.fr, encoder.de$"
    with pytest.raises(CheckpointError, match=message):
        write(tmp_path).component("decoder.de")


# Failures while writing


@pytest.fixture(
    params=["first file", "last file", "sync of the folder", "every rename", "last rename"]
)
def fill_disk(request, monkeypatch):
    """Function after which the disk is full at some point."""
    error = OSError(errno.ENOSPC, "No space left on device")
    write_synced = checkpoint_writing.write_synced
    rename = Path.rename

    def fail(*_):
        raise error

    def write_half(path, content):
        if request.param == "first file" or path.name == checkpoints.MANIFEST:
            path.write_bytes(content[: len(content) // 2])
            raise error
        write_synced(path, content)

    def rename_old_only(path, target):
        if path.name.endswith(".writing"):
            raise error
        return rename(path, target)

    def fill():
        if request.param == "sync of the folder":
            monkeypatch.setattr(checkpoint_writing, "sync_folder", fail)
        elif request.param == "every rename":
            monkeypatch.setattr(Path, "rename", fail)
        elif request.param == "last rename":
            monkeypatch.setattr(Path, "rename", rename_old_only)
        else:
            monkeypatch.setattr(checkpoint_writing, "write_synced", write_half)

    return fill


def test_on_a_full_disk_the_folder_does_not_change(fill_disk, tmp_path):
    write(tmp_path, step=5, seed=5)
    before = all_files(tmp_path)
    fill_disk()
    message = (
        "step-00000007: the checkpoint cannot be written: No space left on device; "
        "the last good one is step 5"
    )
    with pytest.raises(CheckpointError, match=message):
        write(tmp_path)
    assert checkpoints.steps(tmp_path) == [5]
    assert all_files(tmp_path) == before
    (last,) = checkpoints.choose(tmp_path, "last")
    assert_same(last.component("encoder.de"), make_components(5)["encoder.de"])


def test_on_a_full_disk_the_older_checkpoint_of_the_same_step_stays(
    fill_disk, tmp_path, monkeypatch
):
    """After a resume a step may be written again."""
    write(tmp_path, seed=5)
    before = all_files(tmp_path)
    fill_disk()
    message = "No space left on device; the last good one is step 7"
    with pytest.raises(CheckpointError, match=message):
        write(tmp_path, seed=6)
    monkeypatch.undo()
    assert all_files(tmp_path) == before
    component = read_all(tmp_path).component("encoder.de")
    assert_same(component, make_components(5)["encoder.de"])


def test_on_a_full_disk_there_may_be_no_earlier_checkpoint(fill_disk, tmp_path):
    fill_disk()
    with pytest.raises(CheckpointError, match="No space left on device; there is no earlier one"):
        write(tmp_path / "checkpoints")
    assert all_files(tmp_path) == []


def test_a_checkpoint_of_the_same_step_is_replaced(tmp_path):
    write(tmp_path, seed=5)
    write(tmp_path, seed=6)
    component = read_all(tmp_path).component("encoder.de")
    assert_same(component, make_components(6)["encoder.de"])
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000007"]


def test_the_operating_system_limits_the_file_size(tmp_path):
    """A real error of write(2), in a child process that has the limit."""
    folder = tmp_path / "checkpoints"
    output = tmp_path / "output"
    write(folder, step=5)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        components = {"small": {"x": torch.zeros(9)}, "large": {"x": torch.zeros(9_000)}}
        try:
            write(folder, step=7, components=components)
        except CheckpointError as error:
            output.write_text(str(error))
        os._exit(0)
    os.waitpid(child, 0)
    assert output.read_text() == (
        f"{folder / 'step-00000007'}: the checkpoint cannot be written: File too large; "
        "the last good one is step 5"
    )
    assert [path.name for path in folder.iterdir()] == ["step-00000005"]


def test_a_file_in_place_of_the_folder_is_an_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    message = "the checkpoint cannot be written: Not a directory; there is no earlier one"
    with pytest.raises(CheckpointError, match=message):
        write(tmp_path / "file" / "checkpoints")


def test_an_incomplete_folder_of_a_killed_process_is_ignored_and_replaced(tmp_path):
    write(tmp_path, step=5)
    incomplete = tmp_path / ".step-00000007.writing"
    shutil.copytree(tmp_path / "step-00000005", incomplete)
    (incomplete / "bridge.safetensors").write_bytes(b"half")
    assert checkpoints.steps(tmp_path) == [5]
    assert_same(read_all(tmp_path).component("bridge"), make_components()["bridge"])
    write(tmp_path, step=7)
    assert checkpoints.steps(tmp_path) == [5, 7]
    assert not incomplete.exists()
    assert read_all(tmp_path).step == 7


def test_everything_is_synced_before_the_checkpoint_gets_its_name(tmp_path, monkeypatch):
    """After a power failure, a folder with the name of a checkpoint is complete."""
    events = []
    fsync = os.fsync
    rename = Path.rename

    def record_fsync(descriptor):
        events.append(("sync", os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    def record_rename(path, target):
        events.append(("rename", str(path)))
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(Path, "rename", record_rename)
    write(tmp_path)
    renames = [event for event in events if event[0] == "rename"]
    ((_, temporary),) = renames
    position = events.index(renames[0])
    synced = {path for _, path in events[:position]}
    assert synced == {temporary, *(f"{temporary}/{file}" for file in FILES)}
    assert events[position - 1] == ("sync", temporary)
    assert events[position + 1 :] == [("sync", str(tmp_path))]


# Choice of checkpoints


def chosen_steps(folder, which):
    return [checkpoint.step for checkpoint in checkpoints.choose(folder, which)]


@pytest.fixture
def three_steps(tmp_path):
    for step in (3, 20, 100):
        write(tmp_path, step=step)
    return tmp_path


@pytest.mark.parametrize(
    ("which", "steps"),
    [
        ("last", [100]),
        ("best", [100]),
        ("3", [3]),
        ("0003", [3]),
        (20, [20]),
        ("average:1", [100]),
        ("average:2", [20, 100]),
        ("average:9", [3, 20, 100]),
    ],
)
def test_names_of_checkpoints(which, steps, three_steps):
    assert chosen_steps(three_steps, which) == steps


def test_the_best_checkpoint_is_the_marked_one(three_steps):
    checkpoints.mark_best(three_steps, {"step": 20, "by": "loss", "value": 1.5})
    assert checkpoints.best_step(three_steps) == 20
    assert chosen_steps(three_steps, "best") == [20]
    assert chosen_steps(three_steps, "last") == [100]


@pytest.mark.parametrize("which", ["bset", "average:0", "average:", "-1", "", "²"])
def test_an_unknown_name_is_an_error(which, three_steps):
    with pytest.raises(CheckpointError) as error:
        checkpoints.choose(three_steps, which)
    assert str(error.value) == (
        f"checkpoint {which!r}: write best, last, a step, or average:N; there are 3, 20, 100"
    )


def test_a_missing_step_is_an_error(three_steps):
    with pytest.raises(CheckpointError, match="no checkpoint of step 7; there are 3, 20, 100"):
        checkpoints.choose(three_steps, "7")


def test_a_folder_without_checkpoints_is_an_error(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(CheckpointError, match="no checkpoint; has the run been trained?"):
            checkpoints.choose(folder, "best")


def test_a_best_checkpoint_that_was_removed_is_an_error(three_steps):
    checkpoints.mark_best(three_steps, {"step": 2})
    with pytest.raises(CheckpointError) as error:
        checkpoints.choose(three_steps, "best")
    assert str(error.value) == (
        f"{three_steps}/best.json: step 2 was the best, but its checkpoint is gone; "
        "there are 3, 20, 100: put it back, choose one of these, "
        "or remove best.json, and the newest counts as the best"
    )
    assert chosen_steps(three_steps, "last") == [100]
    (three_steps / "best.json").unlink()
    assert chosen_steps(three_steps, "best") == [100]


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"step": "x"}', "{"])
def test_a_damaged_mark_is_an_error(content, three_steps):
    (three_steps / "best.json").write_text(content)
    with pytest.raises(CheckpointError, match="best.json: cannot be used; remove it, and the"):
        checkpoints.choose(three_steps, "best")
    assert chosen_steps(three_steps, "last") == [100]


# Removal


@pytest.mark.parametrize(
    ("best", "keep", "steps"),
    [
        (2, 2, [2, 4, 5]),
        (5, 1, [5]),
        (1, 1, [1, 5]),
        (None, 3, [3, 4, 5]),
        (None, 9, [1, 2, 3, 4, 5]),
    ],
)
def test_pruning_keeps_the_newest_and_the_best(best, keep, steps, tmp_path):
    for step in (1, 2, 3, 4, 5):
        write(tmp_path, step=step)
    if best is not None:
        checkpoints.mark_best(tmp_path, {"step": best})
    checkpoints.prune(tmp_path, keep=keep)
    assert checkpoints.steps(tmp_path) == steps


def test_pruning_removes_incomplete_folders(tmp_path):
    write(tmp_path, step=5)
    shutil.copytree(tmp_path / "step-00000005", tmp_path / ".step-00000006.writing")
    checkpoints.prune(tmp_path, keep=3)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000005"]


@pytest.mark.parametrize("name", ["step-00000005", ".step-00000007.writing"])
def test_a_folder_that_cannot_be_removed_is_an_error(name, tmp_path, monkeypatch):
    for step in (5, 6, 7):
        write(tmp_path, step)
    (tmp_path / ".step-00000007.writing").mkdir()
    remove = shutil.rmtree

    def refuse(path, **options):
        if Path(path).name == name:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        remove(path, **options)

    monkeypatch.setattr(shutil, "rmtree", refuse)
    message = f"{tmp_path / name}: cannot be removed: Permission denied"
    with pytest.raises(CheckpointError, match=message):
        checkpoints.prune(tmp_path, keep=1)


# Wrong manifests, also without assertions

WRONG_MANIFESTS = [
    {"files": [], "step": 7},
    {"files": {}, "step": "7"},
    {"files": {}},
    {"step": 7},
    [],
    7,
]
OPEN_ALL = """
import sys
from contextlib import redirect_stdout
from pathlib import Path
from polyglot.runs import checkpoint
from polyglot.core.errors import CheckpointError
from polyglot.core.stored_json import with_checksum
for path in map(Path, sys.argv[1:]):
    for read in (checkpoint.Checkpoint.open, checkpoint.best_step):
        try:
            read(path)
        except CheckpointError as error:
            print(error)
"""


def open_all_here(folders):
    """Run OPEN_ALL in this process; returns what it prints."""
    assert __debug__
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.setattr(sys, "argv", ["open_all", *map(str, folders)])
        exec(OPEN_ALL, {})
    return printed.getvalue()


def open_all_without_assertions(folders):
    command = [sys.executable, "-O", "-c", OPEN_ALL, *map(str, folders)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("open_all", [open_all_here, open_all_without_assertions])
def test_a_wrong_manifest_or_mark_is_an_error(open_all, tmp_path):
    folders = []
    for number, manifest in enumerate(WRONG_MANIFESTS):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "manifest.json").write_text(json.dumps(manifest))
        (folder / "best.json").write_text(json.dumps({"step": None}))
        folders.append(folder)
    lines = open_all(folders).splitlines()
    for folder, manifest, mark in zip(folders, lines[::2], lines[1::2], strict=True):
        expected = (
            rf"{folder}: no complete checkpoint: manifest.json cannot be used \(.+\); "
            rf"choose another checkpoint; to train on, remove {folder}, and .+"
        )
        assert re.fullmatch(expected, manifest)
        technical = r"object|attribute|indices|expected at most|'files'|Errno"
        assert not re.search(technical, manifest)
        assert mark == (
            f"{folder / 'best.json'}: cannot be used; remove it, "
            "and the newest checkpoint counts as the best"
        )


# Checkpoints of somebody else


@pytest.mark.parametrize(
    "file",
    [
        "../../../precious.safetensors",
        "/tmp/precious.safetensors",
        "..",
        ".hidden.safetensors",
        "encoder/de.safetensors",
        "encoder\\de.safetensors",
        "encoder.de\n.safetensors",
        "a" * 300 + ".safetensors",
        "",
    ],
)
def test_file_names_that_leave_the_folder_are_refused(file, tmp_path):
    path = write(tmp_path, step=5).path
    manifest = json.loads((path / checkpoints.MANIFEST).read_text())
    del manifest["checksum"]
    manifest["files"][file] = "0" * 64
    (path / checkpoints.MANIFEST).write_text(json.dumps(with_checksum(manifest)))
    with pytest.raises(CheckpointError, match="files"):
        Checkpoint.open(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("step", "5"),
        ("step", 5.0),
        ("step", True),
        ("step", -1),
        ("step", 10**20),
        ("files", []),
        ("files", {"bridge.safetensors": 1}),
        ("files", {"bridge.safetensors": "short"}),
        ("version", 3),
        ("configuration", [1]),
    ],
)
def test_manifest_with_a_wrong_type_is_refused(key, value, tmp_path):
    path = write(tmp_path, step=5).path
    manifest = json.loads((path / checkpoints.MANIFEST).read_text())
    del manifest["checksum"]
    manifest[key] = value
    (path / checkpoints.MANIFEST).write_text(json.dumps(with_checksum(manifest)))
    with pytest.raises(CheckpointError, match=key):
        Checkpoint.open(path)


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"step": ' + b"9" * 5000 + b"}", b"\xff"])
@pytest.mark.parametrize("file", [checkpoints.MANIFEST, checkpoints.BEST])
def test_malformed_json_is_an_error_without_a_traceback(file, content, tmp_path):
    path = write(tmp_path, step=5).path
    folder = path if file == checkpoints.MANIFEST else tmp_path
    (folder / file).write_bytes(content)
    with pytest.raises(CheckpointError):
        checkpoints.choose(tmp_path, "best")


def test_writing_does_not_follow_symbolic_links(tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("content")
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    for name in (".step-00000007.writing", ".step-00000007.before", ".step-00000008.writing"):
        (folder / name).symlink_to(precious)
    write(folder, step=7)
    write(folder, step=7)
    checkpoints.prune(folder, keep=1)
    assert [path.name for path in folder.iterdir()] == ["step-00000007"]
    assert (precious / "file").read_text() == "content"
