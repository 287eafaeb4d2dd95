"""The command line as a user meets it: what it prints, and one clear sentence for everything that cannot be meant."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import typer
from accelerate import Accelerator
from rich.console import Console
from rich.progress import Progress

from polyglot import cli
from polyglot.cli import app, translation
from polyglot.config.loading import load_config
from polyglot.core import presets
from polyglot.core.errors import CheckpointError, TrainingError
from polyglot.core.signals import exit_code, signal_handler
from polyglot.core.version import VERSION
from polyglot.core.yaml import parse_value
from polyglot.data import download, streamed_dataset
from polyglot.data.corpora import Corpora, collection, shards
from polyglot.distributed import launch as launching
from polyglot.experiments.launcher import TrainingLauncher
from polyglot.inference.translator import Translator
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from polyglot.training import preflight
from polyglot.training import training_log as logging_of_training
from polyglot.training.build import build_trainer
from polyglot.training.trainer import Trainer
from polyglot.training.validation import Validator
from tests.builders.command_line import CONFIG, TEXT, Program, Result, write_text
from tests.conftest import ROOT

VERBS = (
    *(
        "train",
        "translate",
        "embed",
        "similar",
        "evaluate",
        "compare",
        "experiment",
        "report",
        "analyse",
    ),
    *("symbolize", "desymbolize", "shortlist"),
    *("add-language", "average", "export", "match", "convert", "fetch", "show"),
)
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A folder with text, mine.yaml and the run runs/mine with checkpoints of steps 2 and 4; not to be changed."""
    folder = tmp_path_factory.mktemp("trained")
    write_text(folder)
    (folder / "mine.yaml").write_text(CONFIG, encoding="utf-8")
    run = Run.create(
        load_config(
            folder / "mine.yaml", [f"data.folder={folder}", f"run={folder / 'runs' / 'mine'}"]
        )
    )
    build_trainer(run, Validator(run)).train()
    assert checkpoints.steps(run.checkpoints) == [2, 4]
    return folder


@pytest.fixture
def folder(trained, tmp_path, monkeypatch) -> Path:
    """A copy of it, where the test is called from."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def polyglot(monkeypatch, capsys) -> Program:
    return Program(monkeypatch, capsys)


def contents(folder: Path) -> dict[str, str]:
    """Every file with its checksum; the lock is no file of the run's."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


TRANSLATE = ("translate", "runs/mine", "--from", "de", "--to", "fr")
LAST = Path("runs/mine/checkpoints/step-00000004")


# Help --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_every_verb_shows_examples_that_are_right(verb, polyglot):
    result = polyglot(verb, "--help")
    command = typer.main.get_command(cli.app.app).commands[verb]
    assert result.status == 0
    assert " ".join(command.epilog.split()) in " ".join(result.output.split())
    for example in command.epilog.split(" · "):
        words = shlex.split(example.split(" < ")[0])
        assert words[:2] == ["polyglot", verb]
        command.make_context(verb, words[2:])  # a usage error otherwise


def test_the_help_needs_no_torch():
    """So that it is there at once."""
    program = """
import sys
from polyglot import cli
try:
    cli.main()
except SystemExit:
    print(sorted({"torch", "datasets", "numpy"} & sys.modules.keys()))
"""
    ended = subprocess.run(
        [sys.executable, "-c", program, "--help"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Multilingual many-to-many translation" in ended.stdout and ended.stdout.endswith("[]\n")


def test_every_verb_is_in_the_help(polyglot):
    assert set(typer.main.get_command(cli.app.app).commands) == set(VERBS)
    output = polyglot("--help").output
    assert all(verb in output for verb in VERBS)


def test_the_version(polyglot):
    assert polyglot("--version").output == f"polyglot {VERSION}\n"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["trainn"], "No such command 'trainn'. Did you mean 'train'?"),
        (["train"], "Missing argument"),
        (["translate", "runs/mine", "--to", "fr"], "Missing option '--from'"),
        (
            ["translate", "runs/mine", "--from", "de", "--to", "fr", "--beam", "0"],
            "Invalid value for '--beam'",
        ),
        (["translate", "runs/mine", "--from", "de", "--to", "fr", "--beem", "5"], "No such option"),
    ],
)
def test_a_command_that_is_none(arguments, part, polyglot):
    assert part in polyglot.refuses(*arguments)


# show --------------------------------------------------------------------------------------------------------------------


def test_show_lists_what_is_shipped(polyglot):
    output = " ".join(polyglot("show").output.split())
    assert "multi30k/paper" in output and "with_copies" in output and "attention_bridge" in output
    assert "references" not in output


@pytest.mark.parametrize("name", [*presets.names("configs"), "runs/mine", "mine.yaml"])
def test_show_prints_a_configuration_that_is_the_same_when_read(name, folder, polyglot):
    result = polyglot("show", name)
    assert result.status == 0
    (folder / "shown.yaml").write_text(result.output, encoding="utf-8")
    shown, meant = (
        load_config("shown.yaml"),
        Run.open(name).config if name.startswith("runs/") else load_config(name),
    )
    assert shown == meant


@pytest.mark.parametrize("room", [room for room in presets.CATEGORIES if room != "configs"])
def test_show_prints_what_is_shipped_as_it_is_written(room, folder, polyglot):
    for name in presets.names(room):
        written = presets.find(room, name).read_text(encoding="utf-8")
        assert polyglot("show", f"{room}/{name}").output == written
        if name not in presets.names("configs"):
            assert polyglot("show", name).output == written


def test_show_says_where_else_a_name_is(folder, polyglot):
    found = polyglot("show", "phrasebook")
    assert found.output.startswith("languages:")
    assert (
        "phrasebook is the name of a shipped experiment, too: polyglot show evaluation/experiments/phrasebook"
        in found.errors
    )
    assert polyglot("show", "configs/phrasebook").output == found.output


def test_show_of_nothing(folder, polyglot):
    assert (
        "no configuration, schedule, protocol or experiment named 'with_copis'. Did you mean 'with_copies'?"
        in polyglot.refuses("show", "with_copis")
    )
    assert "Did you mean 'phrasebook'?" in polyglot.refuses("show", "phrasebok")
    assert "runs: no run directory: it has no config.yaml" in polyglot.refuses("show", "runs")


# train -------------------------------------------------------------------------------------------------------------------


def test_a_dry_run_shows_everything_and_writes_nothing(folder, polyglot):
    before = contents(folder)
    result = polyglot("train", "mine.yaml", "run=elsewhere", "--dry-run")
    assert result.status == 0 and contents(folder) == before and not Path("elsewhere").exists()
    for title in ("Tasks", "Vocabularies", "Components", "Memory of training, estimated"):
        assert " ".join(title.split()) in " ".join(result.output.split())
    for name in (
        "en-de",
        "fr-fr",
        "encoder.de",
        "decoder.fr",
        "bridge",
        "parameters",
        "optimizer",
        "activations",
    ):
        assert f"│ {name} " in result.output


def test_a_dry_run_finds_what_a_run_would(folder, polyglot):
    Path("train.fr").write_text("un chien\n")
    assert "train.en has 5 lines, but train.fr has 1" in polyglot.refuses(
        "train", "mine.yaml", "run=elsewhere", "--dry-run"
    )


STREAMED = [
    "run=streamed",
    "data.train.0.streaming=true",
    "batching.buffer=3",
    "validation.every=1000",
]


def test_a_dry_run_tells_of_streamed_text_what_is_known(folder, polyglot):
    result = polyglot("train", "mine.yaml", *STREAMED, "--dry-run", "data.filter.max_length=8")
    assert (
        result.status == 0
        and "about 5" in result.output
        and "of the first 5" in " ".join(result.output.split())
    )
    assert polyglot("train", "mine.yaml", *STREAMED).status == 0
    said = polyglot("train", "streamed", "--resume", "training.steps=6").errors
    assert (
        "task en-de: streamed from 1 file, about 5 sentences; of the first 5, none left out" in said
    )
    assert (
        polyglot("shortlist", "streamed", "en-de").status
        == polyglot("report", "streamed").status
        == 0
    )


@pytest.mark.parametrize(
    ("spoilt", "sentence"),
    [
        (
            b"one\ntwo\nthree\nfour\nfive\nsix\n",
            "ends after line 5, but {file} has 6 lines; line n of both must be one sentence pair; ",
        ),
        (b"one\ntwo\n", "{file} ends after line 2, but "),
        (
            b"one\ntwo\nthree\nf\xfcnf\nfive\n",
            "{file}, line 4: not UTF-8 (invalid start byte 0xfc); write the file in UTF-8; ",
        ),
    ],
    ids=["longer", "shorter", "no UTF-8"],
)
def test_streamed_text_that_is_spoilt_further_on_stops_the_training(
    spoilt, sentence, folder, polyglot, monkeypatch
):
    monkeypatch.setattr(collection, "SAMPLE", 2)
    monkeypatch.setattr(shards, "SMALL_BLOCK", 4)
    monkeypatch.setattr(streamed_dataset, "SAMPLE", 2)
    (folder / "train.fr").write_bytes(spoilt)
    own = [
        *STREAMED,
        "schedule={pairs: [en-fr], copies: false}",
        "languages=[en, fr]",
        "data.valid=[]",
        "validation={every: 1000}",
    ]
    said = " ".join(
        polyglot.refuses("train", "mine.yaml", *own, "batching.size=1", "training.steps=20").split()
    )
    assert sentence.format(file="train.fr") in said
    assert "; there is no checkpoint yet" in said or "; the last good checkpoint is step " in said


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        (
            "data.valid.0.streaming=true",
            "data.valid.0.streaming: held-out text is not streamed; leave it out",
        ),
        (
            "data.train.0.streaming=maybe",
            "data.train.0.streaming: found 'maybe'; expected true or false",
        ),
        (
            "data.train=[{type: phrasebook, streaming: true}]",
            "data.train.0.streaming: no key named 'streaming'",
        ),
        (
            "data.train=[{type: tsv, path: '*.tsv', columns: {de: 1}}]",
            "'*.tsv' names several files, which are streamed; write streaming: true",
        ),
        (
            "data.train=[{type: text, path: 'none-*.{language}', streaming: true}]",
            "none-*.{language}: nothing for any of en, de, fr",
        ),
    ],
)
def test_what_cannot_be_streamed_is_said_before_training(override, sentence, folder, polyglot):
    assert sentence in polyglot.refuses("train", "mine.yaml", "run=streamed", override)
    assert not Path("streamed").exists()


