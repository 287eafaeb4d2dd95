"""Dry run: tasks, vocabularies, parameters and memory of a training, without training."""

from __future__ import annotations

from io import StringIO

import pytest
import torch
from rich.console import Console

from polyglot.config.loading import check_config, load_config
from polyglot.core.errors import ConfigError, DataError
from polyglot.evaluation import tokenizers
from polyglot.runs.run import Run
from polyglot.training import build, preflight
from polyglot.training.dry_run import plan_training
from polyglot.training.memory_estimate import describe_memory
from polyglot.training.validation import Validator
from tests.builders.runs import (
    LINES,
    WORDS,
    make_trainer,
    tiny_run,
    tiny_settings,
    write_config,
    write_corpus,
)


@pytest.mark.parametrize(
    "sections",
    [
        {},
        {
            "model": {
                "embedding": {"tie_sides": True, "tie_output": True, "size": 16},
                "bridge": "none",
            }
        },
        {
            "schedule": {"pairs": ["de-en"]},
            "model": {"languages": {"de": {"encoder": {"size": 8, "layers": 2}}}},
        },
        {
            "model": {"decoder": {"type": "gru", "attention": "mlp", "input_feeding": True}},
            "schedule": {"copies": True},
        },
    ],
)
def test_a_dry_run_counts_the_parameters_of_the_model_that_is_built(sections, tmp_path):
    write_corpus(tmp_path)
    plan = plan_training(check_config(tiny_settings(tmp_path, **sections), where="tiny"))
    trainer = make_trainer(tiny_run(tmp_path, **sections))

    counts = {}
    for component, parameters in trainer.parameters.items():
        counts[component] = sum(parameter.numel() for parameter in parameters.values())
    total = sum(parameter.numel() for parameter in trainer.model.parameters())
    assert plan.parameters == counts
    assert sum(counts.values()) == total
    assert plan.memory()["parameters"] == 4 * total

    assert plan.datasets.keys() == trainer.streams.keys()
    for name, stream in trainer.streams.items():
        assert len(plan.datasets[name]) == len(stream.dataset)
    for language, vocabulary in trainer.run.vocabularies.items():
        assert plan.vocabulary_sizes[language] == len(vocabulary)


def descriptions_of(plan):
    return describe_memory(plan.config, gradient_task_count=plan.placement.gradient_task_count)


def test_the_tables_show_tasks_vocabularies_components_and_memory(tmp_path):
    plan = plan_training(load_config(write_config(tmp_path, schedule={"copies": ["de"]})))
    output = StringIO()
    Console(file=output, width=100).print(*plan.tables())
    text = output.getvalue()

    for task in ("en-de", "de-en", "en-fr", "fr-en", "de-de"):
        assert task in text
        assert task in plan.datasets
    for component in ("encoder.en", "bridge", "decoder.fr"):
        assert f"{plan.parameters[component]:,}" in text
    assert str(LINES) in text
    assert f"{sum(plan.parameters.values()):,}" in text

    memory = plan.memory()
    descriptions = descriptions_of(plan)
    assert min(memory.values()) > 0
    assert memory.keys() == descriptions.keys()
    for description in descriptions.values():
        assert description in text
    memory_table = text.split("Memory of training")[1]
    total_row = memory_table.split("\n all ")[1].splitlines()[0]
    assert f"{sum(memory.values()) / 2**20:,.0f}" in total_row


@pytest.mark.parametrize(
    ("optimizer", "state_numbers", "words"),
    [
        ("adam", 2, "up to 2 numbers of adam"),
        ("sgd", 0, "nothing: sgd"),
        ({"type": "sgd", "momentum": 0.5}, 1, "1 number of sgd"),
        ("muon", 2, "up to 2 numbers of muon"),
    ],
)
def test_the_memory_of_an_optimizer(optimizer, state_numbers, words, tmp_path):
    plan = plan_training(load_config(write_config(tmp_path, optimizer=optimizer)))
    total = sum(plan.parameters.values())
    assert plan.memory()["optimizer"] == 4 * state_numbers * total
    assert descriptions_of(plan)["optimizer"].startswith(words)


def test_a_dry_run_creates_no_run_directory(tmp_path):
    config = write_config(tmp_path)
    before = sorted(tmp_path.iterdir())
    plan_training(load_config(config))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("override", "message"),
    [
        pytest.param(
            "training.precision=fp16",
            "training.precision: 'fp16' is not available on this machine's cpu; "
            r"use training.precision=no \(float32\) or another precision",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU has fp16"),
        ),
        (
            "training.trackers=[tensorboard]",
            "training.trackers: tensorboard not installed; for tensorboard, pip install",
        ),
    ],
)
def test_missing_hardware_or_packages_are_an_error(override, message, tmp_path, monkeypatch):
    config = write_config(tmp_path)
    monkeypatch.setattr(preflight, "get_available_trackers", lambda: [])
    with pytest.raises(ConfigError, match=message):
        plan_training(load_config(config, [override]))

    run = Run.create(load_config(config, [override, f"run={tmp_path / 'new'}"]))
    with pytest.raises(ConfigError, match=message):
        build.build_trainer(run, lambda model: None)


def test_missing_validation_text_is_an_error(tmp_path):
    config = write_config(tmp_path)
    for language in WORDS:
        (tmp_path / f"valid.{language}").unlink()
    with pytest.raises(DataError, match="valid.{language}: nothing for any of en, de, fr"):
        plan_training(load_config(config))


