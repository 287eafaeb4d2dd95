"""The recipe of the page on preparing text works in an empty folder, as a new user types it."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest

from polyglot.config.loading import load_config
from polyglot.core.yaml import dump_yaml, parse_value
from tests.builders.command_line import Program
from tests.docs.pages import blocks, commands

PAGE = "docs/use/prepare.md"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    """Folder with the text that the script of the page writes."""
    folder = tmp_path_factory.mktemp("corpus")
    [script] = blocks("python", page=PAGE)
    with contextlib.chdir(folder):
        script.run()
    return folder


@pytest.fixture
def polyglot(corpus, tmp_path, monkeypatch, capsys) -> Program:
    shutil.copytree(corpus, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return Program(monkeypatch, capsys)


def test_the_recipe_from_a_corpus_to_a_configuration(polyglot):
    """All commands on the corpus run in their order; two of them print what the page shows."""
    shown = [block.text.strip() for block in blocks("text", page=PAGE)]
    printed = []
    for command in commands(PAGE):
        names_corpus = any("corpus." in argument for argument in command.arguments)
        if not names_corpus or "--run" in command.arguments:
            continue
        result = polyglot(*command.arguments)
        assert result.status == 0, result.errors
        if command.arguments[0] == "split":
            yaml = result.output[result.output.index("languages:") :]
        printed.append(result.output.strip())
    assert printed[:2] == shown

    values = {**parse_value(yaml), "training": {"steps": 1}}
    Path("mine.yaml").write_text(dump_yaml(values), encoding="utf-8")
    assert load_config("mine.yaml").tasks
    for language in ("en", "fi"):
        before = Path(f"corpus.{language}").read_bytes()
        assert Path(f"restored/corpus.{language}").read_bytes() == before
        # Cleaning by the test text leaves the training text of the division.
        training_text = Path(f"data/train.{language}").read_bytes()
        assert Path(f"train/corpus.{language}").read_bytes() == training_text


def test_the_other_examples_of_documents(polyglot):
    """The files that they name have the forms that the page describes."""
    lines = {}
    for language in ("en", "fi"):
        lines[language] = Path(f"corpus.{language}").read_text(encoding="utf-8").splitlines()
    rows = ["talk\tenglish\tfinnish"]
    identifiers = []
    for number, pair in enumerate(zip(lines["en"], lines["fi"], strict=True)):
        identifiers.append(f"talk {number // 5}")
        rows.append("\t".join([identifiers[-1], *pair]))
    write("talks.ids", identifiers)
    write("talks.tsv", rows)
    for language, sentences in lines.items():
        write(f"talks.{language}", sentences)
        with_blanks = []
        for number, sentence in enumerate(sentences):
            if number and number % 5 == 0:
                with_blanks.append("")
            with_blanks.append(sentence)
        write(f"news.{language}", with_blanks)

    for command in commands(PAGE):
        if "--documents" in command.arguments:
            arguments = [*command.arguments, "--validation", "50", "--test", "50", "--force"]
            if "--ignore-shorter" not in arguments:
                arguments += ["--ignore-shorter", "30"]
            result = polyglot(*arguments)
            assert result.status == 0, result.errors


def write(name: str, lines: list[str]) -> None:
    Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