def test_a_schedule_by_sizes_needs_a_stream_that_tells_them(folder, polyglot, monkeypatch):
    monkeypatch.setattr(shards.StreamedText, "estimate_rows", lambda text: None)
    said = " ".join(
        polyglot.refuses(
            "train",
            "mine.yaml",
            *STREAMED,
            "validation.bleu_pairs=[]",
            "schedule={type: temperature, pairs: [en-de]}",
        ).split()
    )
    assert (
        "schedule.type: 'temperature' needs the number of sentences of each task, "
        "which is unknown for the streamed text of en-de; use 'uniform'" in said
    )
    assert (
        polyglot(
            "train",
            "mine.yaml",
            *STREAMED,
            "validation.bleu_pairs=[]",
            "schedule={type: uniform, pairs: [en-de]}",
        ).status
        == 0
    )


def test_processes_that_a_launcher_has_started_are_as_many_as_the_command_says(
    folder, polyglot, monkeypatch
):
    monkeypatch.setattr(launching, "launch", lambda number, command: 40 + number)
    monkeypatch.setenv("RANK", "0")
    assert polyglot("train", "mine.yaml", "run=other", "--processes", "2").status == 42, (
        "nobody has counted them"
    )
    monkeypatch.setenv("WORLD_SIZE", "1")
    said = polyglot.refuses("train", "mine.yaml", "run=other", "--processes", "2")
    assert (
        "--processes 2, but a launcher has started 1 (WORLD_SIZE in the environment); leave the option out"
        in said
    )
    assert (
        polyglot("train", "mine.yaml", "run=other", "training.steps=1", "--processes", "1").status
        == 0
    )
    for name, value in {
        "WORLD_SIZE": "4",
        "LOCAL_RANK": "0",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "1",
    }.items():
        monkeypatch.setenv(name, value)
    assert "--processes 1, but a launcher has started 4" in polyglot.refuses(
        "train", "mine.yaml", "run=other", "--processes", "1"
    )


def test_a_polite_end_before_the_first_step_leaves_nothing_behind(folder, polyglot, monkeypatch):
    """As Ctrl-C does: the next attempt finds no run in its way."""
    monkeypatch.setattr(
        "polyglot.training.build.build_trainer", lambda *given: signal.raise_signal(signal.SIGTERM)
    )
    ended = polyglot("train", "mine.yaml", "run=other")
    assert (ended.status, ended.errors) == (143, "interrupted\n") and not Path("other").exists()


def test_a_dry_run_of_a_resumed_run_does_not_train(folder, polyglot):
    before = contents(folder)
    assert polyglot("train", "runs/mine", "--resume", "--dry-run", "training.steps=6").status == 0
    assert contents(folder) == before


@pytest.mark.parametrize("dry", [(), ("--dry-run",)], ids=["train", "dry-run"])
def test_tasks_that_never_train_are_said(dry, folder, polyglot):
    phases = "schedule.phases=[{until_step: 2, pairs: ['*-en'], copies: true}]"
    said = polyglot("train", "mine.yaml", "run=other", "training.steps=2", phases, *dry).errors
    sentence = "schedule.phases: en-de, en-fr will not train at all, because no phase has them before training.steps, 2; train longer, or change"
    assert sentence in said
    if dry:
        assert (
            "will not train"
            not in polyglot(
                "train", "mine.yaml", "run=other", "training.steps=3", phases, *dry
            ).errors
        )


@pytest.mark.parametrize("dry", [(), ("--dry-run",)], ids=["train", "dry-run"])
def test_text_that_is_left_aside_is_said(dry, folder, polyglot):
    Path("rows.tsv").write_text(
        "\n".join("\t".join(row) for row in zip(*TEXT.values())), encoding="utf-8"
    )
    rows = "data.train=[{type: tsv, path: rows.tsv, columns: {en: 1, de: 2, fr: 3, sw: 1}}]"
    result = polyglot("train", "mine.yaml", "run=other", rows, "training.steps=1", *dry)
    assert (
        result.status == 0 and "rows.tsv: sw ignored; `languages` does not name it" in result.errors
    )


def test_training_and_going_on(folder, polyglot):
    first = polyglot("train", "mine.yaml", "run=other", "training.steps=2")
    assert (first.status, first.output) == (0, "")
    assert "2 of 2 steps" in first.errors and "next: polyglot evaluate other" in first.errors
    second = polyglot("train", "other", "--resume", "training.steps=4")
    assert second.status == 0 and "4 of 4 steps" in second.errors
    stopped, whole = (
        {
            name: checksum
            for name, checksum in contents(path).items()
            if name.endswith(".safetensors")
        }
        for path in (Path("other/checkpoints/step-00000004"), LAST)
    )
    assert stopped == whole and len(whole) == 8  # as if it had never stopped
    lines = [json.loads(line) for line in Path("other/log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if line["kind"] == "training"] == [2, 4]


def test_quiet_training_has_no_log(folder, polyglot):
    assert (
        "step 1"
        not in polyglot("--quiet", "train", "mine.yaml", "run=other", "training.steps=1").errors
    )


EXISTS = "runs/mine: exists; continue it with `polyglot train runs/mine --resume`, choose another with run=…, or remove it"


def test_a_run_directory_that_exists_is_not_touched(folder, polyglot):
    before = contents(folder)
    assert EXISTS in polyglot.refuses("train", "mine.yaml")
    assert contents(folder) == before


def test_a_dry_run_beside_a_run_that_exists_shows_everything_and_says_so(folder, polyglot):
    before, elsewhere = (
        contents(folder),
        polyglot("train", "mine.yaml", "run=elsewhere", "--dry-run"),
    )
    result = polyglot("train", "mine.yaml", "--dry-run")
    assert (
        (result.status, result.output) == (0, elsewhere.output)
        and EXISTS in result.errors
        and "exists" not in elsewhere.errors
    )
    Path("train.fr").write_text("un chien\n")
    assert "train.en has 5 lines, but train.fr has 1" in polyglot.refuses(
        "train", "mine.yaml", "--dry-run"
    )
    shutil.copy(folder / "train.en", "train.fr")
    assert contents(folder).keys() == before.keys()


@pytest.mark.parametrize("dry", [(), ("--dry-run",)], ids=["train", "dry-run"])
def test_a_file_is_no_place_for_a_run(dry, folder, polyglot):
    before = contents(folder)
    said = polyglot.refuses("train", "mine.yaml", "run=train.de", *dry)
    assert (
        said
        == "error: train.de: is a file, and a run is a folder; choose another name with run=…\n"
        and contents(folder) == before
    )


def test_nothing_to_resume(folder, polyglot):
    said = polyglot.refuses("train", "runs/nobody", "--resume")
    assert "runs/nobody: no run directory: there is nothing; a run is the folder that" in said


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("mine.yaml", "mine.yaml: no run directory: it is a file. Did you mean runs/mine?"),
        ("mine", "mine: no run directory: there is nothing. Did you mean runs/mine?"),
        ("runs/mien", "runs/mien: no run directory: there is nothing. Did you mean runs/mine?"),
        (
            "train.de",
            "train.de: no run directory: it is a file; a run is the folder that `polyglot train` has made, such as runs/mine",
        ),
        ("runs", "runs: no run directory: it has no config.yaml; a run is the folder"),
    ],
)
@pytest.mark.parametrize(
    "verb",
    [("train", "--resume"), ("evaluate",), ("translate", "--from", "de", "--to", "fr")],
    ids=lambda verb: verb[0],
)
def test_what_is_no_run_is_said_with_the_run_that_may_be_meant(
    given, sentence, verb, folder, polyglot
):
    assert sentence in polyglot.refuses(*verb, given)


@pytest.mark.parametrize("dry", [(), ("--dry-run",)], ids=["train", "dry-run"])
def test_a_folder_is_no_configuration(dry, folder, polyglot):
    Path("text").mkdir()
    said = polyglot.refuses("train", "text", *dry)
    assert (
        "text: a folder; a YAML file is expected here, or the name of a shipped one: " in said
        and "multi30k/paper, " in said
    )
    assert "runs/mine: a run directory; continue it with --resume" in polyglot.refuses(
        "train", "runs/mine", *dry
    )


