"""Checkpoints: what was written is read again to the bit, damage is noticed, and no failure costs the last good one."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from polyglot.core.errors import CheckpointError
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.averaging import load_average
from polyglot.runs.checkpoint import Checkpoint


def components(seed=0):
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=generator)  # noqa: E731
    return {
        "encoder.de": {"weight": draw(4, 3), "bias": draw(4)},
        "bridge": {"heads.weight": draw(2, 4).t()},  # not contiguous
        "decoder.fr": {
            "weight": draw(5, 4).to(torch.bfloat16),
            "scale": torch.tensor(float("nan")),
        },
    }


STATE = {"progress": {"step": 7, "best": None}, "positions": {"de-fr": {"epoch": 3, "index": 1}}}


def write(folder, step=7, seed=0, **given):
    values = {
        "components": components(seed),
        "training": {
            "encoder.de/weight/exp_avg": torch.randn(4, 3),
            "encoder.de/weight/step": torch.tensor(3.0),
        },
        "state": STATE,
        "configuration": "abc",
    }
    return checkpoints.write(folder, step=step, **(values | given))


def same(one, other):
    return one.keys() == other.keys() and all(
        torch.equal(one[key].nan_to_num(5), other[key].nan_to_num(5))
        and one[key].dtype == other[key].dtype
        for key in one
    )


def files(folder):
    """Everything below a folder."""
    return sorted(
        path.relative_to(folder).as_posix() for path in Path(folder).rglob("*") if path.is_file()
    )


# What was written is read again ------------------------------------------------------------------------------------------


def test_what_is_written_is_read_again_to_the_bit(tmp_path):
    training = {
        "encoder.de/weight/exp_avg": torch.randn(4, 3),
        "encoder.de/weight/step": torch.tensor(3.0),
    }
    written = write(tmp_path, training=training)
    for checkpoint in (written, Checkpoint.open(tmp_path / "step-00000007")):
        for name, tensors in components().items():
            assert same(checkpoint.component(name), tensors)
        assert same(checkpoint.training_tensors(), training)
        assert checkpoint.training_state() == STATE
        assert checkpoint.step == 7 and checkpoint.manifest["configuration"] == "abc"


def test_a_model_gets_exactly_what_was_written(tmp_path):
    written = write(tmp_path)
    parameters = {
        name: {key: nn.Parameter(torch.zeros_like(tensor)) for key, tensor in part.items()}
        for name, part in components().items()
    }
    written.load_into(parameters)
    for name, part in components().items():
        assert same(parameters[name], part)


def test_a_component_can_be_taken_out_alone(tmp_path):
    """Any one file, with nothing of ours: safetensors reads it."""
    written = write(tmp_path)
    assert same(load_file(written.path / "encoder.de.safetensors"), components()["encoder.de"])
    for file in files(written.path):
        if file not in ("bridge.safetensors", "manifest.json"):
            (written.path / file).unlink()
    assert same(Checkpoint.open(written.path).component("bridge"), components()["bridge"])


def test_nothing_in_it_can_run_code(tmp_path):
    written = write(tmp_path)
    assert files(written.path) == [
        "bridge.safetensors", "decoder.fr.safetensors", "encoder.de.safetensors", "manifest.json", "training.json", "training.safetensors"
    ]  # fmt: skip
    for file in files(written.path):
        content = (written.path / file).read_bytes()
        if file.endswith(".json"):
            json.loads(content)
        else:
            header = int.from_bytes(content[:8], "little")
            json.loads(content[8 : 8 + header])
            load_file(written.path / file)
    package = Path(checkpoints.__file__).parent
    safe = "torch.load(path, weights_only=True, "  # of another program's file, in convert.py
    texts = {path.name: path.read_text().replace(safe, "") for path in package.rglob("*.py")}
    unsafe = [
        name
        for name, text in texts.items()
        if any(word in text for word in ("import pickle", "torch.load(", "torch.save("))
    ]
    assert unsafe == []


# Damage ------------------------------------------------------------------------------------------------------------------


def read_everything(folder):
    for checkpoint in checkpoints.choose(folder, "last"):
        for name in components():
            checkpoint.component(name)
        checkpoint.training_tensors()
        checkpoint.training_state()
        return checkpoint


@pytest.mark.parametrize(
    "file",
    [
        "bridge.safetensors",
        "decoder.fr.safetensors",
        "encoder.de.safetensors",
        "training.json",
        "training.safetensors",
    ],
)
def test_a_flipped_byte_anywhere_in_a_file_is_noticed(file, tmp_path):
    write(tmp_path, step=5)
    written = write(tmp_path)
    content = (written.path / file).read_bytes()
    for place in {*range(0, len(content), 7), len(content) - 1}:
        damaged = bytearray(content)
        damaged[place] ^= 1 << (place % 8)
        (written.path / file).write_bytes(damaged)
        with pytest.raises(
            CheckpointError,
            match=f"{file}: damaged: its SHA-256 is .*choose another checkpoint; to train on, remove .*step-0+7, and training continues from the one before it",
        ):
            read_everything(tmp_path)


def test_a_flipped_byte_in_the_manifest_never_passes_for_something_else(tmp_path):
    written = write(tmp_path)
    content = (written.path / "manifest.json").read_bytes()
    unnoticed = 0
    for place in range(0, len(content), 3):
        damaged = bytearray(content)
        damaged[place] ^= 1
        (written.path / "manifest.json").write_bytes(damaged)
        try:
            assert read_everything(tmp_path).manifest.items() >= written.manifest.items()
            unnoticed += 1
        except CheckpointError as error:
            assert str(written.path) in str(error)
    assert unnoticed <= len("checksum"), (
        "only the name of the checksum itself may change: then there is none to compare with"
    )


@pytest.mark.parametrize("cut", [0, 1, 100])
@pytest.mark.parametrize("file", ["bridge.safetensors", "training.json", "manifest.json"])
def test_a_file_that_was_cut_off_is_noticed(file, cut, tmp_path):
    written = write(tmp_path)
    content = (written.path / file).read_bytes()
    (written.path / file).write_bytes(content[:cut])
    with pytest.raises(
        CheckpointError,
        match=str(written.path / file)
        if file != "manifest.json"
        else "manifest.json cannot be used",
    ):
        read_everything(tmp_path)


@pytest.mark.parametrize("file", ["bridge.safetensors", "training.json", "training.safetensors"])
def test_a_file_that_is_gone(file, tmp_path):
    written = write(tmp_path)
    (written.path / file).unlink()
    with pytest.raises(
        CheckpointError,
        match=f"{file}: cannot be read: No such file or directory; put the file back, or choose another",
    ):
        read_everything(tmp_path)


def test_a_component_that_was_never_there(tmp_path):
    with pytest.raises(
        CheckpointError,
        match="step-00000007: has no component 'decoder.de'; it has bridge, decoder.fr, encoder.de$",
    ):
        write(tmp_path).component("decoder.de")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda own: own.update(weight=nn.Parameter(torch.zeros(4, 9))),
            r"bridge: comes from another configuration: weight has shape \(2, 3\), but \(4, 9\) in this model",
        ),
        (
            lambda own: own.update(extra=nn.Parameter(torch.zeros(1))),
            r"bridge: comes from another configuration: the parameters differ \(extra",
        ),
        (
            lambda own: own.pop("weight"),
            r"bridge: comes from another configuration: the parameters differ \(weight",
        ),
    ],
)
def test_another_configuration(change, sentence, tmp_path):
    written = write(
        tmp_path, components={"bridge": {"weight": torch.zeros(2, 3), "bias": torch.zeros(2)}}
    )
    own = {"weight": nn.Parameter(torch.zeros(2, 3)), "bias": nn.Parameter(torch.zeros(2))}
    written.load_into({"bridge": own})
    change(own)
    with pytest.raises(CheckpointError, match=sentence):
        written.load_into({"bridge": own})


# Failures while writing --------------------------------------------------------------------------------------------------


@pytest.fixture(
    params=[
        "the first file",
        "the last file",
        "the sync of the folder",
        "every renaming",
        "the renaming of the new one",
    ]
)
def full_disk(request, monkeypatch):
    """A disk that is full from some point on."""

    def arm():
        synced = checkpoints.write_synced
        full = OSError(errno.ENOSPC, "No space left on device")

        def fails(*_):
            raise full

        def writes(path, content):
            if request.param == "the first file" or path.name == checkpoints.MANIFEST:
                path.write_bytes(content[: len(content) // 2])
                raise full
            synced(path, content)

        if request.param == "the sync of the folder":
            monkeypatch.setattr(checkpoints, "sync_folder", fails)
        elif request.param == "every renaming":
            monkeypatch.setattr(Path, "rename", fails)
        elif request.param == "the renaming of the new one":
            rename = Path.rename
            monkeypatch.setattr(
                Path,
                "rename",
                lambda path, to: fails() if path.name.endswith(".writing") else rename(path, to),
            )
        else:
            monkeypatch.setattr(checkpoints, "write_synced", writes)

    return arm


def test_a_full_disk_leaves_the_last_good_one_and_nothing_else(full_disk, tmp_path):
    write(tmp_path, step=5, seed=5)
    before = files(tmp_path)
    full_disk()
    with pytest.raises(
        CheckpointError,
        match="step-00000007: the checkpoint cannot be written: No space left on device; the last good one is step 5",
    ):
        write(tmp_path)
    assert checkpoints.steps(tmp_path) == [5] and files(tmp_path) == before
    assert same(
        checkpoints.choose(tmp_path, "last")[0].component("encoder.de"), components(5)["encoder.de"]
    )


def test_a_full_disk_leaves_the_one_of_the_same_step(full_disk, tmp_path, monkeypatch):
    """After a resume a step may be written again: until the new one is whole, the old one stands."""
    write(tmp_path, seed=5)
    before = files(tmp_path)
    full_disk()
    with pytest.raises(
        CheckpointError, match="No space left on device; the last good one is step 7"
    ):
        write(tmp_path, seed=6)
    monkeypatch.undo()
    assert files(tmp_path) == before
    assert same(read_everything(tmp_path).component("encoder.de"), components(5)["encoder.de"])


def test_a_full_disk_at_the_first_one(full_disk, tmp_path):
    full_disk()
    with pytest.raises(CheckpointError, match="No space left on device; there is no earlier one"):
        write(tmp_path / "checkpoints")
    assert files(tmp_path) == []


def test_the_same_step_is_replaced(tmp_path):
    write(tmp_path, seed=5)
    write(tmp_path, seed=6)
    assert same(read_everything(tmp_path).component("encoder.de"), components(6)["encoder.de"])
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000007"]


def test_a_real_limit_of_the_operating_system(tmp_path):
    """Files may not grow beyond some size: what write(2) says when there is no room."""
    folder, said = tmp_path / "checkpoints", tmp_path / "said"
    write(folder, step=5)
    child = os.fork()
    if child == 0:  # the limit is the child's
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        try:
            write(
                folder,
                step=7,
                components={"small": {"x": torch.zeros(9)}, "large": {"x": torch.zeros(9_000)}},
            )
        except CheckpointError as error:
            said.write_text(str(error))
        os._exit(0)
    os.waitpid(child, 0)
    assert (
        said.read_text()
        == f"{folder / 'step-00000007'}: the checkpoint cannot be written: File too large; the last good one is step 5"
    )
    assert [path.name for path in folder.iterdir()] == ["step-00000005"]


def test_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(
        CheckpointError,
        match="the checkpoint cannot be written: Not a directory; there is no earlier one",
    ):
        write(tmp_path / "file" / "checkpoints")


def test_what_a_killed_process_left_is_no_checkpoint(tmp_path):
    write(tmp_path, step=5)
    half = tmp_path / ".step-00000007.writing"
    shutil.copytree(tmp_path / "step-00000005", half)
    (half / "bridge.safetensors").write_bytes(b"half")
    assert checkpoints.steps(tmp_path) == [5]
    assert same(read_everything(tmp_path).component("bridge"), components()["bridge"])
    write(tmp_path, step=7)
    assert checkpoints.steps(tmp_path) == [5, 7] and not half.exists()
    read_everything(tmp_path)
    shutil.copytree(tmp_path / "step-00000005", tmp_path / ".step-00000006.writing")
    checkpoints.prune(tmp_path, keep=3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000005", "step-00000007"]


def test_everything_is_synced_before_it_has_its_name(tmp_path, monkeypatch):
    """A power cut after the renaming finds a whole checkpoint."""
    synced, renamed = [], []
    fsync, rename = os.fsync, Path.rename
    monkeypatch.setattr(
        os,
        "fsync",
        lambda descriptor: (
            synced.append(os.readlink(f"/proc/self/fd/{descriptor}")),
            fsync(descriptor),
        ),
    )
    monkeypatch.setattr(
        Path,
        "rename",
        lambda path, target: (renamed.append((path, len(synced))), rename(path, target))[1],
    )
    written = write(tmp_path)
    ((temporary, before),) = renamed
    assert {Path(path).name for path in synced[:before]} == {temporary.name, *files(written.path)}
    assert synced[before:] == [str(tmp_path)]


# Which one ---------------------------------------------------------------------------------------------------------------


def chosen(folder, which):
    return [checkpoint.step for checkpoint in checkpoints.choose(folder, which)]


def test_which_checkpoint_is_meant(tmp_path):
    for step in (3, 20, 100):
        write(tmp_path, step=step)
    assert chosen(tmp_path, "last") == chosen(tmp_path, "best") == [100], (
        "best is the newest where none was marked"
    )
    checkpoints.mark_best(tmp_path, {"step": 20, "by": "loss", "value": 1.5})
    assert chosen(tmp_path, "best") == [20] and chosen(tmp_path, "last") == [100]
    assert chosen(tmp_path, "3") == chosen(tmp_path, "0003") == [3]
    assert chosen(tmp_path, "average:1") == [100]
    assert chosen(tmp_path, "average:2") == [20, 100]
    assert chosen(tmp_path, "average:9") == [3, 20, 100]


@pytest.mark.parametrize(
    ("which", "sentence"),
    [
        ("bset", "checkpoint 'bset': write best, last, a step, or average:N; there are 3, 20"),
        (
            "average:0",
            "checkpoint 'average:0': write best, last, a step, or average:N; there are 3, 20",
        ),
        ("average:", "checkpoint 'average:': write best"),
        ("-1", "checkpoint '-1': write best"),
        ("", "checkpoint '': write best"),
        ("²", "checkpoint '²': write best"),
        ("7", "no checkpoint of step 7; there are 3, 20"),
    ],
)
def test_a_checkpoint_that_is_not_there(which, sentence, tmp_path):
    for step in (3, 20):
        write(tmp_path, step=step)
    with pytest.raises(CheckpointError, match=sentence):
        checkpoints.choose(tmp_path, which)


def test_a_run_that_was_never_trained(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(CheckpointError, match="no checkpoint; has the run been trained?"):
            checkpoints.choose(folder, "best")


def test_steps_come_in_order_however_many_digits(tmp_path):
    for step in (0, 99_999_999, 100_000_000, 5):
        write(tmp_path, step=step)
    (tmp_path / "step-notes").mkdir()
    assert checkpoints.steps(tmp_path) == [0, 5, 99_999_999, 100_000_000]


def test_pruning_keeps_the_newest_and_the_best(tmp_path):
    for step in (1, 2, 3, 4, 5):
        write(tmp_path, step=step)
    checkpoints.mark_best(tmp_path, {"step": 2})
    checkpoints.prune(tmp_path, keep=2)
    assert checkpoints.steps(tmp_path) == [2, 4, 5]
    checkpoints.mark_best(tmp_path, {"step": 5})
    checkpoints.prune(tmp_path, keep=1)
    assert checkpoints.steps(tmp_path) == [5]
    checkpoints.prune(tmp_path, keep=3)
    assert checkpoints.steps(tmp_path) == [5]


def test_the_best_that_is_gone_is_missed_and_no_other_takes_its_place_unsaid(tmp_path):
    for step in (3, 4):
        write(tmp_path, step=step)
    checkpoints.mark_best(tmp_path, {"step": 2})
    with pytest.raises(CheckpointError) as error:
        checkpoints.choose(tmp_path, "best")
    assert str(error.value) == (
        f"{tmp_path}/best.json: step 2 was the best, but its checkpoint is gone; there are 3, 4: "
        "put it back, choose one of these, or remove best.json, and the newest counts as the best"
    )
    assert chosen(tmp_path, "last") == [4]
    (tmp_path / "best.json").unlink()
    assert chosen(tmp_path, "best") == [4]


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"step": "x"}', "{"])
def test_a_damaged_mark_is_a_sentence(content, tmp_path):
    write(tmp_path, step=3)
    (tmp_path / "best.json").write_text(content)
    with pytest.raises(CheckpointError, match="best.json: cannot be used"):
        checkpoints.choose(tmp_path, "best")
    assert chosen(tmp_path, "last") == [3]


# The mean of several -----------------------------------------------------------------------------------------------------


def test_an_average_is_the_mean_of_every_parameter(tmp_path):
    parts = [
        {"bridge": {"x": torch.randn(3, 4, generator=torch.Generator().manual_seed(seed))}}
        for seed in range(5)
    ]
    for step, part in enumerate(parts):
        write(tmp_path, step=step, components=part)
    parameter = nn.Parameter(torch.zeros(3, 4))
    for count in (1, 2, 5):
        load_average(checkpoints.choose(tmp_path, f"average:{count}"), {"bridge": {"x": parameter}})
        expected = (
            torch.stack([part["bridge"]["x"].double() for part in parts[-count:]])
            .mean(dim=0)
            .float()
        )
        assert torch.equal(parameter, expected)


def test_an_average_over_different_configurations_is_refused(tmp_path):
    write(tmp_path, step=1, components={"bridge": {"x": torch.zeros(3)}})
    write(tmp_path, step=2, components={"bridge": {"x": torch.zeros(4)}})
    with pytest.raises(CheckpointError, match="comes from another configuration"):
        load_average(
            checkpoints.choose(tmp_path, "average:2"),
            {"bridge": {"x": nn.Parameter(torch.zeros(4))}},
        )


STRANGE = [{"files": [], "step": 7}, {"files": {}, "step": "7"}, {"files": {}}, {"step": 7}, [], 7]
OPENING = """
import json, sys
from pathlib import Path
from polyglot.runs import checkpoint
from polyglot.core.errors import CheckpointError
for path in map(Path, sys.argv[1:]):
    for read in (lambda: checkpoint.Checkpoint.open(path), lambda: checkpoint.best_step(path)):
        try:
            read()
        except CheckpointError as error:
            print(error)
