"""The page about the server: its requests, limits and Dockerfile are those of the program."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from polyglot.config.loading import load_config
from polyglot.inference.translator import Translator
from polyglot.runs.run import Run
from polyglot.serving.limits import Limits
from polyglot.serving.messages import MOST_HYPOTHESES
from polyglot.serving.service import ATTENTION_SENTENCES, TranslationService
from polyglot.serving.specification import PAGES, REQUESTS
from polyglot.training.build import build_trainer
from polyglot.training.validation import Validator
from tests.builders.command_line import SMALL_PHRASEBOOK, SMALL_RUN
from tests.conftest import ROOT
from tests.docs.pages import SERVE, blocks
from tests.serving.running import TIMEOUT, running_server

ADDRESS = "http://127.0.0.1:5000"
PAGE = (ROOT / SERVE).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    """A small run of the phrasebook, served."""
    path = tmp_path_factory.mktemp("docs") / "phrasebook"
    run = Run.create(load_config("phrasebook", [*SMALL_RUN, *SMALL_PHRASEBOOK, f"run={path}"]))
    build_trainer(run, Validator(run)).train()
    service = TranslationService(run, Translator.load(run), Limits())
    with running_server(service) as address:
        yield address


def curl_lines() -> list[str]:
    lines = []
    for block in blocks("bash", page=SERVE):
        lines += [line for line in block.text.splitlines() if line.startswith("curl ")]
    return lines


def send(line: str, address: str) -> Any:
    """Send the request of a line with curl, as curl does: fields in UTF-8 without escapes."""
    _, url, *rest = shlex.split(line)
    fields = [word for word in rest if word != "-d"]
    assert rest.count("-d") == len(fields)
    content = "&".join(fields).encode() if fields else None
    with urllib.request.urlopen(url.replace(ADDRESS, address), content, TIMEOUT) as response:
        return json.load(response)


def test_requests_of_the_recipe(address):
    first, alternatives, hypotheses, languages = [send(line, address) for line in curl_lines()]
    assert set(first) == {"translatedText"}
    assert len(alternatives["alternatives"]) <= 2
    assert alternatives["detectedLanguage"]["language"] == "en"
    assert hypotheses["kind"] == "zero-shot"
    assert hypotheses["pivot"] == "en"
    assert [language["code"] for language in languages] == ["en", "de", "fr", "es"]


def test_python_of_the_recipe(address):
    [block] = blocks("python", page=SERVE)
    names = replace(block, text=block.text.replace(ADDRESS, address)).run()
    assert len(names["translations"]) == 2


def test_the_table_lists_all_requests_and_fields():
    rows = dict(re.findall(r"^\| `((?:GET|POST) /\S+)` \|([^|]*)\|", PAGE, re.MULTILINE))
    posts = {f"POST {path}": model for path, (_, model) in REQUESTS.items()}
    gets = {f"GET {path}" for path in PAGES if path != "/spec"}
    assert rows.keys() == posts.keys() | gets
    for name, model in posts.items():
        assert re.findall(r"`(\w+)`", rows[name]) == list(model.model_fields), name


def test_limits_of_the_page_are_those_of_the_program():
    limits = Limits()
    rows = dict(re.findall(r"^\| `--(max-\w+|timeout)` \| ([\d,]+) \|", PAGE, re.MULTILINE))
    values = {name: int(value.replace(",", "")) for name, value in rows.items()}
    assert values == {
        "max-characters": limits.characters,
        "max-requests": limits.requests,
        "timeout": limits.seconds,
    }
    assert f"always at most {limits.sentences} sentences and 1 MiB" in PAGE
    assert limits.body_bytes == 1 << 20
    assert f"| {limits.waiting_sentences:,} | sentences in the queue" in PAGE
    assert f"at most {MOST_HYPOTHESES} in all" in PAGE
    assert ATTENTION_SENTENCES == 5
    assert "first five sentences" in PAGE


def test_messages_of_the_page_are_those_of_the_program():
    """The words of each message before its first value, or before `…`."""
    sources = ""
    for path in (ROOT / "polyglot").glob("serving/*.py"):
        sources += path.read_text(encoding="utf-8")
    sources += (ROOT / "polyglot" / "cli" / "serving.py").read_text(encoding="utf-8")
    _, _, table = PAGE.partition("## Messages")
    messages = re.findall(r"^\| `(.+?)`", table, re.MULTILINE)
    assert len(messages) == 6
    for message in messages:
        words = re.sub(r"starlette|127.0.0.1, port 5000|Address already in use|60|…", "{", message)
        for part in words.split("{"):
            assert part.strip("; ") in sources, message


def test_dockerfile():
    """Docker is not part of the tests: only the names in the file are compared."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert "[serve]" in text
    assert "serve" in extras
    for line in text.splitlines():
        if line.startswith("COPY"):
            for source in line.split()[1:-1]:
                assert (ROOT / source).exists(), line
    commands = [line for line in PAGE.splitlines() if line.startswith("docker ")]
    assert len(commands) == 2
    for command in commands:
        assert f"#   {command}" in text
    assert text.index("USER polyglot") < text.index("ENTRYPOINT")
    assert "EXPOSE 5000" in text