def test_what_cannot_be_resumed_leaves_the_run_as_it_was(folder, polyglot):
    before = contents(folder)
    assert "model" in polyglot.refuses("train", "runs/mine", "--resume", "model.encoder.size=10")
    assert "schedule" in polyglot.refuses("train", "runs/mine", "--resume", "schedule=many_to_many")
    assert contents(folder) == before
    assert polyglot(*TRANSLATE, stdin="es regnet\n").status == 0


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        (
            "optimizer=sgd",
            "step-00000004: was trained with the optimizer 'adam', and the configuration says 'sgd'",
        ),
        ("data.folder=nowhere", "nowhere/train.{language}: nothing for any of en, de, fr"),
        ("training.trackers=[aim]", "training.trackers: aim not installed"),
        ("data.filter.max_length=1", "only over-long sentences"),
        ("run=runs/other", "run: 'runs/other'; the run stays where it is, in runs/mine"),
    ],
)
def test_a_change_that_does_not_work_is_not_kept(override, sentence, folder, polyglot):
    before = contents(folder)
    assert sentence in polyglot.refuses(
        "train", "runs/mine", "--resume", "training.steps=6", override
    )
    assert contents(folder) == before and not Path("runs/other").exists()
    assert polyglot("train", "runs/mine", "--resume").status == 0


@pytest.mark.parametrize(
    ("spoilt", "sentence"),
    [
        (["optimizer.learning_rate=1e30"], "no longer"),
        (
            ["training.trackers=[tensorboard]", "data.folder=nowhere"],
            "nothing for any of en, de, fr",
        ),
    ],
)
def test_a_change_that_training_fails_with_is_not_kept_either(
    spoilt, sentence, folder, polyglot, monkeypatch
):
    monkeypatch.setattr(preflight, "get_available_trackers", lambda: ["tensorboard"])
    before = contents(folder)
    assert sentence in polyglot.refuses(
        "train", "runs/mine", "--resume", "training.steps=6", *spoilt
    )
    assert contents(folder) == before
    assert polyglot("train", "runs/mine", "--resume", "training.steps=6").status == 0


@pytest.mark.parametrize(
    ("error", "stays"),
    [
        (MemoryError(), False),
        (RuntimeError("CUDA out of memory."), False),
        (TrainingError("enough"), False),
        (CheckpointError("No space left on device"), True),
    ],
)
def test_what_becomes_of_a_change_that_fails_after_some_steps(
    error, stays, folder, polyglot, monkeypatch
):
    """Before there is a new checkpoint; a full disk is no fault of the change."""
    update = Trainer.update

    def fails(trainer):
        if trainer.progress.step == 5:
            raise error
        return update(trainer)

    monkeypatch.setattr(Trainer, "update", fails)
    polyglot.refuses(
        "train", "runs/mine", "--resume", "training.steps=9", "training.checkpoint.every=9"
    )
    assert checkpoints.steps(Path("runs/mine/checkpoints")) == [2, 4]
    assert (Run.open("runs/mine").config.training.steps == 9) == stays


def test_a_log_that_cannot_be_shortened_keeps_no_change(folder, polyglot, monkeypatch):
    """The last thing that can be in the way of a start."""

    def full(path: Path, content: str) -> None:
        raise CheckpointError(f"{path}: cannot be written: No space left on device")

    with Path("runs/mine/log.jsonl").open("a") as log:
        log.write('{"step": 5}\n')
    before = contents(folder)
    monkeypatch.setattr(logging_of_training, "replace_file", full)
    assert "log.jsonl: cannot be written" in polyglot.refuses(
        "train", "runs/mine", "--resume", "training.steps=6"
    )
    assert contents(folder) == before


def test_a_change_that_left_a_checkpoint_stays_with_it(folder, polyglot, monkeypatch):
    """Whatever comes later: the next start goes on from there."""
    update = Trainer.update

    def fails(trainer):
        if trainer.progress.step == 7:
            raise TrainingError("enough")
        return update(trainer)

    monkeypatch.setattr(Trainer, "update", fails)
    polyglot.refuses("train", "runs/mine", "--resume", "training.steps=9")
    assert (
        checkpoints.steps(Path("runs/mine/checkpoints"))[-1] == 6
        and Run.open("runs/mine").config.training.steps == 9
    )


def test_a_change_that_works_is_kept(folder, polyglot):
    assert polyglot("train", "runs/mine", "--resume", "training.steps=6").status == 0
    assert Run.open("runs/mine").config.training.steps == 6


@pytest.mark.parametrize(
    "override", ["model.encoder.size=10", "schedule=many_to_many", "run=runs/other"]
)
def test_a_dry_run_of_a_resumed_run_finds_what_cannot_change(override, folder, polyglot):
    before = contents(folder)
    polyglot.refuses("train", "runs/mine", "--resume", "--dry-run", override)
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        (
            "optimizer=sgd",
            "which cannot use its state: resume with optimizer.type=adam, or start a new run",
        ),
        ("training.steps=3", "step-00000004: the run is already past training.steps 3"),
    ],
)
@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_what_cannot_be_continued_is_said_before_the_text_is_read(
    override, sentence, dry, folder, polyglot, monkeypatch
):
    monkeypatch.setattr(
        Corpora, "__init__", lambda *given, **named: pytest.fail("the text was read")
    )
    assert sentence in polyglot.refuses("train", "runs/mine", "--resume", *dry, override)


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_a_damaged_checkpoint_is_said_before_the_text_is_read(dry, folder, polyglot, monkeypatch):
    flip(LAST / "training.safetensors")
    monkeypatch.setattr(
        Corpora, "__init__", lambda *given, **named: pytest.fail("the text was read")
    )
    assert "training.safetensors: damaged: its SHA-256 is" in polyglot.refuses(
        "train", "runs/mine", "--resume", *dry
    )


def test_what_cannot_change_is_named(folder, polyglot):
    said = polyglot.refuses(
        "train",
        "runs/mine",
        "--resume",
        "model.encoder.size=10",
        "model.bridge.heads=3",
        "vocabulary.size=50",
    )
    assert (
        "the command line, for runs/mine: settings that a run was built from cannot change: model.bridge.heads was 2, "
        "model.encoder.size was 8, vocabulary.size was 100; leave" in said
    )
    said = polyglot.refuses("train", "runs/mine", "--resume", "schedule=english_centric")
    assert (
        "cannot change: the pairs of schedule were de-de, de-en, en-de, en-en, en-fr, fr-en, fr-fr; leave them out"
        in said
    )


def test_what_is_wrong_with_a_change_is_no_fault_of_the_file(folder, polyglot):
    said = polyglot.refuses(
        "train", "runs/mine", "--resume", "languages=[en,de]", "search.beam=0"
    ).splitlines()
    assert said[0].endswith(
        "the command line, for runs/mine: 3 problems"
    ) and "config.yaml" not in "".join(said)
    assert (
        said[1]
        .strip()
        .startswith("languages: cannot change, the run was built from it; leave it out")
    )


# Bad input: the configuration --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overrides", "sentences"),
    [
        (["model.encodr=lstm"], ["model.encodr: no key named 'encodr'. Did you mean 'encoder'?"]),
        (
            ["model.encoder.layers=1000000"],
            ["model.encoder.layers: found 1000000; expected at most 256"],
        ),
        (
            ["model.decoder.size=10000000"],
            ["model.decoder.size: found 10000000; expected at most 65536"],
        ),
        (
            ["vocabulary.size=100000000"],
            ["vocabulary.size: found 100000000; expected at most 1000000"],
        ),
        (
            ["schedule.tasks_per_update=1000000000"],
            ["schedule.tasks_per_update: found 1000000000; expected at most 10000"],
        ),
        (
            ["data.train=[{type: phrasebook, train: 1000000000}]"],
            ["data.train.0.train: found 1000000000; expected at most 100000"],
        ),
        (["training.steps=many"], ["training.steps: found 'many'; expected a whole number"]),
        (
            ["model.encoder=lsmt"],
            ["model.encoder.type: no encoder named 'lsmt'. Did you mean 'lstm'? Known: cnn, "],
        ),
        (
            ["schedule.pairs=[de-xx]"],
            ["schedule.pairs: 'de-xx' matches no pair of the languages en, de, fr"],
        ),
        (["schedule=with_copys"], ["no schedule named 'with_copys'. Did you mean 'with_copies'?"]),
        (
            ["vocabulary={languages: {xx: {size: 9}}}"],
            ["vocabulary.languages.xx: no language named 'xx'"],
        ),
        (
            ["data.train.0.weight=1e300", "search.length_penalty=1000"],
            [
                "data.train.0.weight: found 1.0e+300; expected at most 1000",
                "search.length_penalty: found 1000; expected at most 10",
            ],
        ),
        (
            ["model.encoder=lsmt", "training.steps=0", "seeed=3", "batching.size=big"],
            [
                "4 problems",
                "model.encoder.type: no",
                "training.steps: found 0",
                "seeed: no key named 'seeed'",
                "batching.size: found 'big'",
            ],
        ),
    ],
)
@pytest.mark.parametrize("dry", [(), ("--dry-run",)], ids=["train", "dry-run"])
def test_a_wrong_configuration(overrides, sentences, dry, folder, polyglot):
    before = contents(folder)
    said = polyglot.refuses("train", "mine.yaml", "run=other", *overrides, *dry)
    assert all(sentence in said for sentence in sentences), said
    assert contents(folder) == before and not Path("other").exists()


def test_a_configuration_that_is_not_there(folder, polyglot):
    assert "no configuration named 'phrasebok'. Did you mean 'phrasebook'?" in polyglot.refuses(
        "train", "phrasebok"
    )


def test_a_configuration_that_is_no_yaml(folder, polyglot):
    Path("mine.yaml").write_text("languages: [en\ndata: 3\n")
    assert "mine.yaml: line 2: no valid YAML" in polyglot.refuses("train", "mine.yaml")


# Bad input: the text -----------------------------------------------------------------------------------------------------


