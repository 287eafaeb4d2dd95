"""A file is what it was or what it shall be, also when the disk is full or the plug is pulled."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from polyglot.core import atomic_files
from polyglot.core.atomic_files import replace_file
from polyglot.core.errors import CheckpointError
from polyglot.runs import checkpoint as checkpoints
from polyglot.text.vocabulary import Vocabulary, VocabularyConfig
from polyglot.text.word_list import WordList

VOCABULARY = Vocabulary.train(
    ["ein Hund", "zwei Katzen"], VocabularyConfig(type="char"), language="de", seed=1
)
WRITERS = {
    "text": lambda path: replace_file(path, "ä"),
    "bytes": lambda path: replace_file(path, b"\xff"),
    "the best step": lambda path: checkpoints.mark_best(path.parent, {"step": 4}),
    "a vocabulary": VOCABULARY.save,
    "a word list": WordList(["ein", "Hund"]).save,
}


@pytest.fixture(params=WRITERS)
def write(request, tmp_path):
    """Who writes, and where."""
    path = tmp_path / "folder" / "best.json"
    path.parent.mkdir()
    return lambda: WRITERS[request.param](path), path


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def half(path, content):
    path.write_bytes(content[: len(content) // 2])
    full()


@pytest.mark.parametrize("before", [None, b"one"])
@pytest.mark.parametrize(
    ("place", "name", "fails"), [(atomic_files, "write_synced", half), (Path, "replace", full)]
)
def test_a_full_disk_leaves_what_was_there_and_nothing_else(
    place, name, fails, before, write, monkeypatch
):
    act, path = write
    if before:
        path.write_bytes(before)
    monkeypatch.setattr(place, name, fails)
    with pytest.raises(
        CheckpointError, match="best.json: cannot be written: No space left on device"
    ):
        act()
    assert {one.name: one.read_bytes() for one in path.parent.iterdir()} == (
        {path.name: before} if before else {}
    )


def test_a_file_is_synced_before_it_has_its_name_and_its_folder_afterwards(write, monkeypatch):
    act, path = write
    done = []
    fsync, replace = os.fsync, Path.replace
    monkeypatch.setattr(
        os,
        "fsync",
        lambda descriptor: (
            done.append(os.readlink(f"/proc/self/fd/{descriptor}")),
            fsync(descriptor),
        ),
    )
    monkeypatch.setattr(
        Path, "replace", lambda one, target: (done.append("renamed"), replace(one, target))[1]
    )
    act()
    assert done == [str(path.with_name(f".{path.name}.writing")), "renamed", str(path.parent)]
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_what_is_in_the_way_is_said(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="x: cannot be written: Not a directory"):
        replace_file(tmp_path / "file" / "x", "one")
