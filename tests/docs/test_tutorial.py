"""The tutorial works from top to bottom: its script, its files and its commands, with less text
and smaller models.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from polyglot.core.yaml import parse_value
from tests.builders.command_line import SMALL_RUN, Program
from tests.docs.pages import TUTORIAL, blocks, commands

SMALLER_TEXT = {"24000": "700", "20000": "200", "1000": "30", "300": "6"}
OVERRIDES = [*SMALL_RUN, "vocabulary={type: word, size: 200}", "schedule.phases=[]"]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The user's folder after step 1, with all YAML files of the page."""
    monkeypatch.chdir(tmp_path)
    (script,) = blocks("python", page=TUTORIAL)
    text = script.text
    for number, smaller in SMALLER_TEXT.items():
        text = text.replace(number, smaller)
    exec(compile(text, "make_text.py", "exec", flags=0, dont_inherit=True), {})  # noqa: S102
    for block in blocks("yaml", page=TUTORIAL):
        (tmp_path / block.file_name).write_text(block.text, encoding="utf-8")
    return tmp_path


def test_first_command_of_the_tutorial_finds_no_error(folder, monkeypatch, capsys):
    first, *_ = commands(TUTORIAL)
    assert first.arguments[-1] == "--dry-run"
    result = Program(monkeypatch, capsys)(*first.arguments, *OVERRIDES)
    assert result.status == 0, result.errors


@pytest.mark.slow
def test_tutorial_commands_run_in_order(folder, few_resamples, monkeypatch, capsys):
    program = Program(monkeypatch, capsys)
    for command in commands(TUTORIAL):
        arguments = list(command.arguments)
        if arguments[0] in ("train", "add-language"):
            arguments += OVERRIDES
        result = program(*arguments)
        assert result.status == 0, (arguments, result.errors)
    for path in ("runs/tutorial-es/config.yaml", "vectors.npy", "experiments/music/result.md"):
        assert (folder / path).is_file()
    adapted = parse_value((folder / "runs/tutorial-music/config.yaml").read_text(encoding="utf-8"))
    assert adapted["initialize"]["*"]["run"] == "runs/tutorial"
    assert len(adapted["data"]["train"]) == 2
    assert (folder / "runs/tutorial-music/report.html").is_file()


def test_domain_text_is_not_part_of_the_general_text(folder):
    general = (folder / "text" / "train.en").read_text(encoding="utf-8")
    music = (folder / "music" / "train.en").read_text(encoding="utf-8")
    assert "guitar" in music and "guitar" not in general