def spoil(what: str, path: Path) -> None:
    text = path.read_bytes()
    path.unlink()
    if what == "empty":
        path.write_bytes(b"")
    elif what == "folder":
        path.mkdir()
    elif what == "shorter":
        path.write_bytes(b"".join(text.splitlines(keepends=True)[:-2]))
    elif what == "latin1":
        path.write_bytes(text.decode().encode("latin-1") + "élan\n".encode("latin-1"))
    elif what == "cut":
        path.write_bytes(gzip.compress(text * 50)[:-20])


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("missing", "train.fr: no such file; there are files for en, de"),
        ("empty", "train.fr: the file is empty"),
        ("folder", "train.fr: a folder, not a file"),
        (
            "shorter",
            "train.en has 5 lines, but train.fr has 3; line n of both must be one sentence pair",
        ),
        (
            "latin1",
            "train.fr, line 6: not UTF-8 (invalid continuation byte 0xe9); write the file in UTF-8",
        ),
        ("cut", "train.fr: the gzip file is damaged or was cut off"),
    ],
)
def test_text_that_cannot_be_used(what, sentence, folder, polyglot):
    spoil(what, Path("train.fr"))
    said = polyglot.refuses("train", "mine.yaml", "run=other")
    assert said.splitlines()[-1].startswith(f"error: {sentence}"), said
    assert not Path("other/checkpoints").exists()


@pytest.mark.parametrize("dry", [(), ("--dry-run",)], ids=["train", "dry-run"])
def test_a_weight_that_leaves_nothing_to_train_on(dry, folder, polyglot):
    said = polyglot.refuses("train", "mine.yaml", "run=other", "data.train.0.weight=0.0001", *dry)
    assert (
        "error: weight 0.0001 leaves none of the 5 pairs of en-de" in said
        and not Path("other").exists()
    )


@pytest.mark.parametrize("dry", [(), ("--dry-run",)], ids=["train", "dry-run"])
@pytest.mark.parametrize(
    ("test", "sentence"),
    [
        (
            "{type: text, path: 'gone.{language}'}",
            "error: data.test: gone.{language}: nothing for any of en, de, fr; looked in ",
        ),
        (
            "{type: text, pairs: {de-en: [test.de, gone.en]}}",
            "error: data.test: gone.en: no such file",
        ),
        ("{type: text, path: 'test.{language}'}", "error: data.test: test.fr: the file is empty"),
        (
            "{type: tsv, path: gone.tsv, columns: {de: 1, en: 2}}",
            "error: data.test: gone.tsv: no such file",
        ),
    ],
)
def test_test_text_is_looked_at_before_training(test, sentence, dry, folder, polyglot):
    write_text(folder, {**TEXT, "fr": []}, part="test")
    said = polyglot.refuses("train", "mine.yaml", "run=other", f"data.test=[{test}]", *dry)
    assert said.splitlines()[-1].startswith(sentence) and not Path("other").exists()


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (b"un chien\n", "test.en has 5 lines, but test.fr has 1"),
        (b"\n\n\n\n\xe9\n", "test.fr, line 5: not UTF-8"),
    ],
)
def test_a_dry_run_reads_the_test_text(lines, sentence, folder, polyglot):
    write_text(folder, part="test")
    Path("test.fr").write_bytes(lines)
    assert sentence in polyglot.refuses(
        "train", "mine.yaml", "run=other", "data.test.0.path=test.{language}", "--dry-run"
    )


@pytest.mark.parametrize("dry", [(), ("--dry-run",)], ids=["train", "dry-run"])
def test_a_language_without_test_text_is_said(dry, folder, polyglot):
    write_text(folder, {language: TEXT[language] for language in ("en", "de")}, part="test")
    result = polyglot(
        "train",
        "mine.yaml",
        "run=other",
        "training.steps=1",
        "data.test.0.path=test.{language}",
        *dry,
    )
    sentence = "data.test: test.fr: no such file; there are files for en, de; directions with that language will have no score"
    assert result.status == 0 and sentence in result.errors


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        (
            "data.filter.max_length=1",
            "only over-long sentences: max_length is 1 pieces, the shortest of 5 pairs has 2",
        ),
        (
            "vocabulary={type: bpe, size: 8000}",
            "vocabulary.size: 8000 pieces for en are too many for this text; at most ",
        ),
        (
            "vocabulary={type: unigram, size: 200}",
            "vocabulary.size: 200 pieces for en are too few for the characters of this text; at least ",
        ),
        ("languages=[en, de, fr, xx]", "train.xx: no such file; there are files for en, de, fr"),
        ("data.folder=nowhere", "nowhere/train.{language}: nothing for any of en, de, fr"),
    ],
)
def test_text_that_does_not_fit(override, sentence, folder, polyglot):
    assert sentence in polyglot.refuses("train", "mine.yaml", "run=other", override)


def test_a_mistake_in_the_text_can_be_mended_and_tried_again(folder, polyglot):
    polyglot.refuses("train", "mine.yaml", "run=other", "vocabulary={type: bpe, size: 8000}")
    assert polyglot("train", "mine.yaml", "run=other").status == 0


# Bad input: disks and checkpoints ----------------------------------------------------------------------------------------


def test_a_run_directory_that_cannot_be_made(folder, polyglot):
    said = polyglot.refuses("train", "mine.yaml", "run=mine.yaml/run")
    assert "mine.yaml/run: the run directory cannot be written: Not a directory" in said


def test_a_run_directory_that_nobody_may_write(folder, polyglot, monkeypatch):
    """As for a user without permission; for root, whom permissions do not stop, the system's answer is put in its mouth."""

    def refuse(*arguments, **given):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(checkpoints, "write_synced", refuse)
    before = contents(folder / "runs/mine/checkpoints")
    said = polyglot.refuses("train", "runs/mine", "--resume", "training.steps=6")
    assert (
        "step-00000006: the checkpoint cannot be written: Permission denied; the last good one is step 4"
        in said
    )
    assert contents(folder / "runs/mine/checkpoints") == before


def test_a_lock_that_cannot_be_taken(folder, polyglot):
    Path("runs/mine/.lock").unlink(missing_ok=True)
    Path("runs/mine/.lock").mkdir()
    before = contents(folder)
    assert "runs/mine: the run directory cannot be written" in polyglot.refuses(
        "train", "runs/mine", "--resume", "training.steps=6"
    )
    assert contents(folder) == before


def test_a_full_disk_leaves_the_last_good_checkpoint(folder, polyglot, monkeypatch):
    write = checkpoints.write_synced

    def full(path: Path, content: bytes) -> None:
        if "step-00000006" in str(path) and path.name.startswith("decoder"):
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, content)

    monkeypatch.setattr(checkpoints, "write_synced", full)
    before = contents(folder / "runs/mine/checkpoints")
    said = polyglot.refuses("train", "runs/mine", "--resume", "training.steps=6")
    assert (
        "step-00000006: the checkpoint cannot be written: No space left on device; the last good one is step 4"
        in said
    )
    assert contents(folder / "runs/mine/checkpoints") == before
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert polyglot("train", "runs/mine", "--resume").status == 0
    assert checkpoints.steps(folder / "runs/mine/checkpoints")[-1] == 6


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


DAMAGES = {
    "flipped": (
        lambda: flip(LAST / "decoder.fr.safetensors"),
        "decoder.fr.safetensors: damaged: its SHA-256 is",
    ),
    "missing": (
        lambda: (LAST / "decoder.fr.safetensors").unlink(),
        "decoder.fr.safetensors: cannot be read: No such file or directory",
    ),
    "manifest": (
        lambda: (LAST / "manifest.json").write_text("{"),
        "step-00000004: no complete checkpoint: manifest.json cannot be used",
    ),
    "best": (
        lambda: Path("runs/mine/checkpoints/best.json").write_text("x"),
        "best.json: cannot be used; remove it",
    ),
    "vocabulary": (
        lambda: Path("runs/mine/vocabulary/fr.model").write_bytes(b"x"),
        "fr.model: not a SentencePiece model; the file is damaged",
    ),
    "another vocabulary": (
        lambda: shutil.copy("runs/mine/vocabulary/en.model", "runs/mine/vocabulary/fr.model"),
        "step-00000004: comes from another configuration than runs/mine/config.yaml",
    ),
    "config.yaml": (
        lambda: Path("runs/mine/config.yaml").write_text(
            Path("runs/mine/config.yaml").read_text().replace("heads: 2", "heads: 3")
        ),
        "step-00000004: comes from another configuration than runs/mine/config.yaml",
    ),
    "text steps": (
        lambda: Path("runs/mine/config.yaml").write_text(
            Path("runs/mine/config.yaml")
            .read_text()
            .replace("  steps: []\n", "  steps: [lowercase]\n")
        ),
        "step-00000004: comes from another configuration than runs/mine/config.yaml",
    ),
    "never trained": (
        lambda: shutil.rmtree("runs/mine/checkpoints"),
        "runs/mine/checkpoints: no checkpoint; has the run been trained?",
    ),
}