"""


@pytest.mark.parametrize("flags", [[], ["-O"]], ids=str)
def test_what_is_no_manifest_is_a_sentence(flags, tmp_path):
    """And what is no mark of the best; also where Python was told to leave its assertions out."""
    folders = [tmp_path / str(number) for number in range(len(STRANGE))]
    for folder, strange in zip(folders, STRANGE):
        folder.mkdir()
        (folder / "manifest.json").write_text(json.dumps(strange))
        (folder / "best.json").write_text(json.dumps({"step": None}))
    said = subprocess.run(
        [sys.executable, *flags, "-c", OPENING, *map(str, folders)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for folder, manifest, best in zip(
        folders, *(iter(said.splitlines()[start::2]) for start in (0, 1)), strict=True
    ):
        assert re.fullmatch(
            rf"{folder}: no complete checkpoint: manifest.json cannot be used \(.+\); choose another checkpoint; to train on, remove {folder}, and .+",
            manifest,
        )
        assert not re.search(
            r"object|attribute|indices|expected at most|'files'|Errno", manifest
        ), manifest
        assert (
            best
            == f"{folder / 'best.json'}: cannot be used; remove it, and the newest checkpoint counts as the best"
        )


@pytest.mark.parametrize("name", ["step-00000005", ".step-00000007.writing"])
def test_what_cannot_be_removed_is_a_sentence(name, tmp_path, monkeypatch):
    for step in (5, 6, 7):
        write(tmp_path, step)
    (tmp_path / ".step-00000007.writing").mkdir()
    remove = shutil.rmtree

    def refuse(path, **given):
        if Path(path).name == name:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        remove(path, **given)

    monkeypatch.setattr(shutil, "rmtree", refuse)
    with pytest.raises(
        CheckpointError, match=f"{tmp_path / name}: cannot be removed: Permission denied"
    ):
        checkpoints.prune(tmp_path, keep=1)
