"""The recipes of the developer guide work when pasted into a copy of the project."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from polyglot.core.yaml import dump_yaml, parse_value
from tests.builders.command_line import CONFIG, TEXT
from tests.conftest import ROOT
from tests.docs.pages import RECIPES, blocks

INSTRUCTION = re.compile(
    r"^(?:New file `(?P<new>[^`]+)`|"
    r"In `(?P<file>[^`]+)`, (?P<where>above|below) the line `(?P<line>[^`]+)`):\n\n"
    r"```python\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
PARTS = ("polyglot", "tests", "configs", "schedules", "pyproject.toml")
PRESETS = (
    "default.yaml",
    "quick.yaml",
    "attention_bridge.yaml",
    "flickr_2017.yaml",
    "references",
    "experiments",
)


@dataclass(frozen=True)
class Edit:
    """One instruction of a page: a new file, or text above or below a line of a file."""

    path: str
    text: str
    where: str | None = None
    line: str = ""

    def apply(self, root: Path) -> None:
        path = root / self.path
        if self.where is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.text, encoding="utf-8")
            return
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        assert lines.count(f"{self.line}\n") == 1, f"{self.path} has no single line {self.line!r}"
        number = lines.index(f"{self.line}\n")
        if self.where == "below":
            number += 1
        lines.insert(number, self.text)
        path.write_text("".join(lines), encoding="utf-8")


def edits(page: str) -> list[Edit]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Edit(match["new"] or match["file"], match["text"], match["where"], match["line"])
        for match in INSTRUCTION.finditer(text)
    ]


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A copy of the project with all recipes applied.

    Compiled files are copied too; Python compiles again what a recipe changes.
    """
    root = tmp_path_factory.mktemp("project")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, root / part)
        else:
            shutil.copy(ROOT / part, root / part)
    (root / "evaluation").mkdir()
    for part in PRESETS:
        copy = shutil.copytree if (ROOT / "evaluation" / part).is_dir() else shutil.copy
        copy(ROOT / "evaluation" / part, root / "evaluation" / part)
    for page in RECIPES:
        for edit in edits(page):
            edit.apply(root)
    return root


def run(project: Path, *arguments: str) -> str:
    """Run Python in the copy; returns what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(project), "PYTHONDONTWRITEBYTECODE": ""}
    result = subprocess.run(
        [sys.executable, *arguments], cwd=project, env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


RUN_COMMANDS = """
import json, sys
from polyglot import cli
from polyglot.config.loading import load_config
for overrides in json.loads(sys.argv[1]):
    load_config("phrasebook", overrides)
for arguments in json.loads(sys.argv[2]):
    sys.argv = ["polyglot", *arguments]
    try:
        cli.main()
    except SystemExit as end:
        if end.code:
            raise
"""
"""Program that checks configurations, given as lists of overrides, and then runs commands of
`polyglot`, each after the success of the last. One process, since each has to import torch."""


def pytest_commands() -> list[list[str]]:
    """Arguments of the `python -m pytest` commands of the recipes."""
    result = []
    for page in RECIPES:
        for block in blocks("bash", page=page):
            for line in block.text.splitlines():
                if line.startswith("python -m pytest"):
                    result.append(shlex.split(line)[3:])
    return result


def test_every_recipe_has_files_and_tests():
    for page in RECIPES:
        paths = [edit.path for edit in edits(page)]
        assert any(path.startswith("polyglot/") for path in paths), page
        assert any(path.startswith("tests/") for path in paths), page
        assert (ROOT / page).read_text(encoding="utf-8").count("```python") == len(paths), page


@pytest.mark.slow
def test_tests_of_the_recipes_pass(project):
    """The files in one process, since each process has to import torch."""
    files = [arguments[0] for arguments in pytest_commands() if "-k" not in arguments]
    assert len(files) == len(RECIPES)
    assert "passed" in run(project, "-m", "pytest", "-p", "no:cacheprovider", "-v", *files)


def training_overrides() -> list[list[str]]:
    """Overrides of the `polyglot train phrasebook` commands of the recipes."""
    overrides = []
    for page in RECIPES:
        for block in blocks("bash", page=page):
            for line in block.text.splitlines():
                if line.startswith("polyglot train phrasebook"):
                    overrides.append(shlex.split(line)[3:])
    return overrides


@pytest.mark.slow
def test_contracts_of_the_recipes_pass(project):
    commands = [arguments for arguments in pytest_commands() if "-k" in arguments]
    assert commands
    for arguments in commands:
        assert "passed" in run(project, "-m", "pytest", "-p", "no:cacheprovider", "-v", *arguments)


def test_training_commands_have_no_errors_and_new_components_work_together(project, tmp_path):
    """The configurations of the training commands are checked before any data is read; one tiny
    run has everything that the YAML blocks of the recipes add."""
    overrides = training_overrides()
    assert overrides
    config = parse_value(CONFIG)
    for page in RECIPES:
        for block in blocks("yaml", page=page):
            add_settings(config, parse_value(block.text))
    protocol = {key: config.pop(key) for key in ("metrics", "conditions")}
    rows = ["english,german\n"]
    for english, german in zip(TEXT["en"], TEXT["de"]):
        rows.append(f'"{english}",{german}\n')
    (tmp_path / "talks.csv").write_text("".join(rows), encoding="utf-8")
    corpora = config["data"]["train"]
    config["languages"] = ["en", "de"]
    config["data"] = {"train": corpora, "valid": corpora, "test": corpora}
    config["data"]["folder"] = str(tmp_path)
    config["validation"] = {"every": 2}
    (tmp_path / "all.yaml").write_text(dump_yaml(config), encoding="utf-8")
    protocol["resamples"] = 20
    (tmp_path / "protocol.yaml").write_text(dump_yaml(protocol), encoding="utf-8")

    folder = tmp_path / "run"
    train = ["train", str(tmp_path / "all.yaml"), f"run={folder}"]
    evaluate = ["evaluate", str(folder), "--protocol", str(tmp_path / "protocol.yaml")]
    commands = json.dumps([train, evaluate])
    output = run(project, "-c", RUN_COMMANDS, json.dumps(overrides), commands)
    assert "Exact match" in output
    log = (folder / "log.jsonl").read_text(encoding="utf-8")
    assert '"activation"' in log


def add_settings(config: dict, settings: dict) -> None:
    """Merge nested settings into a configuration; lists and names replace what was there."""
    for key, value in settings.items():
        if isinstance(value, dict) and isinstance(config.get(key), dict):
            keeps_settings = value.get("type") in (None, config[key].get("type"))
            if keeps_settings:
                add_settings(config[key], value)
                continue
        config[key] = value