@pytest.mark.parametrize("part", ["valid", "test"])
def test_held_out_text_may_lack_languages_but_must_be_readable(part, tmp_path):
    data = {part: [{"type": "text", "path": "valid.{language}"}]}
    config = load_config(write_config(tmp_path, data=data))
    (tmp_path / "valid.fr").unlink()
    run = Run.create(config)
    trainer = make_trainer(run, Validator(run))
    assert plan_training(config).parameters.keys() == trainer.parameters.keys()

    (tmp_path / "valid.de").write_text("ein\n")
    with pytest.raises(DataError, match="valid.(en|de) has .* lines, but .*valid.(en|de) has"):
        plan_training(config)

    (tmp_path / "valid.de").unlink()
    if part == "valid":
        with pytest.raises(DataError, match="valid.de: no such file"):
            plan_training(config)


def test_bleu_that_chooses_the_best_checkpoint_needs_text(tmp_path):
    validation = {"best_by": "bleu", "bleu_pairs": ["en-fr"]}
    config = load_config(write_config(tmp_path, validation=validation))
    plan_training(config)
    (tmp_path / "valid.fr").unlink()
    with pytest.raises(DataError, match="valid.fr: no such file"):
        plan_training(config)

    run = Run.create(config)
    with pytest.raises(DataError, match="valid.fr: no such file"):
        make_trainer(run, Validator(run))


def process_rows(config, processes):
    """Rows of the table of processes: name, tasks, parameters."""
    tables = plan_training(config, processes).tables()
    [table] = [table for table in tables if table.title == "Processes"]
    return [tuple(cell.plain for cell in row) for row in table.rows]


def test_the_table_of_many_processes_shows_the_smallest_and_the_largest(tmp_path, monkeypatch):
    config = load_config(write_config(tmp_path, schedule={"copies": ["de"]}))
    assert [row[0] for row in process_rows(config, 3)] == ["0", "1", "2"]
    assert [row[0] for row in process_rows(config, 100)] == ["each of 100"]

    monkeypatch.setattr("polyglot.training.dry_run.MAX_LISTED_PROCESSES", 1)
    partitioned = load_config(tmp_path / "tiny.yaml", ["parallel.placement=partitioned"])
    rows = process_rows(partitioned, 2)
    assert [row[:2] for row in rows] == [("1, the smallest of 2", "2"), ("0, the largest", "3")]


@pytest.fixture
def without_mecab(monkeypatch):
    """sacreBLEU without its package for Japanese."""

    def fail(tokenize):
        if tokenize == "ja-mecab":
            raise RuntimeError("not installed")

    tokenizers.find_tokenizer.cache_clear()
    monkeypatch.setattr(tokenizers, "BLEU", fail)
    yield
    tokenizers.find_tokenizer.cache_clear()


@pytest.mark.parametrize(
    "sections",
    [
        {"validation": {"bleu_pairs": ["en-jpn_Jpan"]}},
        {"data": {"test": [{"type": "text", "path": "valid.{language}"}]}},
    ],
)
def test_missing_tokenizer_is_reported_before_training(sections, tmp_path, caplog, without_mecab):
    config = write_config(tmp_path, languages=["en", "jpn_Jpan"], **sections)
    for part in ("train", "valid"):
        (tmp_path / f"{part}.de").rename(tmp_path / f"{part}.jpn_Jpan")
    plan_training(load_config(config))
    messages = [message for message in caplog.messages if "tokenizer" in message]
    assert messages == [
        "scores into jpn_Jpan use the tokenizer 'char' in place of 'ja-mecab': "
        "not installed; pip install 'polyglot-nmt[ja]'"
    ]


def test_unknown_language_codes_are_reported_in_one_line(tmp_path, caplog):
    config = write_config(tmp_path, languages=["en", "l1", "l2"])
    for part in ("train", "valid"):
        (tmp_path / f"{part}.de").rename(tmp_path / f"{part}.l1")
        (tmp_path / f"{part}.fr").rename(tmp_path / f"{part}.l2")
    with caplog.at_level("INFO", logger="polyglot"):
        plan_training(load_config(config))
    [line] = [line for line in caplog.messages if "registry" in line]
    assert line == ("language codes: in no registry: l1, l2 (common rules for text and scores)")


def test_held_out_sentences_in_the_training_text_are_reported(tmp_path, caplog):
    write_corpus(tmp_path)
    settings = tiny_settings(tmp_path)
    settings["data"]["test"] = settings["data"]["train"]
    plan = plan_training(check_config(settings, where="tiny"))
    overlaps = {(overlap.part, overlap.language): overlap.share for overlap in plan.overlaps}
    assert overlaps[("test", "de")] == 1.0
    titles = [table.title for table in plan.tables()]
    assert "Held-out sentences in the training text, equal or nearly equal" in titles
    [message] = [text for text in caplog.messages if "also in the training text" in text]
    assert "data.test" in message and "`polyglot clean … --test FILE` removes them there" in message


def test_held_out_text_without_an_overlap(tmp_path, caplog):
    write_corpus(tmp_path)
    settings = tiny_settings(tmp_path)
    settings["data"]["valid"] = []
    settings["data"]["test"] = [{"type": "text", "path": "other.{language}"}]
    for language in settings["languages"]:
        (tmp_path / f"other.{language}").write_text("something else\n", encoding="utf-8")
    with caplog.at_level("INFO", logger="polyglot"):
        plan = plan_training(check_config(settings, where="tiny"))
    assert plan.overlaps == []
    assert "no validation or test sentence is in the training text" in caplog.messages
