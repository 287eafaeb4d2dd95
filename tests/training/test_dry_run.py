"""A dry run says what training would do, without doing it."""

from __future__ import annotations

from io import StringIO

import pytest
import torch
from rich.console import Console

from polyglot.config.loading import check_config, load_config
from polyglot.core.errors import ConfigError, DataError
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
def test_it_counts_the_parameters_of_the_model_that_is_built(sections, tmp_path):
    write_corpus(tmp_path)
    planned = plan_training(check_config(tiny_settings(tmp_path, **sections), where="tiny"))
    trainer = make_trainer(tiny_run(tmp_path, **sections))
    built = {
        name: sum(parameter.numel() for parameter in own.values())
        for name, own in trainer.parameters.items()
    }
    assert planned.parameters == built
    assert sum(built.values()) == sum(parameter.numel() for parameter in trainer.model.parameters())
    assert planned.memory()["parameters"] == 4 * sum(built.values())
    assert {name: len(stream.dataset) for name, stream in trainer.streams.items()} == {
        name: len(each) for name, each in planned.datasets.items()
    }
    assert planned.vocabulary_sizes == {
        language: len(vocabulary) for language, vocabulary in trainer.run.vocabularies.items()
    }


def test_it_shows_tasks_vocabularies_components_and_memory(tmp_path):
    planned = plan_training(load_config(write_config(tmp_path, schedule={"copies": ["de"]})))
    text = StringIO()
    Console(file=text, width=100).print(*planned.tables())
    shown = text.getvalue()
    for task in ("en-de", "de-en", "en-fr", "fr-en", "de-de"):
        assert task in shown and planned.datasets[task] is not None
    for component in ("encoder.en", "bridge", "decoder.fr"):
        assert f"{planned.parameters[component]:,}" in shown
    assert str(LINES) in shown and f"{sum(planned.parameters.values()):,}" in shown
    memory = planned.memory()
    assert (
        all(size > 0 for size in memory.values())
        and memory.keys()
        == describe_memory(planned.config, tasks_with_gradients=planned.placement.tasks_with_gradients).keys()
    )
    assert (
        f"{sum(memory.values()) / 2**20:,.0f}"
        in shown.split("Memory of training")[1].split("│ all ")[1].splitlines()[0]
    )
    assert all(
        words in shown
        for words in describe_memory(
            planned.config, tasks_with_gradients=planned.placement.tasks_with_gradients
        ).values()
    )


@pytest.mark.parametrize(
    ("optimizer", "kept", "words"),
    [
        ("adam", 2, "up to 2 numbers of adam"),
        ("sgd", 0, "nothing: sgd"),
        ({"type": "sgd", "momentum": 0.5}, 1, "1 number of sgd"),
        ("muon", 2, "up to 2 numbers of muon"),
    ],
)
def test_memory_of_optimizers(optimizer, kept, words, tmp_path):
    planned = plan_training(load_config(write_config(tmp_path, optimizer=optimizer)))
    assert planned.memory()["optimizer"] == 4 * kept * sum(planned.parameters.values())
    assert describe_memory(planned.config, tasks_with_gradients=planned.placement.tasks_with_gradients)[
        "optimizer"
    ].startswith(words)


def test_it_leaves_no_run_behind(tmp_path):
    config = write_config(tmp_path)
    before = sorted(tmp_path.iterdir())
    plan_training(load_config(config))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_what_this_machine_does_not_have_is_a_sentence(tmp_path, monkeypatch):
    config = write_config(tmp_path)
    monkeypatch.setattr(preflight, "get_available_trackers", lambda: [])
    for override, sentence in (
        (
            "training.precision=fp16",
            "training.precision: 'fp16' cannot be had on this machine's cpu; use 'no' or another",
        ),
        (
            "training.trackers=[tensorboard]",
            "training.trackers: tensorboard not installed; for tensorboard, pip install",
        ),
    ):
        with pytest.raises(ConfigError, match=sentence):
            plan_training(load_config(config, [override]))
        with pytest.raises(ConfigError, match=sentence):
            build.build_trainer(
                Run.create(load_config(config, [override, f"run={tmp_path / override}"])),
                lambda model: None,
            )


def test_it_finds_what_is_wrong_with_any_text(tmp_path):
    config = write_config(tmp_path)
    for language in WORDS:
        (tmp_path / f"valid.{language}").unlink()
    with pytest.raises(DataError, match="valid.{language}: nothing for any of en, de, fr"):
        plan_training(load_config(config))


@pytest.mark.parametrize("part", ["valid", "test"])
def test_held_out_text_may_lack_languages_as_a_run_may(part, tmp_path):
    """What trains is not refused; what is there is read, as a run would."""
    settings = {"data": {part: [{"type": "text", "path": "valid.{language}"}]}}
    config = load_config(write_config(tmp_path, **settings))
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


def test_bleu_that_chooses_the_best_needs_text(tmp_path):
    config = load_config(
        write_config(tmp_path, validation={"best_by": "bleu", "bleu_pairs": ["en-fr"]})
    )
    plan_training(config)
    (tmp_path / "valid.fr").unlink()
    with pytest.raises(DataError, match="valid.fr: no such file"):
        plan_training(config)
    run = Run.create(config)
    with pytest.raises(DataError, match="valid.fr: no such file"):
        make_trainer(run, Validator(run))


def test_many_processes_are_shown_by_the_smallest_and_the_largest(tmp_path):
    config = load_config(write_config(tmp_path, schedule={"copies": ["de"]}))
    divided = load_config(tmp_path / "tiny.yaml", ["parallel.placement=partitioned"])

    def shown(config, number):
        [table] = [one for one in plan_training(config, number).tables() if one.title == "Processes"]
        return list(zip(*(column.cells for column in table.columns)))

    assert [row[0] for row in shown(config, 3)] == ["0", "1", "2"]
    assert [row[0] for row in shown(config, 100)] == ["each of 100"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("polyglot.training.dry_run.MAX_LISTED_PROCESSES", 1)
        each = shown(divided, 2)
    assert [row[:2] for row in each] == [("1, the smallest of 2", "2"), ("0, the largest", "3")]
