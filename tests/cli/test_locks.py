"""Commands that write into a run meet a message while another process writes the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from polyglot.core.errors import DataError
from polyglot.core.file_locks import LOCK_FILE, LOCK_FILES, REPORT_LOCK_FILE, folder_lock
from polyglot.training import shortlist
from tests.cli.small_run import file_hashes

RUN = Path("runs/mine")
COMMANDS = {
    "report": (RUN, REPORT_LOCK_FILE, ("report", RUN)),
    "shortlist": (RUN / "shortlists", LOCK_FILE, ("shortlist", RUN, "de-en")),
    "heads": (RUN / "analysis" / "heads", LOCK_FILE, ("analyse", RUN, "heads")),
    "evaluate": (RUN / "evaluation" / "default", LOCK_FILE, ("evaluate", RUN)),
}


def lock_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.name in LOCK_FILES]


@pytest.mark.parametrize("name", COMMANDS)
def test_second_process_is_refused_and_changes_nothing(name, folder, polyglot):
    place, lock_file, command = COMMANDS[name]
    place.mkdir(parents=True, exist_ok=True)
    before = file_hashes(folder)
    with folder_lock(place, work="writing there", name=lock_file):
        message = polyglot.refuses(*command)
    assert f"{place}: another process is writing " in message
    assert f"(process {os.getpid()}: " in message
    assert file_hashes(folder) == before


@pytest.mark.parametrize("name", ["report", "shortlist", "heads"])
def test_command_holds_no_lock_at_the_end(name, folder, polyglot):
    _, _, command = COMMANDS[name]
    for _ in range(2):
        assert polyglot(*command).status == 0
        assert lock_files(folder) == []


@pytest.mark.parametrize("name", ["report", "shortlist"])
def test_command_is_possible_while_the_run_trains(name, folder, polyglot):
    _, _, command = COMMANDS[name]
    with folder_lock(RUN, work="training this run"):
        assert polyglot(*command).status == 0


def test_commands_that_fail_leave_no_folder(folder, polyglot, monkeypatch):
    """Sides of different lengths, and missing text, are noticed after the lock was taken."""

    def fail(config):
        raise DataError("train.de: no such file")

    monkeypatch.setattr(shortlist, "load_training_corpora", fail)
    (folder / "uneven.de").write_text("es regnet\n")
    (folder / "uneven.en").write_text("it rains\nit snows\n")
    corpus = f'{{type: text, path: "{folder}/uneven.{{language}}"}}'
    (folder / "uneven.yaml").write_text(f"test: [{corpus}]\npairs: [en-de]\n")
    before = sorted(folder.rglob("*"))
    assert "lines" in polyglot.refuses("evaluate", RUN, "--protocol", "uneven.yaml")
    assert "no such file" in polyglot.refuses("shortlist", RUN, "de-en")
    assert sorted(folder.rglob("*")) == before
