"""`polyglot train` with a new run: training, dry runs, streamed text, several processes."""

from __future__ import annotations

import json
import math
import shutil
import signal
from pathlib import Path

import pytest

from polyglot.data import streamed_dataset
from polyglot.data.corpora import collection, shards
from polyglot.distributed import launch as launch_module
from polyglot.model.losses import TranslationLoss
from polyglot.runs import checkpoint as checkpoints
from polyglot.training.trainer import Trainer
from tests.builders.command_line import TEXT
from tests.cli.small_run import LAST_CHECKPOINT, file_hashes, one_line


def component_hashes(checkpoint: Path) -> dict[str, str]:
    hashes = {}
    for name, digest in file_hashes(checkpoint).items():
        if name.endswith(".safetensors"):
            hashes[name] = digest
    return hashes


def test_resumed_training_gives_the_same_parameters(folder, polyglot):
    first = polyglot("train", "mine.yaml", "run=other", "training.steps=2")
    assert (first.status, first.output) == (0, "")
    assert "2 of 2 steps" in first.errors
    assert "next: polyglot evaluate other" in first.errors

    second = polyglot("train", "other", "--resume", "training.steps=4")
    assert second.status == 0
    assert "4 of 4 steps" in second.errors
    resumed = component_hashes(Path("other/checkpoints/step-00000004"))
    uninterrupted = component_hashes(LAST_CHECKPOINT)
    assert resumed == uninterrupted
    assert len(resumed) == 8
    records = [json.loads(line) for line in Path("other/log.jsonl").read_text().splitlines()]
    assert [record["step"] for record in records if record["kind"] == "training"] == [2, 4]


def test_quiet_training_prints_no_log(folder, polyglot):
    result = polyglot("--quiet", "train", "mine.yaml", "run=other", "training.steps=1")
    assert "step 1" not in result.errors


def test_sigterm_before_the_first_step_leaves_no_run(folder, polyglot, monkeypatch):
    monkeypatch.setattr(
        "polyglot.training.build.build_trainer",
        lambda *arguments: signal.raise_signal(signal.SIGTERM),
    )
    result = polyglot("train", "mine.yaml", "run=other")
    assert (result.status, result.errors) == (143, "interrupted\n")
    assert not Path("other").exists()


def test_interrupt_in_the_last_step_still_completes_the_run(folder, polyglot, monkeypatch):
    update = Trainer.update

    def interrupted_update(trainer):
        signal.raise_signal(signal.SIGINT)
        return update(trainer)

    monkeypatch.setattr(Trainer, "update", interrupted_update)
    first = polyglot("train", "mine.yaml", "run=other", "training.steps=2")
    assert first.status == 130
    assert checkpoints.steps(Path("other/checkpoints")) == [1]

    last = polyglot("train", "other", "--resume")
    assert last.status == 0
    assert checkpoints.steps(Path("other/checkpoints")) == [1, 2]
    assert "next: polyglot evaluate" in last.errors


# Dry runs --------------------------------------------------------------------------------------


def test_dry_run_shows_all_tables_and_writes_nothing(folder, polyglot):
    before = file_hashes(folder)
    result = polyglot("train", "mine.yaml", "run=elsewhere", "--dry-run")
    assert result.status == 0
    assert file_hashes(folder) == before
    assert not Path("elsewhere").exists()
    output = one_line(result.output)
    for title in ("Tasks", "Vocabularies", "Components", "Memory of training, estimated"):
        assert title in output
    rows = (
        "en-de",
        "fr-fr",
        "encoder.de",
        "decoder.fr",
        "bridge",
        "parameters",
        "optimizer",
        "activations",
    )
    for name in rows:
        assert f"\n {name} " in result.output


def test_dry_run_finds_mistakes_in_the_text(folder, polyglot):
    Path("train.fr").write_text("un chien\n")
    message = polyglot.refuses("train", "mine.yaml", "run=elsewhere", "--dry-run")
    assert "train.en has 5 lines, but train.fr has 1" in message


def test_dry_run_of_a_resumed_run_does_not_train(folder, polyglot):
    before = file_hashes(folder)
    result = polyglot("train", "runs/mine", "--resume", "--dry-run", "training.steps=6")
    assert result.status == 0
    assert file_hashes(folder) == before


RUN_EXISTS = (
    "runs/mine: exists; continue it with `polyglot train runs/mine --resume`, "
    "choose another with run=…, or remove it"
)


