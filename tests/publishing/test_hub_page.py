"""The page about the hub works from top to bottom, with a small run and a hub on this machine."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.pages import HUB, blocks, commands

SENTENCES = {"de": "Ein Hund schläft\nes regnet\n", "fr": "un chien dort\nil pleut\n"}


@pytest.fixture
def prepared(hub, published) -> Path:
    """The user's folder: runs/phrasebook and text in two languages."""
    folder, _, _ = published
    shutil.copytree(folder / "runs" / "mine", "runs/phrasebook")
    for language, text in SENTENCES.items():
        Path(f"sentences.{language}").write_text(text, encoding="utf-8")
    return Path.cwd()


def test_page(prepared, hub, polyglot):
    for command in commands(HUB):
        result = polyglot(*command.arguments)
        assert result.status == 0, (command, result.errors)
    for path in ("runs/phrasebook-hub/README.md", "runs/copy/config.yaml", "vectors.npy"):
        assert Path(path).is_file()
    assert Path("hub/user/phrasebook/report.html").is_file()
    first, second = blocks("python", page=HUB)
    assert len(first.run()["french"]) == 1
    hub.repositories.clear()
    assert second.run()["url"].startswith(f"{hub.endpoint}/user/phrasebook/commit/")
    assert hub.repositories["user/phrasebook"].private


def test_messages_of_the_page_are_those_of_the_program():
    """Every message of the last table is text of the program."""
    page = (ROOT / HUB).read_text(encoding="utf-8")
    _, _, table = page.partition("## Messages")
    sources = "".join(
        (ROOT / "polyglot" / name).read_text(encoding="utf-8")
        for name in (
            "runs/hub_session.py",
            "runs/checkpoint.py",
            "publishing/run_folder.py",
        )
    )
    messages = re.findall(r"^\| `(.+?)` \|", table, re.MULTILINE)
    assert len(messages) == 7
    for message in messages:
        assert message.removesuffix(" …") in sources, message