@pytest.mark.parametrize("verb", ["translate", "evaluate"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_checkpoint_that_cannot_be_trusted(damage, verb, folder, polyglot):
    spoil_it, sentence = DAMAGES[damage]
    spoil_it()
    before = contents(folder)
    arguments = TRANSLATE if verb == "translate" else ("evaluate", "runs/mine")
    assert sentence in polyglot.refuses(*arguments, stdin="es regnet\n")
    assert contents(folder) == before


@pytest.mark.parametrize(
    "damage", ["flipped", "missing", "manifest", "another vocabulary", "config.yaml", "text steps"]
)
def test_a_checkpoint_that_cannot_be_resumed(damage, folder, polyglot):
    spoil_it, sentence = DAMAGES[damage]
    spoil_it()
    before = contents(folder)
    assert sentence in polyglot.refuses("train", "runs/mine", "--resume")
    assert contents(folder) == before


def test_another_checkpoint_works_when_one_is_damaged(folder, polyglot):
    flip(LAST / "decoder.fr.safetensors")
    assert polyglot(*TRANSLATE, "--checkpoint", "2", stdin="es regnet\n").status == 0


@pytest.mark.parametrize("what", ["7", "avg", "average:0", "newest"])
def test_a_checkpoint_that_is_not_there(what, folder, polyglot):
    assert "there are 2, 4" in polyglot.refuses(
        *TRANSLATE, "--checkpoint", what, stdin="es regnet\n"
    )


def test_a_loss_that_is_no_number(folder, polyglot):
    polyglot(
        "train",
        "mine.yaml",
        "run=other",
        "training.steps=2",
        "optimizer=sgd",
        "training.clip_norm=null",
    )
    before = contents(folder / "other/checkpoints")
    said = polyglot.refuses(
        "train", "other", "--resume", "training.steps=40", "optimizer.learning_rate=1e30"
    )
    sentence = said.splitlines()[-1]
    assert (
        sentence.startswith("error: step ")
        and ", task " in sentence
        and "the loss is no longer a number (translation nan" in sentence
    )
    assert (
        "batch of " in sentence
        and "train." in sentence
        and ", line " in sentence
        and "the last good checkpoint is step 2" in sentence
    )
    kept = contents(folder / "other/checkpoints")
    assert before.items() <= kept.items()
    assert (
        polyglot("translate", "other", "--from", "de", "--to", "fr", stdin="es regnet\n").status
        == 0
    )


def test_a_run_goes_on_without_those_that_its_components_came_from(folder, polyglot):
    assert (
        polyglot(
            "train",
            "mine.yaml",
            "run=other",
            "training.steps=2",
            "initialize={encoder.de: runs/mine}",
        ).status
        == 0
    )
    shutil.rmtree("runs/mine")
    for dry in (["--dry-run"], []):
        assert polyglot("train", "other", "--resume", "training.steps=4", *dry).status == 0


def test_a_tracker_that_is_not_installed(folder, polyglot):
    assert "training.trackers: aim not installed" in polyglot.refuses(
        "train", "mine.yaml", "run=other", "training.trackers=[aim]"
    )


MISSING = [
    "training.trackers=[aim]",
    "data.valid.0.path=nothing.{language}",
    "initialize={encoder.de: runs/none}",
]


@pytest.mark.parametrize("verb", [["train"], ["train", "--dry-run"]], ids=["train", "dry-run"])
@pytest.mark.parametrize(
    "wrong",
    [["seeed=3", "data.filter.max_lenght=3", "search.beam=0"], []],
    ids=["beside-mistakes", "alone"],
)
def test_what_is_missing_is_said_at_once(wrong, verb, folder, polyglot):
    """Packages, text and runs, together with what is wrong in the configuration itself."""
    Path("train.fr").unlink()
    before = contents(folder)
    said = polyglot.refuses(*verb, "mine.yaml", "run=other", *MISSING, *wrong)
    assert [line.split(": ")[0].strip() for line in said.splitlines()[1:]] == [
        *(["data.filter.max_lenght", "search.beam", "seeed"] if wrong else []),
        "training.trackers", "initialize.encoder.de", "train.fr", "data.valid",
    ]  # fmt: skip
    assert contents(folder) == before


def test_a_tracker_that_cannot_be_started_is_a_sentence_and_leaves_nothing(
    folder, polyglot, monkeypatch
):
    """A new run does not stand in the way of the next attempt, and one that is continued keeps its settings."""

    def fails(*given, **named):
        raise RuntimeError("api_key not configured\nand much more")

    monkeypatch.setattr(preflight, "get_available_trackers", lambda: ["tensorboard"])
    monkeypatch.setattr("accelerate.accelerator.filter_trackers", lambda names, folder: names)
    monkeypatch.setattr(Accelerator, "init_trackers", fails)
    before = contents(folder)
    for given in (["mine.yaml", "run=other"], ["runs/mine", "--resume", "training.steps=6"]):
        said = polyglot.refuses("train", *given, "training.trackers=[tensorboard]")
        assert (
            "training.trackers: tensorboard cannot be started: api_key not configured; " in said
            and "and much more" not in said
        )
        assert contents(folder) == before and not Path("other").exists()


# translate ---------------------------------------------------------------------------------------------------------------


def test_lines_come_in_order_and_empty_lines_stay_empty(folder, polyglot):
    lines = [
        "",
        "Ein Hund schläft",
        "",
        "es regnet",
        *TEXT["de"],
        "   ",
        "das Kind liest ein Buch und ein Vogel sieht zwei Katzen",
    ]
    whole = polyglot(*TRANSLATE, stdin="\n".join(lines))
    assert whole.status == 0 and whole.errors == ""
    found = whole.output.removesuffix("\n").split("\n")
    assert len(found) == len(lines)
    assert not found[0] and not found[2] and not found[9] and found[1]
    for number in (1, 3, 10):  # alone as among others
        assert polyglot(*TRANSLATE, stdin=f"{lines[number]}\n").output == f"{found[number]}\n"


def test_a_file_plain_or_gzipped_is_read_as_standard_input_is(folder, polyglot):
    text = "".join(f"{line}\n" for line in TEXT["de"])
    Path("some.txt").write_text(text, encoding="utf-8")
    Path("some.gz").write_bytes(gzip.compress(text.encode()))
    plain, zipped, given = (
        polyglot(*TRANSLATE, "some.txt"),
        polyglot(*TRANSLATE, "some.gz"),
        polyglot(*TRANSLATE, stdin=text),
    )
    assert plain == zipped == given and given.output.count("\n") == len(TEXT["de"])


@pytest.mark.parametrize("given", ["file", "standard input"])
def test_the_first_lines_are_printed_before_the_last_are_translated(
    given, folder, polyglot, capsys, monkeypatch
):
    """However large the file; in parts, it is translated as in one."""
    text = "".join(f"{line}\n" for line in TEXT["de"])
    Path("some.txt").write_text(text, encoding="utf-8")
    say = partial(
        polyglot,
        *TRANSLATE,
        "--n-best",
        1,
        *(["some.txt"] if given == "file" else []),
        stdin=text if given != "file" else "",
    )
    whole, translate, printed = say().output.splitlines(), Translator.hypotheses, []

    def look(self, lines, **settings):
        printed.append(capsys.readouterr().out)
        return translate(self, lines, **settings)

    monkeypatch.setattr(Translator, "hypotheses", look)
    monkeypatch.setattr("polyglot.data.text_files.PORTION", 2)
    printed.append(say().output)
    assert [part.splitlines() for part in printed] == [[], whole[:2], whole[2:4], whole[4:]]


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_sees_how_far_it_is_and_the_output_is_the_same(
    terminal, folder, polyglot, monkeypatch
):
    Path("some.txt").write_text("es regnet\n" * 3, encoding="utf-8")
    before = polyglot(*TRANSLATE, "some.txt")
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=terminal, width=80)
    monkeypatch.setattr(app, "stderr_console", console)
    monkeypatch.setattr(translation, "stderr_console", console)
    assert polyglot(*TRANSLATE, "some.txt") == before
    assert ("3/3" in shown.getvalue()) == terminal


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("CUDA out of memory.")])
def test_a_line_that_is_too_long_for_the_memory_is_named_after_all_before_it(
    error, folder, polyglot, monkeypatch
):
    search = Translator.hypotheses

    def small(translator, lines, **given):
        if max(map(len, lines)) > 10_000:
            raise error
        return search(translator, lines, **given)

    monkeypatch.setattr(Translator, "hypotheses", small)
    Path("long.de").write_text(
        "es regnet\nes regnet\n" + "es " * 5000 + "\nes regnet\n", encoding="utf-8"
    )
    ended = polyglot(*TRANSLATE, "long.de")
    assert ended.status == 2 and len(ended.output.splitlines()) == 2
    assert (
        "error: long.de, line 3: not enough memory to translate its 15,000 characters; divide it, or lower --beam"
        in ended.errors
    )


def test_a_file_with_a_damaged_end_is_refused_before_anything_is_printed(
    folder, polyglot, monkeypatch
):
    monkeypatch.setattr("polyglot.data.text_files.BLOCK", 16)
    Path("some.txt").write_bytes(b"es regnet\n" * 5 + b"\xff\n")
    assert "some.txt, line 6: not UTF-8" in polyglot.refuses(*TRANSLATE, "some.txt")


def test_nothing_in_is_nothing_out(folder, polyglot):
    """From a file as from standard input, as every filter has it."""
    Path("empty.txt").touch()
    Path("empty.gz").write_bytes(gzip.compress(b""))
    for file in ((), ("empty.txt",), ("empty.gz",)):
        assert polyglot(*TRANSLATE, *file) == Result(0, "", "")


def test_a_pipe_is_read_once(folder, polyglot):
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_text("es regnet\n\n"), daemon=True)
    writer.start()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        result = polyglot(*TRANSLATE, "pipe")
    assert result == polyglot(*TRANSLATE, stdin="es regnet\n\n")
    assert not [
        each for each in warned if each.category is ResourceWarning and "pipe" in str(each.message)
    ], "it is closed"


