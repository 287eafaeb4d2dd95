"""Presets are found by name, after the user's files."""

from __future__ import annotations

import os

import pytest

from polyglot.core import presets
from polyglot.core.errors import ConfigError
from polyglot.core.yaml import read_yaml

CLONE_ONLY = {"references", "embeddings", "results"}
"""Folders that are only in the clone: tables of papers, recorded results and their settings."""


@pytest.mark.parametrize("category", presets.CATEGORIES)
def test_every_preset_is_found_and_readable(category):
    names = presets.names(category)
    assert names
    assert len(names) == len(set(names))
    for name in names:
        assert read_yaml(presets.find(category, name))


@pytest.mark.parametrize("category", presets.CATEGORIES)
def test_every_shipped_file_is_a_preset(category):
    folder = presets.folder(category)
    ignored = CLONE_ONLY | ({"experiments"} - {folder.name})  # a separate category
    files = []
    for path in folder.rglob("*.y*ml"):
        if not ignored & set(path.relative_to(folder).parts):
            files.append(path)
    assert len(files) == len(presets.names(category))


def test_a_file_of_the_user_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "phrasebook"
    path.write_text("languages: [xx]\n")
    assert read_yaml(presets.find("configs", "phrasebook")) == {"languages": ["xx"]}
    path.unlink()
    path.mkdir()  # a folder of this name is no file
    assert presets.find("configs", "phrasebook").name == "phrasebook.yaml"


@pytest.mark.parametrize(("category", "kind"), presets.CATEGORIES.items())
def test_the_message_for_an_unknown_name_lists_similar_and_known_names(category, kind):
    names = presets.names(category)
    with pytest.raises(ConfigError) as error:
        presets.find(category, names[0][:-1] + "_")
    message = str(error.value)
    assert f"no {kind} named" in message
    assert f"Did you mean {names[0]!r}?" in message
    for name in names:
        assert name in message


def test_an_installed_package_contains_the_presets(tmp_path, monkeypatch):
    """As in a wheel, without the top level of the clone."""
    folder = tmp_path / "polyglot" / "shipped" / "configs"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("languages: [de]\n")
    monkeypatch.setattr(presets, "__file__", str(tmp_path / "polyglot" / "core" / "presets.py"))
    assert presets.names("configs") == ["mine"]
    assert presets.find("configs", "mine").is_file()


def test_a_named_pipe_is_not_taken_for_a_preset(tmp_path):
    os.mkfifo(tmp_path / "mine.yaml")
    with pytest.raises(ConfigError, match="mine.yaml: a pipe or a device"):
        presets.find("configs", str(tmp_path / "mine.yaml"))