def test_existing_run_directory_is_not_changed(folder, polyglot):
    before = file_hashes(folder)
    assert RUN_EXISTS in polyglot.refuses("train", "mine.yaml")
    assert file_hashes(folder) == before


def test_dry_run_with_an_existing_run_directory_checks_everything(folder, polyglot):
    before = file_hashes(folder)
    elsewhere = polyglot("train", "mine.yaml", "run=elsewhere", "--dry-run")
    result = polyglot("train", "mine.yaml", "--dry-run")
    assert (result.status, result.output) == (0, elsewhere.output)
    assert RUN_EXISTS in result.errors
    assert "exists" not in elsewhere.errors

    Path("train.fr").write_text("un chien\n")
    message = polyglot.refuses("train", "mine.yaml", "--dry-run")
    assert "train.en has 5 lines, but train.fr has 1" in message
    shutil.copy(folder / "train.en", "train.fr")
    assert file_hashes(folder).keys() == before.keys()


def test_file_in_place_of_the_run_directory(dry_run, folder, polyglot):
    before = file_hashes(folder)
    message = polyglot.refuses("train", "mine.yaml", "run=train.de", *dry_run)
    assert message == (
        "error: train.de: is a file, and a run is a folder; choose another name with run=…\n"
    )
    assert file_hashes(folder) == before


def test_tasks_that_no_phase_trains_are_reported(dry_run, folder, polyglot):
    phases = "schedule.phases=[{until_step: 2, pairs: ['*-en'], copies: true}]"
    arguments = ("train", "mine.yaml", "run=other", phases, *dry_run)
    errors = polyglot(*arguments, "training.steps=2").errors
    assert (
        "schedule.phases: en-de, en-fr will not train at all, because no phase has them "
        "before training.steps, 2; train longer, or change"
    ) in errors
    if dry_run:
        assert "will not train" not in polyglot(*arguments, "training.steps=3").errors


def test_ignored_language_of_a_corpus_is_reported(dry_run, folder, polyglot):
    rows = ["\t".join(row) for row in zip(*TEXT.values())]
    Path("rows.tsv").write_text("\n".join(rows), encoding="utf-8")
    corpus = "data.train=[{type: tsv, path: rows.tsv, columns: {en: 1, de: 2, fr: 3, sw: 1}}]"
    result = polyglot("train", "mine.yaml", "run=other", corpus, "training.steps=1", *dry_run)
    assert result.status == 0
    assert "rows.tsv: sw ignored; `languages` does not name it" in result.errors


# Streamed text ---------------------------------------------------------------------------------

STREAMED = (
    "run=streamed",
    "data.train.0.streaming=true",
    "batching.buffer=3",
    "validation.every=1000",
)


def test_streamed_text_is_trained_resumed_and_reported(folder, polyglot):
    result = polyglot("train", "mine.yaml", *STREAMED, "--dry-run", "data.filter.max_length=8")
    assert result.status == 0
    assert "about 5" in result.output
    assert "of the first 5" in one_line(result.output)

    assert polyglot("train", "mine.yaml", *STREAMED).status == 0
    errors = polyglot("train", "streamed", "--resume", "training.steps=6").errors
    assert (
        "task en-de: streamed from 1 file, about 5 sentences; of the first 5, none left out"
    ) in errors
    assert polyglot("shortlist", "streamed", "en-de").status == 0
    assert polyglot("report", "streamed").status == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"one\ntwo\nthree\nfour\nfive\nsix\n",
            "ends after line 5, but train.fr has 6 lines; line n of both must be one sentence pair",
        ),
        (b"one\ntwo\n", "train.fr ends after line 2, but "),
        (
            b"one\ntwo\nthree\nf\xfcnf\nfive\n",
            "train.fr, line 4: not UTF-8 (invalid start byte 0xfc); write the file in UTF-8; ",
        ),
    ],
    ids=["longer", "shorter", "not UTF-8"],
)
def test_mistake_in_a_later_part_of_streamed_text(content, message, folder, polyglot, monkeypatch):
    monkeypatch.setattr(collection, "SAMPLE", 2)
    monkeypatch.setattr(shards, "SMALL_BLOCK", 4)
    monkeypatch.setattr(streamed_dataset, "SAMPLE", 2)
    (folder / "train.fr").write_bytes(content)
    overrides = (
        *STREAMED,
        "schedule={pairs: [en-fr], copies: false}",
        "languages=[en, fr]",
        "data.valid=[]",
        "validation={every: 1000}",
        "batching.size=1",
        "training.steps=20",
    )
    errors = one_line(polyglot.refuses("train", "mine.yaml", *overrides))
    assert message in errors
    assert "; there is no checkpoint yet" in errors or "; the last good checkpoint is " in errors