def test_n_best(folder, polyglot):
    result = polyglot(
        *TRANSLATE, "--beam", 4, "--n-best", 3, stdin="Ein Hund schläft\n\nes regnet\n"
    )
    rows = [line.split("\t") for line in result.output.splitlines()]
    assert all(len(row) == 4 for row in rows)
    assert [row[0] for row in rows] == ["1", "1", "1", "2", "3", "3", "3"]
    for number in ("1", "3"):
        scores = [float(score) for line, score, _, _ in rows if line == number]
        assert scores == sorted(scores, reverse=True)
        assert all(
            float(log) <= float(score) <= 0 for line, score, log, _ in rows if line == number
        )
    best = polyglot(
        *TRANSLATE, "--beam", 4, stdin="Ein Hund schläft\n\nes regnet\n"
    ).output.splitlines()
    assert best == [rows[0][3], rows[3][3], rows[4][3]] and rows[3][3] == ""


def test_more_hypotheses_than_the_beam_holds(folder, polyglot):
    assert "5 hypotheses cannot come from a beam of 2" in polyglot.refuses(
        *TRANSLATE, "--beam", 2, "--n-best", 5, stdin="es regnet\n"
    )


def test_beam_and_length_penalty_change_the_search(folder, polyglot):
    rows = {}
    for penalty in (0, 1):
        line = polyglot(
            *TRANSLATE, "--length-penalty", penalty, "--n-best", 1, stdin="es regnet\n"
        ).output.split("\t")
        rows[penalty] = float(line[1]), float(line[2])
    assert (
        rows[0][0] == rows[0][1] and rows[1][0] > rows[1][1]
    )  # without a penalty the score is the log-probability


def test_every_checkpoint_can_be_chosen(folder, polyglot):
    say = partial(polyglot, *TRANSLATE, "--n-best", 1, stdin="es regnet\n")
    two, four, mean = (say("--checkpoint", which).output for which in ("2", "4", "average:2"))
    assert say("--checkpoint", "last").output == four and len({two, four, mean}) == 3
    assert say("--checkpoint", "average:1").output == four
    assert say("--checkpoint", "best").output == say().output


@pytest.mark.parametrize(
    ("source", "target", "sentence"),
    [
        ("de", "xx", "target language: no decoder named 'xx'. Known: de, en, fr"),
        (
            "dee",
            "fr",
            "source language: no encoder named 'dee'. Did you mean 'de'? Known: de, en, fr",
        ),
    ],
)
def test_a_language_that_the_run_does_not_know(source, target, sentence, folder, polyglot):
    assert sentence in polyglot.refuses(
        "translate", "runs/mine", "--from", source, "--to", target, stdin="es regnet\n"
    )


@pytest.mark.parametrize("direction", [("de", "fr"), ("de", "en")])
def test_a_vocabulary_that_is_gone_is_named(direction, folder, polyglot):
    """Also where the direction would not need it: the run is no longer whole."""
    Path("runs/mine/vocabulary/fr.model").unlink()
    said = polyglot.refuses(
        "translate", "runs/mine", "--from", direction[0], "--to", direction[1], stdin="es regnet\n"
    )
    assert said.startswith(
        "error: runs/mine/vocabulary/fr.model: no such file, but runs/mine/checkpoints/step-"
    )
    assert (
        "was trained with it; put it back from a copy of the run" in said
        and "another configuration" not in said
    )


def of_each_verb() -> list[tuple[str, ...]]:
    """Every verb that computes with a run."""
    return [
        TRANSLATE,
        ("evaluate", "runs/mine", "--protocol", "quick"),
        ("embed", "runs/mine", "train.de", "--language", "de", "--output", "vectors.npy"),
        ("similar", "runs/mine", "train.de", "train.en", "--from", "de", "--to", "en"),
        ("analyse", "runs/mine"),
    ]


@pytest.mark.parametrize("arguments", of_each_verb(), ids=lambda arguments: arguments[0])
def test_a_device_can_be_named(arguments, folder, polyglot, monkeypatch):
    asked, load = [], Translator.load.__func__
    monkeypatch.setattr(
        Translator,
        "load",
        classmethod(
            lambda cls, *given, device, **more: (
                asked.append(device) or load(cls, *given, device=device, **more)
            )
        ),
    )
    said = polyglot.refuses(*arguments, "--device", "cuda:77", stdin="es regnet\n")
    assert (
        "device: 'cuda:77' is not available on this machine; available: " in said
        and "'cpu'" in said
        and asked == ["cuda:77"]
    )
    assert not Path("vectors.npy").exists()
    if arguments[0] != "analyse":  # which has too little text here
        assert polyglot(*arguments, "--device", "cpu", stdin="es regnet\n").status == 0


def test_a_direction_that_lacks_a_decoder(folder, polyglot):
    polyglot(
        "train",
        "mine.yaml",
        "run=other",
        "training.steps=1",
        "schedule={pairs: [de-en, fr-en]}",
        "validation.bleu_pairs=[]",
    )
    assert "target language: no decoder named 'fr'. Known: en" in polyglot.refuses(
        "translate", "other", "--from", "de", "--to", "fr"
    )


def test_input_that_cannot_be_read(folder, polyglot):
    assert "nowhere: no such file" in polyglot.refuses(*TRANSLATE, "nowhere")
    assert "standard input, line 2: not UTF-8" in polyglot.refuses(
        *TRANSLATE, stdin=b"es regnet\n\xff\n"
    )
    assert "runs/nobody: no run directory" in polyglot.refuses(
        "translate", "runs/nobody", "--from", "de", "--to", "fr"
    )


def test_a_run_that_was_moved_works(folder, polyglot):
    before = polyglot(*TRANSLATE, stdin="es regnet\n")
    shutil.move("runs/mine", "moved")
    shutil.rmtree("runs")
    assert polyglot("translate", "moved", *TRANSLATE[2:], stdin="es regnet\n") == before


# evaluate ----------------------------------------------------------------------------------------------------------------


def test_evaluate_prints_tables_and_writes_files(folder, polyglot):
    result = polyglot("evaluate", "runs/mine")
    assert result.status == 0
    for part in (
        "BLEU · mine, best checkpoint",
        "chrF2 · mine",
        "supervised",
        "zero-shot†",
        "(copy)",
        "BLEU|nrefs:1|case:mixed",
    ):
        assert part in result.output
    there = {path.name for path in Path("runs/mine/evaluation/default").iterdir()}
    assert there == {
        "matrix.json",
        "matrix.csv",
        "matrix.md",
        "bleu.png",
        "chrf.png",
        "hypotheses",
        "text",
        "cells",
    }
    assert len(list(Path("runs/mine/evaluation/default/hypotheses").iterdir())) == 9


def test_evaluate_with_a_protocol_of_ones_own(folder, polyglot):
    Path("brief.yaml").write_text("pairs: [de-fr]\nmetrics: [chrf]\nsentences: 2\n")
    assert (
        polyglot("evaluate", "runs/mine", "--protocol", "brief.yaml", "--checkpoint", "last").status
        == 0
    )
    matrix = json.loads(Path("runs/mine/evaluation/brief/matrix.json").read_text())
    assert [cell["pair"] for cell in matrix["cells"]] == ["de-fr"] and matrix["checkpoint"][
        "checkpoint"
    ] == "last"


@pytest.mark.parametrize(
    ("protocol", "sentence"),
    [
        ("quik", "no evaluation protocol named 'quik'. Did you mean 'quick'?"),
        ("wrong.yaml", "metrics: no metric named 'blue'. Did you mean 'bleu'?"),
        ("far.yaml", "target language: no decoder named 'xx'"),
    ],
)
def test_a_protocol_that_cannot_be_meant(protocol, sentence, folder, polyglot):
    Path("wrong.yaml").write_text("metrics: [blue]\n")
    Path("far.yaml").write_text("pairs: [de-xx]\n")
    assert sentence in polyglot.refuses("evaluate", "runs/mine", "--protocol", protocol)


def test_a_matrix_that_cannot_be_written(folder, polyglot):
    Path("runs/mine/evaluation").write_text("in the way")
    assert "runs/mine/evaluation/default: the matrix cannot be written" in polyglot.refuses(
        "evaluate", "runs/mine"
    )


def test_control_c_keeps_what_was_translated(folder, polyglot, monkeypatch):
    generate = Translator.generate

    def interrupted(self, readings, target, config):
        if target == "fr":
            raise KeyboardInterrupt
        return generate(self, readings, target, config)

    monkeypatch.setattr(Translator, "generate", interrupted)
    ended = polyglot("evaluate", "runs/mine")
    assert ended.status == 130 and ended.errors.splitlines()[-1] == "interrupted"
    there = {
        path.stem for path in Path("runs/mine/evaluation/default/.unfinished/hypotheses").iterdir()
    }
    assert there == {
        f"{source}-{target}" for source in ("en", "de", "fr") for target in ("en", "de")
    }


def test_evaluate_with_a_pivot_several_runs_and_nothing_twice(folder, polyglot, monkeypatch):
    shutil.copytree("runs/mine", "runs/twin")
    result = polyglot("evaluate", "runs/mine", "runs/twin", "--pivot", "en")
    assert (
        result.status == 0
        and "BLEU: direct and pivot translation, through en" in result.output
        and "BLEU of 2 runs" in result.output
    )
    assert "de-en-fr" in result.output and "Output errors" in result.output
    monkeypatch.setattr(
        Translator, "generate", lambda *given, **other: pytest.fail("translated again")
    )
    assert polyglot("evaluate", "runs/mine", "runs/twin", "--pivot", "en").output == result.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--pivot", "xx"), "pivot: target language: no decoder named 'xx'"),
        (("--protocol", "uneven.yaml"), "has 5 lines, but"),
        (("--protocol", "comet.yaml"), "comet: none.ckpt: no such file"),
    ],
)
def test_what_an_evaluation_cannot_do_is_a_sentence(arguments, sentence, folder, polyglot):
    Path("uneven.de").write_text("es regnet\n")
    Path("uneven.en").write_text("".join(f"{line}\n" for line in TEXT["en"]))
    Path("uneven.yaml").write_text(
        f'test: [{{type: text, path: "{folder}/uneven.{{language}}"}}]\npairs: [en-de]\n'
    )
    Path("comet.yaml").write_text("metrics: [comet]\ncomet: none.ckpt\n")
    assert sentence in polyglot.refuses("evaluate", "runs/mine", *arguments)


