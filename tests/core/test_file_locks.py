"""Lock of a folder: one process at a time, and a message that names the other one."""

from __future__ import annotations

import os

import pytest

from polyglot.core.errors import CheckpointError
from polyglot.core.file_locks import LOCK_FILE, folder_lock


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
