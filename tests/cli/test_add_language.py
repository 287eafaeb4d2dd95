"""`polyglot add-language RUN xx --data FILE`: text of the new language alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polyglot.runs.run import Run
from tests.builders.command_line import TEXT, write_text

ITALIAN = [
    "un cane dorme",
    "due gatti vedono un uccello",
    "il bambino legge un libro",
    "piove",
    "un uccello vede due gatti e un cane",
]
DATA = """\
train: [{type: text, pairs: {en-it: [new/train.en, new/train.it]}}]
monolingual: [{type: text, path: "new/mono.{language}"}]
valid: [{type: text, pairs: {en-it: [new/train.en, new/train.it]}}]
test: [{type: text, pairs: {en-it: [new/train.en, new/train.it]}}]
"""
ADD = ("add-language", "runs/mine", "it", "--data", "italian.yaml")


@pytest.fixture
def new_text(folder) -> Path:
    """Folder with the run and the text of Italian; the text of the run is gone."""
    (folder / "new").mkdir()
    write_text(folder / "new", {"en": TEXT["en"], "it": ITALIAN})
    write_text(folder / "new", {"it": ["una bambina dorme", "nevica"]}, part="mono")
    (folder / "italian.yaml").write_text(DATA)
    for language in TEXT:
        (folder / f"train.{language}").unlink()
    return folder


def test_a_language_with_its_own_text(new_text, polyglot):
    result = polyglot(*ADD, "training.steps=4")
    assert result.status == 0, result.errors
    assert "training it-en, en-it, it-it; 7 components of runs/mine stay" in result.errors
    assert "task it-it: 7 sentences" in result.errors  # the monolingual text, too
    config = Run.open("runs/mine-it").config
    assert config.validation.bleu_pairs == ["it-en", "en-it"]
    assert [corpus.monolingual for corpus in config.data.train] == [False, True]

    evaluated = polyglot("evaluate", "runs/mine-it", "--protocol", "quick")
    assert evaluated.status == 0, evaluated.errors
    matrix = json.loads(Path("runs/mine-it/evaluation/quick/matrix.json").read_text())
    scored = [cell["pair"] for cell in matrix["cells"] if cell["scores"]]
    assert scored == ["en-en", "en-it", "it-en", "it-it"]

    resumed = polyglot("train", "runs/mine-it", "--resume", "training.steps=6")
    assert "runs/mine-it: 6 of 6 steps" in resumed.errors
    translated = polyglot("translate", "runs/mine-it", "new/train.it", "--from", "it", "--to", "de")
    assert translated.output.count("\n") == 5


def test_a_second_time(new_text, polyglot):
    Path("runs/mine-it").mkdir()
    Path("runs/mine-it/config.yaml").write_text("")
    message = polyglot.refuses(*ADD)
    assert (
        "runs/mine-it: exists; continue it with `polyglot train runs/mine-it --resume`" in message
    )


def test_text_without_held_out_text_needs_none(new_text, polyglot):
    lines = [line for line in DATA.splitlines() if line.startswith("train")]
    Path("italian.yaml").write_text("data:\n  " + "\n  ".join(lines))
    result = polyglot(*ADD, "--dry-run")
    assert result.status == 0, result.errors
    assert "encoder.it" in result.output
    assert not Path("runs/mine-it").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("train:", "trane:", "trane: no key named 'trane'. Did you mean 'train'?"),
        (DATA, "valid: []", "italian.yaml: train: missing; name corpora of pairs"),
        (DATA, "", "italian.yaml: a mapping of keys is expected, found nothing"),
        (DATA, "data: {train: []}\ntraining: {steps: 3}", "italian.yaml: training beside data"),
        ("new/train.it]", "new/tran.it]", "train: new/tran.it: no such file"),
        ("en-it", "de-fr", "train: no text in it"),
        ("en-it", "en-sv", "; languages that it names: sv"),
        ("en-it", "en-ita", "train: ita is it here; write it in the file, too"),
        ("en-it", "eng-it", "train: eng is en here; write en in the file, too"),
        ("en-it", "en-it-x", "'en-it-x' is no language pair"),
        ("mono.{language}", "mono.it", "names no {language}"),
    ],
)
def test_a_file_that_cannot_be_meant(old, new, message, new_text, polyglot):
    content = DATA.replace(old, new)
    if "mono" not in old:
        content = "\n".join(line for line in content.splitlines() if "mono" not in line)
    Path("italian.yaml").write_text(content)
    assert message in polyglot.refuses(*ADD)
    assert not Path("runs/mine-it").exists()


def test_sides_of_different_length(new_text, polyglot):
    write_text(new_text / "new", {"it": ITALIAN[:3]})
    message = polyglot.refuses(*ADD)
    assert "train: new/train.en has 5 lines, but new/train.it has 3" in message
    assert "valid: new/train.en has 5 lines" in message
    assert not Path("runs/mine-it").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("deu", "--data", "italian.yaml"), "has deu already, with the code de"),
        (("sv", "--data", "italian.yaml"), "train: no text in sv; languages that it names: it"),
        (("it", "--data", "italien.yaml"), "italien.yaml: cannot be read: No such file"),
        (("it", "--data", "new/train.it"), "new/train.it: a mapping of keys is expected"),
        ((*ADD[2:], "--with", "de"), "no text in it and de together; there is en"),
        (("it",), "name its text with --data FILE.yaml"),
    ],
)
def test_arguments_that_cannot_be_meant(arguments, message, new_text, polyglot):
    assert message in polyglot.refuses("add-language", "runs/mine", *arguments)
    assert not list(Path("runs").glob("mine-*"))


def test_an_appended_path_starts_at_the_folder_of_the_data_file(new_text, polyglot):
    """Not at `data.folder` of the old run, and not in the working directory."""
    values = DATA.replace("new/", "")
    (new_text / "italian.yaml").write_text(f"folder: new\n{values}")
    (new_text / "old").mkdir()
    write_text(new_text / "old", {"de": TEXT["de"], "en": TEXT["en"]}, part="test")

    old_text = "data.test+={type: text, path: 'old/test.{language}'}"
    wrong = polyglot.refuses(*ADD, "--dry-run", old_text)
    assert f"{Path('new/old')}/test" in wrong
    for path in ("../old/test.{language}", f"{new_text}/old/test.{{language}}"):
        appended = f"data.test+={{type: text, path: '{path}'}}"
        result = polyglot(*ADD, "--dry-run", appended)
        assert result.status == 0, result.errors


def test_an_override_of_train_starts_at_the_data_folder(folder, polyglot):
    (folder / "text").mkdir()
    write_text(folder / "text")
    write_text(folder / "text", part="more")
    arguments = ("train", "mine.yaml", "run=other", "--dry-run", "data.folder=text")
    appended = "data.train+={type: text, path: 'more.{language}'}"
    result = polyglot(*arguments, appended)
    assert result.status == 0, result.errors
    wrong = "data.train+={type: text, path: 'text/more.{language}'}"
    assert "text/text/more" in polyglot.refuses(*arguments, wrong)


def test_more_text_is_appended(new_text, polyglot):
    write_text(new_text / "new", {"de": TEXT["de"], "it": ITALIAN}, part="more")
    corpus = "data.train+={type: text, pairs: {de-it: [new/more.de, new/more.it]}}"
    result = polyglot(*ADD, corpus, "--with", "de", "--with", "en", "training.steps=2")
    assert result.status == 0, result.errors
    assert "task it-de: 5 sentences" in result.errors
