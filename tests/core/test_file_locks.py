"""Lock of a folder: one process at a time, and a message that names the other one."""

from __future__ import annotations

import multiprocessing
import os

import pytest

from polyglot.core import file_locks
from polyglot.core.errors import CheckpointError
from polyglot.core.file_locks import LOCK_FILE, folder_lock, output_lock


def test_the_message_names_the_holder(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["polyglot", "-q", "evaluate", "runs/mine"])
    message = f"another process is testing \\(process {os.getpid()}: evaluate\\)$"
    with folder_lock(tmp_path, work="testing"):
        with pytest.raises(CheckpointError, match=message), folder_lock(tmp_path, work="testing"):
            pass
    with folder_lock(tmp_path, work="testing"):
        pass


@pytest.mark.parametrize("content", [b"", b"\x1b[31m", b"1 rm -rf", b"9" * 50, b"\xff", b"1 a\n\n"])
def test_other_content_of_the_file_is_never_shown(content, tmp_path):
    with folder_lock(tmp_path, work="testing"):
        (tmp_path / LOCK_FILE).write_bytes(content)
        with (
            pytest.raises(CheckpointError, match="another process is testing$"),
            folder_lock(tmp_path, work="testing"),
        ):
            pass


def test_the_file_is_removed_at_the_end(tmp_path):
    with folder_lock(tmp_path, work="testing"):
        assert [path.name for path in tmp_path.iterdir()] == [LOCK_FILE]
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_another_process_is_not_removed(tmp_path):
    """The holder's folder may be removed and made again by another command."""
    with folder_lock(tmp_path, work="testing"):
        (tmp_path / LOCK_FILE).unlink()
        (tmp_path / LOCK_FILE).write_text("of another process")
    assert (tmp_path / LOCK_FILE).read_text() == "of another process"


def test_a_file_that_its_holder_has_removed_is_no_lock(tmp_path, monkeypatch):
    """A process that opened the file before it was removed does not hold the lock of the folder."""
    is_removed = iter([True, False])
    flock = file_locks.fcntl.flock

    def remove_before_locking(file, mode):
        if next(is_removed, False):
            (tmp_path / LOCK_FILE).unlink()
        flock(file, mode)

    monkeypatch.setattr(file_locks.fcntl, "flock", remove_before_locking)
    with (
        folder_lock(tmp_path, work="testing"),
        pytest.raises(CheckpointError, match="another process is testing"),
        folder_lock(tmp_path, work="testing"),
    ):
        pass


def count_with_lock(folder, rounds):
    done = 0
    while done < rounds:
        try:
            with folder_lock(folder, work="testing"):
                number = int((folder / "number").read_text())
                (folder / "number").write_text(str(number + 1))
                done += 1
        except CheckpointError:
            continue


def test_two_processes_never_hold_it_together(tmp_path):
    (tmp_path / "number").write_text("0")
    fork = multiprocessing.get_context("fork")
    workers = [fork.Process(target=count_with_lock, args=(tmp_path, 100)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert (tmp_path / "number").read_text() == "200"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_new_folders_without_files_are_removed(error, tmp_path):
    folder = tmp_path / "evaluation" / "default"
    with pytest.raises(error), output_lock(folder, work="testing"):
        (folder / "cells").mkdir()
        raise error
    assert list(tmp_path.iterdir()) == []

    folder.mkdir(parents=True)
    with output_lock(folder, work="testing"):
        pass
    assert list(folder.iterdir()) == [], "a folder that existed before stays"


def test_new_folders_with_files_stay(tmp_path):
    folder = tmp_path / "evaluation" / "default"
    with pytest.raises(ValueError), output_lock(folder, work="testing"):
        (folder / "cells").mkdir()
        (folder / ".unfinished" / "cells").mkdir(parents=True)
        (folder / ".unfinished" / "cells" / "de-fr.json").touch()
        raise ValueError
    assert [path.name for path in folder.iterdir()] == [".unfinished"]


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_lock_that_is_no_file_is_refused(make, tmp_path):
    make(tmp_path / LOCK_FILE)
    with (
        pytest.raises(CheckpointError, match="the folder cannot be written"),
        folder_lock(tmp_path, work="testing"),
    ):
        pass


def test_a_folder_that_another_process_removes_is_created_again(tmp_path, monkeypatch):
    folder = tmp_path / "default"
    opened = []

    def remove_before_opening(path, flags):
        opened.append(path)
        if len(opened) == 1:
            path.parent.rmdir()
        return open_without_links(path, flags)

    open_without_links = file_locks.open_without_links
    monkeypatch.setattr(file_locks, "open_without_links", remove_before_opening)
    with output_lock(folder, work="testing"):
        assert (folder / LOCK_FILE).is_file()
