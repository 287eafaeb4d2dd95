"""What README.md and docs/ show is true: YAML loads, Python runs, every command is one, and the cheap ones are run."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer

from polyglot import cli
from polyglot.analysis.embeddings.config import AnalysisSettings
from polyglot.config.loading import load_config
from polyglot.config.schema import Config
from polyglot.core import presets
from polyglot.core.yaml import parse_value, write_yaml
from polyglot.evaluation.protocol import Protocol
from polyglot.experiments import Experiment
from polyglot.model.encoders import ENCODERS
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair
from polyglot.training.build import build_trainer
from polyglot.training.shortlist import write_shortlist
from polyglot.training.validation import Validator
from tests.builders.command_line import PHRASEBOOK, SMALL, TEXT, Program, write_text
from tests.conftest import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LANGUAGES = ["en", "de", "fr", "cs"]
TEXT_FILES = [{"type": "text", "path": "train.{language}"}]
BASE = {
    "languages": LANGUAGES,
    "data": {"train": TEXT_FILES, "valid": TEXT_FILES},
    "training": {"steps": 1},
}
"""What a block that shows only some sections is laid over."""


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Command:
    """One call of `polyglot` in a block."""

    block: Block
    arguments: tuple[str, ...]
    stdin: str | None

    def __str__(self) -> str:
        return f"{self.block.page}: {shlex.join(self.arguments)}"


def blocks(*languages: str) -> list[Block]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            found.append(
                Block(page.name, text[: match.start()].count("\n") + 1, match[1], match[2])
            )
    return [block for block in found if block.language in languages]


def commands() -> Iterator[Command]:
    for block in blocks("bash"):
        for line in block.text.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words and words[0] == "polyglot":
                where = next(
                    (number for number, word in enumerate(words) if word in ("<", ">", "|")),
                    len(words),
                )
                stdin = words[words.index("<") + 1] if "<" in words else None
                yield Command(block, tuple(words[1:where]), stdin)
    for page in PAGES:
        for shown in re.findall(r"`(polyglot [^`]+)`", page.read_text(encoding="utf-8")):
            words = shlex.split(shown)
            # NAME stands for something, and a verb alone for itself
            if len(words) > 2 and not any(word.isupper() or "…" in word for word in words):
                yield Command(Block(page.name, 0, "in a sentence", shown), tuple(words[1:]), None)


COMMANDS = list(commands())


def named(items):
    return pytest.mark.parametrize("given", items, ids=str)


@pytest.fixture(scope="module")
def there(tmp_path_factory) -> Path:
    """A folder with what the pages take for granted: runs/phrasebook (small), sentences.de and .en, mine.yaml and its text, news.yaml."""
    folder = tmp_path_factory.mktemp("there")
    run = Run.create(
        load_config("phrasebook", [*SMALL, *PHRASEBOOK, f"run={folder / 'runs' / 'phrasebook'}"])
    )
    build_trainer(run, Validator(run)).train()
    write_shortlist(run, LanguagePair("de", "fr"), sentences=60, best=20)
    (folder / "sentences.de").write_text(
        "Der alte Bauer schläft.\n\nDiese Stadt ist klein.\n", encoding="utf-8"
    )
    (folder / "sentences.en").write_text(
        "The old farmer sleeps.\n\nThis city is small.\n", encoding="utf-8"
    )
    (folder / "text").mkdir()
    for part in ("train", "valid", "test"):
        write_text(folder / "text", part=part)
    write_text(folder, {**TEXT, "es": TEXT["fr"]}, part="news2024")
    for block in blocks("yaml"):
        values = parse_value(block.text)
        if block.page == "README.md" and "languages" in values:
            (folder / "mine.yaml").write_text(block.text, encoding="utf-8")
        if name := re.match(r"# (news|many_to_many)\.yaml\n", block.text):
            (folder / f"{name[1]}.yaml").write_text(block.text, encoding="utf-8")
    return folder


@pytest.fixture
def inside(there, monkeypatch) -> Path:
    monkeypatch.chdir(there)
    return there


# YAML --------------------------------------------------------------------------------------------------------------------


@named(blocks("yaml"))
def test_a_block_of_yaml_loads(given, tmp_path):
    """A configuration, some of its sections, a protocol, settings of an analysis, an experiment or a schedule, told apart by the keys."""
    values = parse_value(given.text)
    file = tmp_path / "shown.yaml"
    if values.keys() <= Config.model_fields.keys():
        whole = {"languages", "data", "training"} <= values.keys()
        data = values.get("data", {})
        laid = values if whole else {**BASE, **values, "data": {**BASE["data"], **data}}
        file.write_text(write_yaml(laid), encoding="utf-8")
        assert load_config(file).tasks
    elif values.keys() <= Protocol.model_fields.keys():
        file.write_text(given.text, encoding="utf-8")
        assert Protocol.load(str(file))
    elif values.keys() <= AnalysisSettings.model_fields.keys():
        file.write_text(given.text, encoding="utf-8")
        assert AnalysisSettings.load(file).similarity
    elif values.keys() <= Experiment.model_fields.keys():
        file.write_text(given.text, encoding="utf-8")
        assert Experiment.load(str(file)).systems
    else:
        file.write_text(write_yaml(BASE), encoding="utf-8")
        (tmp_path / "schedule.yaml").write_text(given.text, encoding="utf-8")
        assert load_config(file, [f"schedule={tmp_path / 'schedule.yaml'}"]).tasks


def test_the_example_of_the_readme_is_short():
    whole = [block for block in blocks("yaml") if block.page == "README.md"]
    assert len(whole) == 1 and len(whole[0].text.splitlines()) < 30


# Python ------------------------------------------------------------------------------------------------------------------


@named(blocks("python"))
def test_a_block_of_python_runs(given, inside, monkeypatch):
    monkeypatch.setattr(
        ENCODERS, "_classes", dict(ENCODERS._classes)
    )  # docs/develop/encoder.md registers one of its own
    if "sentence_transformers" in given.text:
        pytest.importorskip(
            "sentence_transformers", reason="the extra `sentence-transformers` is not installed"
        )
    names: dict[str, object] = {"__name__": "example"}
    exec(compile(given.text, str(given), "exec", flags=0, dont_inherit=True), names)  # noqa: S102
    if "french" in names:
        assert len(names["french"]) == 2
    if "aligned" in names:
        shown = [line.split("# ")[1] for line in given.text.splitlines() if "# (" in line]
        assert shown[0] == str((names["sentence"].text("de"), names["sentence"].text("fi")))
        for line, values in zip(shown[1:], (names["words"], names["aligned"]), strict=True):
            first, _, last = line.partition(" … ")
            assert str(values)[1:-1].startswith(first.rstrip(",")) and str(values)[1:-1].endswith(
                last
            )
    if "curve" in names:
        assert names["curve"]


def test_the_encoder_of_the_page_keeps_the_contract(monkeypatch):
    """What docs/develop/encoder.md tells to write is an encoder: padding changes nothing."""
    import torch

    monkeypatch.setattr(ENCODERS, "_classes", dict(ENCODERS._classes))
    (block,) = (block for block in blocks("python") if "ENCODERS.register" in block.text)
    exec(
        compile(block.text, str(block), "exec", flags=0, dont_inherit=True), {"__name__": "example"}
    )  # noqa: S102
    encoder = ENCODERS.build(ENCODERS.configure("window", size=6), input_size=4)
    words, mask = torch.randn(1, 3, 4), torch.ones(1, 5, dtype=torch.bool)
    mask[:, 3:] = False
    padded = torch.cat([words, torch.randn(1, 2, 4)], dim=1)
    states = encoder(padded, mask)
    assert states.shape == (1, 5, 6) and not states[:, 3:].any()
    torch.testing.assert_close(states[:, :3], encoder(words, mask[:, :3]))


# Commands ----------------------------------------------------------------------------------------------------------------


@named(COMMANDS)
def test_a_command_is_one(given, inside):
    """Verb and options are there, and so is what they name; overrides fit the configuration."""
    root = typer.main.get_command(cli.app.app)
    verb, *rest = given.arguments
    if verb.startswith("--"):
        assert verb == "--help" or any(verb in option.opts for option in root.params)
        return
    assert verb in root.commands
    found = root.commands[verb].make_context(verb, rest).params  # a usage error otherwise
    if verb == "train" and not found["resume"]:
        load_config(found["config"], found["overrides"] or ())
    if verb == "show" and found["name"]:
        assert presets.rooms_of(found["name"]) or (inside / found["name"]).is_dir()
    if verb == "experiment":
        assert found["file"] in presets.names("evaluation/experiments")
    if verb == "evaluate":
        Protocol.load(found["protocol"])


def cheap(command: Command) -> bool:
    """On the small run that is there, and nothing that has to be downloaded."""
    verb, *rest = command.arguments
    there = all(not word.startswith("runs/") or word == "runs/phrasebook" for word in rest)
    verbs = ("translate", "embed", "similar", "evaluate", "analyse", "report", "show")
    return command.block.language == "bash" and verb in verbs and there


@named([command for command in COMMANDS if cheap(command) and command.block.page != "README.md"])
def test_a_cheap_command_works(given, inside, monkeypatch, capsys):
    program = Program(monkeypatch, capsys)
    result = program(
        *given.arguments, stdin=(inside / given.stdin).read_bytes() if given.stdin else b""
    )
    silent = given.arguments[0] in ("embed", "report") or "--threshold" in given.arguments
    assert result.status == 0 and (result.output or silent), result.errors


def test_the_readme_from_top_to_bottom(there, tmp_path, monkeypatch, capsys):
    """Its commands in their order, with smaller models and less text."""
    shutil.copytree(there, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    program = Program(monkeypatch, capsys)
    own_text = ["vocabulary={type: word, size: 100}", "validation.bleu_pairs=[de-fr]"]
    done = []
    for command in (
        command
        for command in COMMANDS
        if (command.block.page, command.block.language) == ("README.md", "bash")
    ):
        arguments = list(command.arguments)
        if arguments[0] == "train" and "--resume" not in arguments:
            arguments += SMALL + (PHRASEBOOK if "phrasebook" in arguments else own_text)
        result = program(
            *arguments, stdin=(tmp_path / command.stdin).read_bytes() if command.stdin else b""
        )
        assert result.status == 0, (arguments, result.errors)
        if arguments[0] == "translate":
            assert [line.split("\t")[0] for line in result.output.splitlines()][
                -1
            ] and result.output.count("\n") >= 3
        done.append(arguments[0])
    assert {"train", "translate", "embed", "similar", "evaluate", "analyse"} <= set(done)
    assert (
        tmp_path / "runs" / "phrasebook-without-copies" / "evaluation" / "default" / "bleu.png"
    ).is_file()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_has_the_targets_that_pages_name(page):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:^|`)make (\w+)", page.read_text(encoding="utf-8"), re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


# Links -------------------------------------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    prose = re.sub(
        r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), link
        if anchor:
            assert anchor in anchors(target), link


def test_every_page_is_in_the_table_of_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"(docs/{page.name})" in readme for page in PAGES[1:])
