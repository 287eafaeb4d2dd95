"""Addresses of runs on the hub."""

from __future__ import annotations

from pathlib import Path

import pytest

from polyglot.core.errors import ConfigError
from polyglot.core.hub_address import HubAddress, download_advice, is_hub_address, is_run_location


@pytest.mark.parametrize(
    ("text", "repository", "revision"),
    [
        ("hub:user/name", "user/name", None),
        ("user/name", "user/name", None),
        ("hub:My_Team/de-en.v2@main", "My_Team/de-en.v2", "main"),
        ("hub:user/name@refs/pr/3", "user/name", "refs/pr/3"),
        (Path("hub:user/name@v1.0"), "user/name", "v1.0"),
    ],
)
def test_parse(text, repository, revision):
    address = HubAddress.parse(text)
    assert (address.repository, address.revision) == (repository, revision)
    assert HubAddress.parse(str(address)) == address


@pytest.mark.parametrize(
    "text",
    [
        "hub:name",
        "hub:a/b/c",
        "hub:user/",
        "hub:/name",
        "hub:user/na me",
        "hub:user/name.git",
        "hub:user/a..b",
        "hub:user/a--b",
        "hub:user/name-",
        "hub:user./name",
        "hub:user/name@",
        "hub:user/name@a b",
        "hub:user/name@../x",
        "hub:user/name\n",
        "hub:" + "a" * 97 + "/b",
    ],
)
def test_other_text_is_refused(text):
    with pytest.raises(ConfigError, match="no address of the hub; write hub:user/name"):
        HubAddress.parse(text)


def test_results_of_different_revisions_are_apart():
    folders = {
        HubAddress.parse(text).results_folder for text in ("a/b", "a/b@v1", "a/b@refs/pr/1", "c/b")
    }
    assert folders == {
        Path("hub/a/b"),
        Path("hub/a/b@v1"),
        Path("hub/a/b@refs-pr-1"),
        Path("hub/c/b"),
    }


def test_locations_of_runs(tmp_path):
    assert is_hub_address("hub:user/name") and is_hub_address(Path("hub:user/name"))
    assert not is_hub_address("runs/hub")
    assert is_run_location(tmp_path) and is_run_location("hub:user/name")
    assert not is_run_location(tmp_path / "missing")


def test_advice_names_the_folder_to_remove():
    path = Path("/cache/models--user--name/snapshots/1234/config.yaml")
    advice = download_advice(path)
    assert "remove /cache/models--user--name" in advice
    assert "hub:user/name itself is damaged" in advice
    assert download_advice(Path("runs/mine/config.yaml")) is None