# compare, experiment, report ---------------------------------------------------------------------------------------------


def test_compare_reads_what_is_there(folder, polyglot):
    shutil.copytree("runs/mine", "runs/twin")
    assert "has the run been evaluated?" in polyglot.refuses("compare", "runs/mine", "runs/twin")
    assert polyglot("evaluate", "runs/mine", "runs/twin").status == 0
    result = polyglot(
        "compare", "runs/mine", "runs/twin", "--measure", "chrf", "--test", "bootstrap"
    )
    assert (
        result.status == 0
        and "chrF2 of 2 runs" in result.output
        and "paired bootstrap, chrF2|nrefs:1|bs:1000" in " ".join(result.output.split())
    )
    assert "no measure named 'ter'" in polyglot.refuses(
        "compare", "runs/mine", "runs/twin", "--measure", "ter"
    )
    assert "no test named 'boot'" in polyglot.refuses("compare", "runs/mine", "--test", "boot")
    assert "runs/../runs/mine: named twice" in polyglot.refuses(
        "compare", "runs/mine", "runs/../runs/mine"
    )


def test_compare_takes_the_protocol_that_evaluate_took(folder, polyglot):
    Path("protocols").mkdir()
    Path("protocols/news.v1.yaml").write_text("metrics: [ter]\npairs: [en-de]\nresamples: 0\n")
    assert polyglot("evaluate", "runs/mine", "--protocol", "protocols/news.v1.yaml").status == 0
    for protocol in ("protocols/news.v1.yaml", str(folder / "protocols/news.v1.yaml"), "news.v1"):
        assert "TER of 1 run" in polyglot("compare", "runs/mine", "--protocol", protocol).output
    shutil.copy("protocols/news.v1.yaml", "protocols/other.yml")
    assert (
        polyglot("evaluate", "runs/mine", "--protocol", str(folder / "protocols/other.yml")).status
        == 0
    )
    assert Path("runs/mine/evaluation/other/matrix.json").is_file()


def test_an_experiment_trains_in_processes_of_their_own_and_goes_on(folder, polyglot, monkeypatch):
    systems = "{taken: {run: runs/mine}, made: {config: mine.yaml, set: [training.steps=2]}}"
    text = f"title: Mine\nprotocol: {{pairs: [de-fr], resamples: 20}}\nsystems: {systems}\n"
    Path("both.yaml").write_text(text)
    planned = polyglot("experiment", "both.yaml", "--dry-run")
    assert (
        planned.status == 0
        and "taken-mine: as it is" in planned.output
        and "polyglot train mine.yaml training.steps=2 seed=1" in planned.output
    )
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    result = polyglot("experiment", "both.yaml")
    assert result.status == 0 and "BLEU of 2 runs" in result.output, result.errors
    assert {path.name for path in Path("experiments/both").iterdir()} == {
        "runs",
        "evaluation",
        "result.md",
        "result.json",
        "result.png",
    }
    monkeypatch.setattr(subprocess, "Popen", lambda *given, **other: pytest.fail("trained again"))
    assert polyglot("experiment", "both.yaml").status == 0
    assert "made-seed1: complete" in polyglot("experiment", "both.yaml", "--dry-run").output