@pytest.mark.parametrize(
    ("override", "message"),
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
def test_text_that_cannot_be_streamed(override, message, folder, polyglot):
    assert message in polyglot.refuses("train", "mine.yaml", "run=streamed", override)
    assert not Path("streamed").exists()


def test_schedule_by_size_needs_a_stream_with_a_known_size(folder, polyglot, monkeypatch):
    monkeypatch.setattr(shards.StreamedText, "estimate_rows", lambda text: None)
    arguments = ("train", "mine.yaml", *STREAMED, "validation.bleu_pairs=[]")
    schedule = "schedule={type: temperature, pairs: [en-de]}"
    assert (
        "schedule.type: 'temperature' needs the number of sentences of each task, "
        "which is unknown for the streamed text of en-de; use 'uniform'"
    ) in one_line(polyglot.refuses(*arguments, schedule))
    assert polyglot(*arguments, "schedule={type: uniform, pairs: [en-de]}").status == 0


# Several processes -----------------------------------------------------------------------------


def test_number_of_processes_is_that_of_the_launcher(folder, polyglot, monkeypatch):
    monkeypatch.setattr(launch_module, "launch", lambda count, command, restarts: 40 + count)
    monkeypatch.setenv("RANK", "0")
    arguments = ("train", "mine.yaml", "run=other", "--processes")
    assert polyglot(*arguments, "2").status == 42

    monkeypatch.setenv("WORLD_SIZE", "1")
    assert (
        "--processes 2, but a launcher has started 1 (WORLD_SIZE in the environment); "
        "leave the option out"
    ) in polyglot.refuses(*arguments, "2")
    assert polyglot(*arguments, "1", "training.steps=1").status == 0

    environment = {
        "WORLD_SIZE": "4",
        "RANK": "0",
        "LOCAL_RANK": "0",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "1",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    message = polyglot.refuses(*arguments, "1")
    assert "--processes 1, but a launcher has started 4" in message


# Errors during training ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB"),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:127] err == 0. "
            "DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."
        ),
    ],
    ids=["python", "gpu", "cpu"],
)
def test_out_of_memory_is_one_message(error, folder, polyglot, monkeypatch):
    def fail(trainer):
        raise error

    monkeypatch.setattr(Trainer, "update", fail)
    message = polyglot.refuses("train", "mine.yaml", "run=other")
    assert "error: not enough memory: lower batching.size" in message


def test_bug_keeps_its_traceback(folder, polyglot, monkeypatch):
    def fail(trainer):
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(Trainer, "update", fail)
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        polyglot("train", "mine.yaml", "run=other")


def test_loss_that_is_not_finite(folder, polyglot, monkeypatch):
    polyglot(
        "train",
        "mine.yaml",
        "run=other",
        "training.steps=2",
        "optimizer=sgd",
        "training.clip_norm=null",
    )
    before = file_hashes(folder / "other/checkpoints")
    loss = TranslationLoss.__call__
    monkeypatch.setattr(TranslationLoss, "__call__", lambda *arguments: loss(*arguments) * math.nan)
    errors = polyglot.refuses("train", "other", "--resume", "training.steps=40")
    message = errors.splitlines()[-1]
    assert message.startswith("error: step ")
    for part in (
        ", task ",
        "the loss is not finite (translation nan",
        "batch of ",
        "train.",
        ", line ",
        "the last good checkpoint is step 2",
    ):
        assert part in message
    assert before.items() <= file_hashes(folder / "other/checkpoints").items()
    translate = ("translate", "other", "--from", "de", "--to", "fr")
    assert polyglot(*translate, stdin="es regnet\n").status == 0


def test_text_can_be_corrected_after_a_mistake(folder, polyglot):
    polyglot.refuses("train", "mine.yaml", "run=other", "vocabulary={type: bpe, size: 8000}")
    assert polyglot("train", "mine.yaml", "run=other").status == 0
