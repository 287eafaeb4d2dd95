"""The examples of README.md and docs/ are correct: YAML loads, Python runs, commands exist, and
cheap commands run.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import typer

from polyglot import cli
from polyglot.analysis.embeddings.config import AnalysisSettings
from polyglot.config.loading import load_config
from polyglot.config.schema import Config
from polyglot.core import presets
from polyglot.core.hub_address import is_hub_address
from polyglot.core.yaml import dump_yaml, parse_value
from polyglot.evaluation.protocol import Protocol
from polyglot.experiments import Experiment
from polyglot.runs.language_data import LanguageData
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair
from polyglot.training.build import build_trainer
from polyglot.training.shortlist import write_shortlist
from polyglot.training.validation import Validator
from tests.builders.command_line import SMALL_PHRASEBOOK, SMALL_RUN, TEXT, Program, write_text
from tests.conftest import ROOT
from tests.docs.pages import (
    HUB,
    PAGES,
    README,
    RECIPES,
    SERVE,
    TUTORIAL,
    Command,
    blocks,
    commands,
    inline_commands,
)

LANGUAGES = ["en", "de", "fr", "cs"]
TEXT_FILES = [{"type": "text", "path": "train.{language}"}]
BASE = {
    "languages": LANGUAGES,
    "data": {"train": TEXT_FILES, "valid": TEXT_FILES},
    "training": {"steps": 1},
}
"""Base configuration for a block that shows only some sections."""

ARCHITECTURE = "docs/develop/architecture.md"
"""Its Python block is a fragment."""

COMMANDS = [
    command for command in (*commands(), *inline_commands()) if command.block.page not in RECIPES
]
YAML = [block for block in blocks("yaml") if block.page not in RECIPES]
PYTHON = [
    block
    for block in blocks("python")
    if block.page not in (TUTORIAL, ARCHITECTURE, HUB, SERVE, *RECIPES)
]
"""The tutorial, the hub, the server and the recipes for developers have tests of their own."""


pytestmark = pytest.mark.usefixtures("few_resamples")


def parametrize(name, items):
    return pytest.mark.parametrize(name, items, ids=str)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> Path:
    """A folder with the files that the pages assume.

    It has a small runs/phrasebook, sentences.de and .en, and each block with a file name.
    """
    folder = tmp_path_factory.mktemp("docs")
    overrides = [*SMALL_RUN, *SMALL_PHRASEBOOK, f"run={folder / 'runs' / 'phrasebook'}"]
    run = Run.create(load_config("phrasebook", overrides))
    build_trainer(run, Validator(run)).train()
    write_shortlist(run, LanguagePair("de", "fr"), sentences=60, words_per_source=20)
    german = "Der alte Bauer schläft.\n\nDiese Stadt ist klein.\n"
    english = "The old farmer sleeps.\n\nThis city is small.\n"
    (folder / "sentences.de").write_text(german, encoding="utf-8")
    (folder / "sentences.en").write_text(english, encoding="utf-8")
    (folder / "text").mkdir()
    for part in ("train", "valid", "test"):
        write_text(folder / "text", part=part)
    write_text(folder, {**TEXT, "es": TEXT["fr"]}, part="news2024")
    for block in YAML:
        if block.page == README:
            (folder / "mine.yaml").write_text(block.text, encoding="utf-8")
        elif block.file_name:
            path = folder / block.file_name
            path.parent.mkdir(exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
    return folder


@pytest.fixture
def inside(prepared, monkeypatch) -> Path:
    monkeypatch.chdir(prepared)
    return prepared


# YAML ---------------------------------------------------------------------------------------------


@parametrize("block", YAML)
def test_yaml_block_loads(block, tmp_path):
    """Its keys say what it is.

    A configuration or sections of one, text of a new language, a protocol, settings of an analysis,
    an experiment, a schedule.
    """
    values = parse_value(block.text)
    file = tmp_path / "shown.yaml"
    file.write_text(block.text, encoding="utf-8")
    if values.keys() <= Config.model_fields.keys():
        if not {"languages", "data", "training"} <= values.keys():
            values = {**BASE, **values, "data": {**BASE["data"], **values.get("data", {})}}
        file.write_text(dump_yaml(values), encoding="utf-8")
        assert load_config(file).tasks
    elif values.keys() <= LanguageData.model_fields.keys():
        assert LanguageData.load(file).train
    elif values.keys() <= Protocol.model_fields.keys():
        assert Protocol.load(str(file))
    elif values.keys() <= AnalysisSettings.model_fields.keys():
        assert AnalysisSettings.load(file).similarity
    elif values.keys() <= Experiment.model_fields.keys():
        assert Experiment.load(str(file)).systems
    else:
        (tmp_path / "base.yaml").write_text(dump_yaml(BASE), encoding="utf-8")
        assert load_config(tmp_path / "base.yaml", [f"schedule={file}"]).tasks


def test_readme_has_one_short_configuration():
    (block,) = blocks("yaml", page=README)
    assert len(block.text.splitlines()) < 30


def test_readme_is_short():
    assert len((ROOT / README).read_text(encoding="utf-8").split()) <= 800


# Python -------------------------------------------------------------------------------------------


@parametrize("block", PYTHON)
def test_python_block_runs(block, inside):
    if "sentence_transformers" in block.text:
        reason = "the extra `sentence-transformers` is not installed"
        pytest.importorskip("sentence_transformers", reason=reason)
    names = block.run()
    if "french" in names:
        assert len(names["french"]) == 2
    if "aligned" in names:
        check_shown_tokens(block.text, names)
    if "curve" in names:
        assert names["curve"]


def check_shown_tokens(text: str, names: dict) -> None:
    """The comments of the phrasebook example show the beginning and the end of each value."""
    shown = [line.split("# ")[1] for line in text.splitlines() if "# (" in line]
    assert shown[0] == str((names["sentence"].text("de"), names["sentence"].text("fi")))
    for line, values in zip(shown[1:], (names["words"], names["aligned"]), strict=True):
        beginning, _, end = line.partition(" … ")
        printed = str(values)[1:-1]
        assert printed.startswith(beginning.rstrip(","))
        assert printed.endswith(end)


# Commands -----------------------------------------------------------------------------------------


@parametrize("command", COMMANDS)
def test_command_exists(command, inside):
    """Verb, options, and the files that they name exist; overrides fit the configuration."""
    root = typer.main.get_command(cli.app.app)
    verb, *rest = command.arguments
    if verb.startswith("--"):
        assert verb == "--help" or any(verb in option.opts for option in root.params)
        return
    assert verb in root.commands
    parameters = root.commands[verb].make_context(verb, rest).params  # raises a usage error
    if verb == "train" and not parameters["resume"]:
        load_config(parameters["config"], parameters["overrides"] or ())
    if verb == "show" and parameters["name"]:
        is_run = is_hub_address(parameters["name"]) or (inside / parameters["name"]).is_dir()
        assert is_run or presets.categories_of(parameters["name"])
    if verb == "experiment" and command.block.page != TUTORIAL:
        assert Experiment.load(parameters["name"]).systems
    if verb == "evaluate":
        Protocol.load(parameters["protocol"])


def is_cheap(command: Command) -> bool:
    """Uses only the small run, and downloads nothing."""
    verb, *rest = command.arguments
    other_runs = [word for word in rest if word.startswith("runs/") and word != "runs/phrasebook"]
    verbs = ("translate", "embed", "similar", "evaluate", "analyse", "report", "show")
    return command.block.language == "bash" and verb in verbs and not other_runs


SLOW_VERBS = ("analyse", "evaluate", "report")
"""Verbs that take seconds. `make test` runs those of README.md and checks the options of all."""

CHEAP = []
for shown in COMMANDS:
    if is_cheap(shown) and shown.block.page not in (README, HUB):
        mark = pytest.mark.slow if shown.arguments[0] in SLOW_VERBS else ()
        CHEAP.append(pytest.param(shown, marks=mark))


@parametrize("command", CHEAP)
def test_cheap_command_runs(command, inside, monkeypatch, capsys):
    program = Program(monkeypatch, capsys)
    stdin = (inside / command.stdin).read_bytes() if command.stdin else b""
    result = program(*command.arguments, stdin=stdin)
    prints_nothing = command.arguments[0] in ("embed", "report")
    may_print_nothing = prints_nothing or "--threshold" in command.arguments
    assert result.status == 0, result.errors
    assert result.output or may_print_nothing


def test_readme_commands_run_in_order(prepared, tmp_path, monkeypatch, capsys):
    """With smaller models and less text."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    program = Program(monkeypatch, capsys)
    overrides = [*SMALL_RUN, "vocabulary={type: word, size: 100}", "validation.bleu_pairs=[de-fr]"]
    verbs = set()
    for command in commands(README):
        arguments = list(command.arguments)
        if arguments[0] == "train" and "--resume" not in arguments:
            arguments += overrides
        result = program(*arguments)
        assert result.status == 0, (arguments, result.errors)
        if arguments[0] == "translate":
            assert result.output.count("\n") == 3
        verbs.add(arguments[0])
    assert verbs == {"train", "translate", "evaluate", "report", "embed", "similar", "analyse"}
    assert (tmp_path / "runs" / "phrasebook" / "evaluation" / "default" / "bleu.png").is_file()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_make_targets_exist(page):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:^|`)make (\w+)", page.read_text(encoding="utf-8"), re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