def test_an_experiment_whose_training_fails_says_which(folder, polyglot, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    Path("one.yaml").write_text(
        "title: One\nsystems: {made: {config: mine.yaml, set: [optimizer.learning_rate=1e30]}}\n"
    )
    assert "polyglot train mine.yaml" in polyglot.refuses("experiment", "one.yaml")
    assert "no experiment named 'phrasebok'. Did you mean 'phrasebook'?" in polyglot.refuses(
        "experiment", "phrasebok"
    )


def test_an_experiment_trains_several_runs_at_once_in_the_size_that_is_named(
    folder, polyglot, monkeypatch
):
    """What one run says stands in its log; where one fails, what runs beside it is completed."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr("polyglot.experiments.launcher.PROGRESS_INTERVAL", 0.01)
    sizes = "{large: {set: [training.steps=1000]}, small: {about: two updates., set: [training.steps=2]}}"
    systems = "{one: {}, wrong: {set: [optimizer.learning_rate=1e30]}}"
    Path("two.yaml").write_text(
        f"title: Two\nconfig: mine.yaml\nprotocol: {{pairs: [de-fr], resamples: 20}}\nsizes: {sizes}\nsystems: {systems}\n"
    )
    assert "no size named 'smal'. Did you mean 'small'? Known: large, small" in polyglot.refuses(
        "experiment", "two.yaml", "--size", "smal"
    )
    assert "training.steps=1000" in polyglot("experiment", "two.yaml", "--dry-run").output
    planned = polyglot("experiment", "two.yaml", "--size", "small", "--dry-run").output
    assert (
        "run=experiments/two/small/runs/one-seed1" in planned
        and "│ all    │ 2    │ 0        │ 4 " in planned
    )
    said = polyglot.refuses("experiment", "two.yaml", "--size", "small", "--parallel", "2")
    assert "its error message is in experiments/two/small/logs/wrong-seed1.log" in " ".join(
        said.split()
    )
    assert "error: " in Path("experiments/two/small/logs/wrong-seed1.log").read_text(
        encoding="utf-8"
    )
    assert "2 of 2 steps" in Path("experiments/two/small/logs/one-seed1.log").read_text(
        encoding="utf-8"
    )
    assert (
        "one-seed1: complete"
        in polyglot("experiment", "two.yaml", "--size", "small", "--dry-run").output
    )


def test_an_end_that_is_sent_to_an_experiment_comes_to_every_run(tmp_path):
    trainings = TrainingLauncher(tmp_path, 2, Progress(disable=True))
    processes = [
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) for _ in range(2)
    ]
    trainings.processes.update(processes)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt) as end, trainings.interruptible():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
    assert exit_code(end.value) == 143
    assert [process.wait(timeout=10) for process in processes] == [-signal.SIGTERM] * 2
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(("patience", "times"), [(0.1, 1), (60, 2)], ids=["once", "twice"])
def test_what_sounds_like_control_c_but_came_to_the_experiment_alone_reaches_every_run(
    patience, times, tmp_path, monkeypatch
):
    """As a polite end, and later, as a terminal would have told the run as well; at once the second time."""
    monkeypatch.setattr("polyglot.experiments.launcher.INTERRUPT_PATIENCE", patience)
    trainings = TrainingLauncher(tmp_path, 2, Progress(disable=True))
    deaf = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(60)",
        ]
    )
    trainings.processes.add(deaf)
    with signal_handler([signal.SIGINT], signal.default_int_handler):
        with trainings.interruptible():
            for _ in range(times):
                with pytest.raises(KeyboardInterrupt):
                    os.kill(os.getpid(), signal.SIGINT)
                    time.sleep(5)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert deaf.wait(timeout=10) == -signal.SIGTERM


def test_report_writes_one_page(folder, polyglot):
    assert polyglot("report", "runs/mine", "--sentence", "de=es regnet").status == 0
    assert "es regnet" in Path("runs/mine/report.html").read_text(encoding="utf-8")
    assert "--sentence: found 'es regnet'" in polyglot.refuses(
        "report", "runs/mine", "--sentence", "es regnet"
    )
    assert "no encoder named 'xx'" in polyglot.refuses("report", "runs/mine", "--sentence", "xx=a")


# fetch -------------------------------------------------------------------------------------------------------------------


def test_fetch_shows_the_licence_and_verifies(folder, polyglot, monkeypatch):
    (folder / "server").mkdir()
    (folder / "server" / "train.xx.gz").write_bytes(b"x" * 1000)
    facts = {"size": 1000, "sha256": hashlib.sha256(b"x" * 1000).hexdigest()}

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Quiet, directory=str(folder / "server"))
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        given = {
            "title": "Some text",
            "licence": "None at all",
            "citation": "Nobody",
            "base_url": f"http://127.0.0.1:{server.server_port}",
        }
        known = download.DataSet(
            name="some", **given, files=(download.RemoteFile("train.xx.gz", **facts),)
        )
        monkeypatch.setattr(download, "data_sets", lambda: {"some": known})
        result = polyglot("fetch", "some", "there")
        assert result.status == 0 and Path("there/train.xx.gz").stat().st_size == 1000
        assert (
            "licence: None at all" in result.errors
            and "1 files in there, checksums verified" in result.errors
        )
        assert "no data set named 'som'. Did you mean 'some'?" in polyglot.refuses(
            "fetch", "som", "there"
        )
        (folder / "server" / "train.xx.gz").write_bytes(b"y" * 1000)
        result = polyglot("fetch", "some", "elsewhere")
        assert (
            result.status == 2
            and "expected" in result.errors
            and not Path("elsewhere/train.xx.gz").exists()
        )
        server.shutdown()


# As a process of its own -------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which is Linux's")
@pytest.mark.parametrize(
    "arguments", [("show", "phrasebook"), ("show",), ("--version",), TRANSLATE], ids=" ".join
)
def test_a_full_disk_behind_standard_output_is_a_sentence(arguments, folder):
    with open("/dev/full", "w") as full:
        process = start(*arguments, stdout=full)
        said = process.communicate(b"es regnet\n", timeout=60)[1].decode()
    assert (
        process.returncode == 2 and "Traceback" not in said and "Exception ignored" not in said
    ), said
    assert said.endswith("cannot be written: No space left on device; make room there\n")


def start(*arguments: str, **given) -> subprocess.Popen:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        [sys.executable, "-m", "polyglot", *arguments], env=ENVIRONMENT, **{**pipes, **given}
    )


def test_what_is_typed_is_answered_and_whoever_leaves_early_is_no_error(folder):
    with start(*TRANSLATE) as process:
        for _ in range(2):  # the answer comes before the input ends
            process.stdin.write(b"es regnet\n")
            process.stdin.flush()
            assert process.stdout.readline().strip()
        process.stdout.close()  # as `head` does
        process.stdin.write(b"es regnet\n" * 5)
        process.stdin.close()
        said = process.stderr.read()
        assert (process.wait(timeout=60), said) == (0, b"")


@pytest.mark.parametrize(
    "arguments",
    [
        ("show",),
        ("show", "phrasebook"),
        ("evaluate", "runs/mine"),
        ("--quiet", *TRANSLATE, "some.txt"),
    ],
    ids=" ".join,
)
def test_whoever_never_reads_is_no_error_either(arguments, folder):
    """Also where all is printed at the end, and with tables."""
    Path("some.txt").write_text("es regnet\n")
    with start(*arguments) as process:
        process.stdout.close()
        process.stdin.close()
        said = process.stderr.read()
        assert process.wait(timeout=60) == 0, said
    assert b"Traceback" not in said and b"BrokenPipe" not in said and b"Broken pipe" not in said


def test_a_mistake_ends_with_status_2_and_no_traceback(folder):
    with start("train", "mine.yaml", "model.encoder=lsmt") as process:
        output, said = process.communicate(timeout=60)
    assert (process.returncode, output) == (2, b"")
    known = "cnn, embedding, gru, lstm, onmt_cnn, onmt_rnn, onmt_transformer, transformer"
    sentence = f"model.encoder.type: no encoder named 'lsmt'. Did you mean 'lstm'? Known: {known}"
    assert said.decode() == f"error: mine.yaml: 1 problem\n  {sentence}\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["control-c", "kill", "terminal"],
)
def test_a_stop_leaves_a_checkpoint_from_which_training_goes_on(sent, status, folder, polyglot):
    """With the exit status of shells, so that nothing that should follow a trained model does."""
    log = Path("other/log.jsonl")
    endless = [
        f"{key}=1000000"
        for key in ("training.steps", "validation.every", "training.checkpoint.every")
    ]
    with start("train", "mine.yaml", "run=other", *endless) as process:
        deadline = time.monotonic() + 60
        while not log.exists() and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(sent)
        said = process.communicate(timeout=60)[1].decode()
    assert process.returncode == status and "Traceback" not in said
    assert "interrupted; continue with: polyglot train other --resume" in said
    step = checkpoints.steps(Path("other/checkpoints"))[-1]
    assert polyglot("train", "other", "--resume", f"training.steps={step + 2}").status == 0
    assert checkpoints.steps(Path("other/checkpoints"))[-1] == step + 2


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB"),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."
        ),
    ],
    ids=["python", "gpu", "machine"],
)
def test_too_little_memory_is_a_sentence(error, folder, polyglot, monkeypatch):
    def update(self):
        raise error

    monkeypatch.setattr(Trainer, "update", update)
    assert "error: not enough memory: lower batching.size" in polyglot.refuses(
        "train", "mine.yaml", "run=other"
    )


def test_a_bug_keeps_its_traceback(folder, polyglot, monkeypatch):
    def update(self):
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(Trainer, "update", update)
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        polyglot("train", "mine.yaml", "run=other")


def test_a_stop_in_the_last_step_is_no_stop(folder, polyglot, monkeypatch):
    update = Trainer.update

    def stopped(self):
        os.kill(os.getpid(), signal.SIGINT)
        return update(self)

    monkeypatch.setattr(Trainer, "update", stopped)
    first = polyglot("train", "mine.yaml", "run=other", "training.steps=2")
    assert (first.status, checkpoints.steps(Path("other/checkpoints"))) == (130, [1])
    last = polyglot("train", "other", "--resume")
    assert (last.status, checkpoints.steps(Path("other/checkpoints"))) == (
        0,
        [1, 2],
    ) and "next: polyglot evaluate" in last.errors


def test_colours_and_boxes_are_only_for_terminals(folder, polyglot):
    result = polyglot("evaluate", "runs/mine", "--protocol", "quick")
    assert "\x1b" not in result.output and "\x1b" not in result.errors


def test_every_verb_has_a_sentence_of_help():
    for name, command in typer.main.get_command(cli.app.app).commands.items():
        assert command.help.endswith("."), name
        assert all(getattr(option, "help", None) for option in command.params), name


def test_the_configuration_of_the_tests_is_one():
    assert parse_value(CONFIG)["languages"] == list(TEXT)


# Runs made of runs ------------------------------------------------------------------------------------------------------------


def test_a_language_is_added_to_a_run_and_its_old_directions_stay(folder, polyglot):
    write_text(
        folder,
        {
            "it": [
                "un cane dorme",
                "due gatti vedono un uccello",
                "il bambino legge un libro",
                "piove",
                "un uccello vede due gatti e un cane",
            ]
        },
    )
    before = polyglot("translate", "runs/mine", "train.en", "--from", "en", "--to", "fr").output
    shown = polyglot(
        "add-language", "runs/mine", "it", "data.folder=.", "--with", "en", "--dry-run"
    ).output
    assert "encoder.it" in shown and not (folder / "runs" / "mine-it").exists()
    result = polyglot(
        "add-language", "runs/mine", "it", "data.folder=.", "--with", "en", "training.steps=2"
    )
    assert result.status == 0 and "runs/mine-it: 2 of 2 steps" in result.errors
    assert (
        polyglot("translate", "runs/mine-it", "train.en", "--from", "en", "--to", "fr").output
        == before
    )
    assert (
        polyglot(
            "translate", "runs/mine-it", "train.it", "--from", "it", "--to", "fr"
        ).output.count("\n")
        == 5
    )
    assert "runs/mine: has de already" in polyglot.refuses("add-language", "runs/mine", "de")


def test_the_mean_of_checkpoints_is_written(folder, polyglot):
    result = polyglot("average", "runs/mine", "--last", "2")
    assert "written to runs/mine-average: the mean of steps 2, 4" in result.errors
    given = ("train.en", "--from", "en", "--to", "fr")
    assert (
        polyglot("translate", "runs/mine-average", *given).output
        == polyglot("translate", "runs/mine", *given, "--checkpoint", "average:2").output
    )
    assert "runs/mine-average: exists" in polyglot.refuses("average", "runs/mine")


def test_components_are_taken_out(folder, polyglot):
    result = polyglot("export", "runs/mine", "--component", "*.de", "--to", "german")
    assert "written to german: decoder.de, encoder.de" in result.errors
    assert [path.name for path in (folder / "german" / "vocabulary").iterdir()] == ["de.model"]
    assert "no component named 'encoder.dd'" in polyglot.refuses(
        "export", "runs/mine", "--component", "encoder.dd", "--to", "other"
    )


def test_a_matched_configuration_can_be_trained(folder, polyglot):
    found = polyglot("match", "mine.yaml", "--parameters-of", "12_000")
    assert "parameters for 12,000: " in found.errors
    shown = polyglot(
        "train", "mine.yaml", *found.output.split(), "run=runs/matched", "--dry-run"
    ).output
    total = int(
        next(line for line in shown.splitlines() if "│ all " in line).split("│")[2].replace(",", "")
    )
    assert total == pytest.approx(12_000, rel=0.01)
    assert (
        polyglot("match", "mine.yaml", "--parameters-of", "runs/mine").output == "\n"
    )  # as large already
    assert "no width has 7 parameters" in polyglot.refuses(
        "match", "mine.yaml", "--parameters-of", "7"
    )


def test_a_file_that_is_no_model_is_not_taken_over(folder, polyglot):
    assert "mine.yaml: no checkpoint of OpenNMT-py 3: " in polyglot.refuses(
        "convert", "mine.yaml", "new", "--from", "en", "--to", "de"
    )
    assert not (folder / "new").exists()


WHERE_IT_COMES = {
    "loading": "sys.modules['polyglot.cli.training'] = Signal('a module that imports will ask')",
    "reading the command line": "import typer.main; typer.main.get_command = lambda app: signal.raise_signal(signal.SIGINT)",
    "a verb": "import polyglot.core.presets; polyglot.core.presets.categories_of = lambda name: signal.raise_signal(signal.SIGINT)",
    "an import in a verb": "import builtins, time; builtins.print = lambda *_, **__: time.sleep(9); sys.meta_path.insert(0, Finder())",
}


@pytest.mark.parametrize("where", WHERE_IT_COMES)
def test_control_c_leaves_no_traceback_wherever_it_comes(where, tmp_path):
    """In the last one a module, as NumPy does, takes what comes in the middle of it for its own."""
    code = f"""
import signal, sys, types
class Signal(types.ModuleType):
    def __getattr__(self, name):
        signal.raise_signal(signal.SIGINT)
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "polyglot.config.schema":
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                raise ImportError("cannot load module more than once per process") from None
{WHERE_IT_COMES[where]}
from polyglot.__main__ import main
main()
"""
    ended = subprocess.run(
        [sys.executable, "-c", code, "show", "phrasebook"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # the tests may run where nobody means Ctrl-C to be heard
    )
    assert (ended.returncode, ended.stderr) == (130, "interrupted\n" if "verb" in where else "")
    assert ended.stdout == ""
