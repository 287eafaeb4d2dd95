"""Full disks, damaged checkpoints and changed run directories, in all commands that read a run."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest

from polyglot.runs import checkpoint as checkpoints
from polyglot.runs import checkpoint_writing
from tests.cli.small_run import LAST_CHECKPOINT, TRANSLATE, file_hashes, flip_last_bit

RUN = Path("runs/mine")
RESUME = ("train", "runs/mine", "--resume")

# Writing ---------------------------------------------------------------------------------------


def test_run_directory_that_cannot_be_created(folder, polyglot):
    message = polyglot.refuses("train", "mine.yaml", "run=mine.yaml/run")
    assert "mine.yaml/run: the run directory cannot be written: Not a directory" in message


def test_checkpoint_without_permission(folder, polyglot, monkeypatch):
    """The error is raised by hand, because permissions do not restrict the root user."""

    def refuse(*arguments, **settings):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(checkpoint_writing, "write_synced", refuse)
    before = file_hashes(RUN / "checkpoints")
    assert (
        "step-00000006: the checkpoint cannot be written: Permission denied; "
        "the last good one is step 4"
    ) in polyglot.refuses(*RESUME, "training.steps=6")
    assert file_hashes(RUN / "checkpoints") == before


def test_lock_that_cannot_be_created(folder, polyglot):
    (RUN / ".lock").unlink(missing_ok=True)
    (RUN / ".lock").mkdir()
    before = file_hashes(folder)
    message = polyglot.refuses(*RESUME, "training.steps=6")
    assert "runs/mine: the folder cannot be written" in message
    assert file_hashes(folder) == before


def test_full_disk_leaves_the_last_checkpoint(folder, polyglot, monkeypatch):
    write = checkpoint_writing.write_synced

    def fail_at_a_decoder(path: Path, content: bytes) -> None:
        if "step-00000006" in str(path) and path.name.startswith("decoder"):
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, content)

    before = file_hashes(RUN / "checkpoints")
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint_writing, "write_synced", fail_at_a_decoder)
        assert (
            "step-00000006: the checkpoint cannot be written: No space left on device; "
            "the last good one is step 4"
        ) in polyglot.refuses(*RESUME, "training.steps=6")
    assert file_hashes(RUN / "checkpoints") == before

    assert polyglot(*RESUME).status == 0
    assert checkpoints.steps(RUN / "checkpoints")[-1] == 6


# Reading ---------------------------------------------------------------------------------------


def replace_in_config(old: str, new: str) -> None:
    path = RUN / "config.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def flip_a_bit() -> None:
    flip_last_bit(LAST_CHECKPOINT / "decoder.fr.safetensors")


def remove_a_component() -> None:
    (LAST_CHECKPOINT / "decoder.fr.safetensors").unlink()


def damage_manifest() -> None:
    (LAST_CHECKPOINT / "manifest.json").write_text("{")


def damage_best() -> None:
    (RUN / "checkpoints/best.json").write_text("x")


def damage_vocabulary() -> None:
    (RUN / "vocabulary/fr.model").write_bytes(b"x")


def exchange_vocabulary() -> None:
    shutil.copy(RUN / "vocabulary/en.model", RUN / "vocabulary/fr.model")


def change_model() -> None:
    replace_in_config("heads: 2", "heads: 3")


def change_text_steps() -> None:
    replace_in_config("  steps: []\n", "  steps: [lowercase]\n")


def remove_all_checkpoints() -> None:
    shutil.rmtree(RUN / "checkpoints")


CHANGED = "runs/mine/config.yaml: was changed since the program wrote it: "
DAMAGED_VOCABULARY = "runs/mine/vocabulary/fr.model: damaged: its SHA-256 is "
TRAINING_DAMAGES = [
    (flip_a_bit, "decoder.fr.safetensors: damaged: its SHA-256 is"),
    (
        remove_a_component,
        "decoder.fr.safetensors: cannot be read: No such file or directory",
    ),
    (damage_manifest, "step-00000004: no complete checkpoint: manifest.json cannot be used"),
    (exchange_vocabulary, DAMAGED_VOCABULARY),
    (change_model, f"{CHANGED}model.bridge.heads was 2 and is 3; put"),
    (change_text_steps, f"{CHANGED}text.steps was [] and is [{{type: lowercase}}]; put"),
]
DAMAGES = [
    *TRAINING_DAMAGES,
    (damage_best, "best.json: cannot be used; remove it"),
    (damage_vocabulary, DAMAGED_VOCABULARY),
    (
        remove_all_checkpoints,
        "runs/mine/checkpoints: no checkpoint; has the run been trained?",
    ),
]


@pytest.mark.parametrize("command", [TRANSLATE, ("evaluate", "runs/mine")], ids=lambda c: c[0])
@pytest.mark.parametrize(("damage", "message"), DAMAGES)
def test_damaged_run_is_not_used(damage, message, command, folder, polyglot):
    damage()
    before = file_hashes(folder)
    assert message in polyglot.refuses(*command, stdin="es regnet\n")
    assert file_hashes(folder) == before


@pytest.mark.parametrize(("damage", "message"), TRAINING_DAMAGES)
def test_damaged_run_is_not_resumed(damage, message, folder, polyglot):
    damage()
    before = file_hashes(folder)
    assert message in polyglot.refuses(*RESUME)
    assert file_hashes(folder) == before


def test_other_checkpoint_of_a_damaged_run_can_be_used(folder, polyglot):
    flip_a_bit()
    assert polyglot(*TRANSLATE, "--checkpoint", "2", stdin="es regnet\n").status == 0


@pytest.mark.parametrize("name", ["7", "avg", "average:0", "newest"])
def test_unknown_checkpoint(name, folder, polyglot):
    message = polyglot.refuses(*TRANSLATE, "--checkpoint", name, stdin="es regnet\n")
    assert "there are 2, 4" in message


@pytest.mark.parametrize(("source", "target"), [("de", "fr"), ("de", "en")])
def test_missing_vocabulary_is_named(source, target, folder, polyglot):
    """Also if the direction does not need it: the run directory is incomplete."""
    (RUN / "vocabulary/fr.model").unlink()
    direction = ("--from", source, "--to", target)
    message = polyglot.refuses("translate", "runs/mine", *direction, stdin="es regnet\n")
    start = "error: runs/mine/vocabulary/fr.model: no such file, but runs/mine/checkpoints/step-"
    assert message.startswith(start)
    assert "was trained with it; put it back from a copy of the run" in message
    assert "another configuration" not in message


def test_moved_run_works(folder, polyglot):
    before = polyglot(*TRANSLATE, stdin="es regnet\n").output
    shutil.move("runs/mine", "moved")
    shutil.rmtree("runs")
    assert polyglot("translate", "moved", *TRANSLATE[2:], stdin="es regnet\n").output == before
