"""Atomic file writes: a file has its old or its new content, also on a full disk."""

from __future__ import annotations

import errno
import json
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
def writer(request):
    """Function that writes a file atomically."""
    return WRITERS[request.param]


@pytest.fixture
def path(tmp_path):
    """File in a folder of its own."""
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder / "best.json"


def fail_on_full_disk(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def write_half(path, content):
    path.write_bytes(content[: len(content) // 2])
    fail_on_full_disk()


@pytest.mark.parametrize("before", [None, b"old content"])
@pytest.mark.parametrize(
    ("place", "name", "failing"),
    [(atomic_files, "write_synced", write_half), (Path, "replace", fail_on_full_disk)],
)
def test_full_disk_leaves_the_old_content_and_no_other_file(
    place, name, failing, before, writer, path, monkeypatch
):
    if before is not None:
        path.write_bytes(before)
    monkeypatch.setattr(place, name, failing)
    message = "best.json: cannot be written: No space left on device"
    with pytest.raises(CheckpointError, match=message):
        writer(path)

    contents = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    assert contents == ({} if before is None else {path.name: before})


def test_file_is_synced_before_it_gets_its_name_and_its_folder_afterwards(
    writer, path, monkeypatch
):
    events = []
    fsync = os.fsync
    replace = Path.replace

    def record_fsync(descriptor):
        events.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    def record_replace(source, target):
        events.append(f"{source} renamed")
        return replace(source, target)

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(Path, "replace", record_replace)
    writer(path)

    synced_file, renamed, synced_folder = events
    assert Path(synced_file).parent == path.parent
    assert renamed == f"{synced_file} renamed"
    assert synced_folder == str(path.parent)
    assert list(path.parent.iterdir()) == [path]


def test_error_message_gives_the_reason(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="x: cannot be written: Not a directory"):
        replace_file(tmp_path / "file" / "x", "content")


def test_prepared_links_are_not_followed(tmp_path):
    """A foreign folder may contain links to files of the user."""
    precious = tmp_path / "precious"
    precious.write_text("content")
    folder = tmp_path / "foreign"
    folder.mkdir()
    for name in ("report.html", ".report.html.writing", "log.jsonl"):
        (folder / name).symlink_to(precious)

    replace_file(folder / "report.html", "new")
    assert (folder / "report.html").read_text() == "new"
    assert not (folder / "report.html").is_symlink()

    with pytest.raises(OSError):
        atomic_files.append(folder / "log.jsonl", b"line")
    with pytest.raises(FileExistsError):
        atomic_files.write_synced(folder / ".report.html.writing", b"new")
    assert precious.read_text() == "content"


def test_temporary_names_cannot_be_predicted(tmp_path):
    names = {atomic_files.temporary_path(tmp_path).name for _ in range(100)}
    assert len(names) == 100


def test_file_with_the_longest_name_can_be_written(tmp_path):
    path = tmp_path / ("a" * 255)
    replace_file(path, "content")
    assert path.read_text() == "content"


def test_append_creates_a_file_and_adds_to_it(tmp_path):
    path = tmp_path / "log.jsonl"
    atomic_files.append(path, b"one\n")
    atomic_files.append(path, b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"


def test_append_does_not_wait_for_the_reader_of_a_named_pipe(tmp_path):
    os.mkfifo(tmp_path / "log.jsonl")
    with pytest.raises(OSError):
        atomic_files.append(tmp_path / "log.jsonl", b"one\n")

    reader = os.open(tmp_path / "log.jsonl", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(OSError, match="it is not a regular file"):
        atomic_files.append(tmp_path / "log.jsonl", b"one\n")
    os.close(reader)


def test_file_names_that_are_not_utf8_can_be_written(tmp_path):
    name = os.fsdecode(b"caf\xe9.json")
    replace_file(tmp_path / name, json.dumps({"run": name}, ensure_ascii=False))
    assert json.loads((tmp_path / name).read_bytes()) == {"run": name}
