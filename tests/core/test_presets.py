"""What comes with the program is found by name, after the user's own files."""

from __future__ import annotations

import pytest

from polyglot.core import presets
from polyglot.core.errors import ConfigError
from polyglot.core.yaml import read_yaml


@pytest.mark.parametrize("room", presets.CATEGORIES)
def test_every_shipped_name_is_found_and_readable(room):
    names = presets.names(room)
    assert names and len(names) == len(set(names))
    for name in names:
        assert read_yaml(presets.find(room, name))


@pytest.mark.parametrize("room", presets.CATEGORIES)
def test_no_shipped_file_is_missed(room):
    folder = presets.folder(room)
    others = {
        "references",
        "embeddings",
        "results",
    }  # tables of papers; what was recorded, and its settings, which stay in the clone
    others |= {"experiments"} - {folder.name}  # a room of its own
    files = [
        path
        for path in folder.rglob("*")
        if path.suffix in (".yaml", ".yml") and not others & set(path.relative_to(folder).parts)
    ]
    assert len(files) == len(presets.names(room))


def test_a_file_of_the_users_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "phrasebook").write_text("languages: [xx]\n")
    assert read_yaml(presets.find("configs", "phrasebook")) == {"languages": ["xx"]}
    (tmp_path / "phrasebook").unlink()
    (tmp_path / "phrasebook").mkdir()  # a folder of that name is no file
    assert presets.find("configs", "phrasebook").name == "phrasebook.yaml"


@pytest.mark.parametrize(("room", "kind"), presets.CATEGORIES.items())
def test_an_unknown_name_lists_near_and_known_ones(room, kind):
    name = presets.names(room)[0]
    with pytest.raises(ConfigError) as error:
        presets.find(room, name[:-1] + "_")
    sentence = str(error.value)
    assert f"no {kind} named" in sentence and f"Did you mean {name!r}?" in sentence
    assert all(known in sentence for known in presets.names(room))


def test_an_installed_package_has_them_inside(tmp_path, monkeypatch):
    """As in a wheel, where the top level of the clone is not there."""
    inside = tmp_path / "polyglot" / "shipped" / "configs"
    inside.mkdir(parents=True)
    (inside / "mine.yaml").write_text("languages: [de]\n")
    monkeypatch.setattr(presets, "__file__", str(tmp_path / "polyglot" / "core" / "presets.py"))
    assert presets.names("configs") == ["mine"]
    assert presets.find("configs", "mine").is_file()
