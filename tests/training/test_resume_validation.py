"""A resumed run with other validation text or pairs starts its best value and patience anew."""

from __future__ import annotations

import json
import shutil

import pytest

from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.run import Run
from polyglot.training.resume import validation_warning
from polyglot.training.validation import Validator
from tests.builders.runs import make_trainer, sample_sentences, tiny_run

BLEU = "validation.bleu_pairs=[en-de]"
LATER = "since this checkpoint; patience counts from here"


@pytest.fixture(scope="module")
def trained_folder(tmp_path_factory):
    """Folder of a run of six updates with three validations, of which the second was the best."""
    folder = tmp_path_factory.mktemp("trained")
    run = tiny_run(folder, validation={"every": 2, "patience": 4})
    trainer = make_trainer(run, Validator(run))
    trainer.train()
    trainer.progress.best = {"step": 4, "by": "loss", "value": 2.5}
    trainer.progress.validations_since_best = 1
    trainer.state.save()
    write_other_text(folder)
    return folder


@pytest.fixture
def trained(trained_folder, tmp_path):
    """A copy of the run; its text stays where it is."""
    shutil.copytree(trained_folder / "run", tmp_path / "run")
    return Run.open(tmp_path / "run")


def write_other_text(folder):
    for language in ("en", "de", "fr"):
        text = "".join(f"{line}\n" for line in sample_sentences(language, seed=9, lines=10))
        (folder / f"other.{language}").write_text(text, encoding="utf-8")
        valid = (folder / f"valid.{language}").read_bytes()
        (folder / f"copy.{language}").write_bytes(valid)


def resumed(run, caplog, *overrides):
    """Progress and warnings of the resumed run."""
    caplog.clear()
    run = Run.open_with_overrides(run.path, ["training.steps=12", *overrides])
    progress = make_trainer(run, Validator(run)).progress
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    return progress, warnings


def corpus(name):
    return f"data.valid=[{{type: text, path: '{name}.{{language}}'}}]"


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        [corpus("copy")],  # the same sentences in another file
        ["validation.every=3", "validation.patience=9"],
        [BLEU],  # it does not decide which checkpoint is best
        ["validation.sentences=400"],  # all sentences, as before
    ],
)
def test_the_same_validation_continues(overrides, trained, caplog):
    progress, warnings = resumed(trained, caplog, *overrides)
    assert progress.best == {"step": 4, "by": "loss", "value": 2.5}
    assert progress.validations_since_best == 1
    assert warnings == []


@pytest.mark.parametrize(
    ("overrides", "change"),
    [
        (
            [corpus("other")],
            "the validation text of en-de, en-fr, de-en, fr-en has changed",
        ),
        (
            ["validation.sentences=5"],
            "the validation text of en-de, en-fr, de-en, fr-en has changed",
        ),
        (["validation.tasks=2"], "the validation is without "),
        (
            [BLEU, "validation.best_by=bleu"],
            "validation.best_by was loss and is bleu",
        ),
    ],
)
def test_another_validation_starts_anew_and_says_so(overrides, change, trained, caplog):
    progress, warnings = resumed(trained, caplog, *overrides)
    assert progress.best is None
    assert progress.validations_since_best == 0
    [warning] = warnings
    assert change in warning
    assert f"{LATER}, and new results are not compared with loss 2.500 of step 4" in warning


def test_added_and_removed_bleu_pairs_start_anew(tmp_path, caplog):
    validation = {"every": 2, "best_by": "bleu", "bleu_pairs": ["en-de"], "patience": 2}
    run = tiny_run(tmp_path, validation=validation)
    trainer = make_trainer(run, Validator(run))
    trainer.train()
    assert trainer.progress.best["by"] == "bleu"

    progress, [warning] = resumed(run, caplog, "validation.bleu_pairs=[en-fr]")
    assert "the validation has new pairs: en-fr and the validation is without en-de" in warning
    assert progress.best is None


def test_training_goes_on_where_patience_had_stopped_it(trained, caplog):
    trainer = make_trainer(trained, Validator(trained))
    trainer.progress.validations_since_best = 4
    trainer.progress.step += 1
    trainer.state.save()

    run = Run.open_with_overrides(trained.path, ["training.steps=12"])
    same = make_trainer(run, Validator(run))
    same.train()
    assert same.progress.step == 7

    run = Run.open_with_overrides(trained.path, ["training.steps=12", corpus("other")])
    other = make_trainer(run, Validator(run))
    other.train()
    assert other.progress.step == 12
    assert other.progress.best["step"] > 7
    assert checkpoints.best_step(run.checkpoints) == other.progress.best["step"]


def test_an_older_checkpoint_keeps_its_best_value(trained, caplog):
    [checkpoint] = checkpoints.choose(trained.checkpoints, "last")
    file = checkpoint.path / checkpoints.STATE
    state = json.loads(file.read_text())
    assert sorted(state["validation"]["texts"]) == ["de-en", "en-de", "en-fr", "fr-en"]
    progress = {"best": {"step": 4, "by": "loss", "value": 2.5}}
    other = {"by": "loss", "texts": {"en-de": "0"}}
    assert validation_warning(progress, state.get("absent"), other) is None
    assert validation_warning(progress, other, None) is None, "no validation text any more"


def test_without_a_best_value_only_patience_starts_anew():
    old = {"by": "loss", "texts": {"en-de": "0"}}
    new = {"by": "loss", "texts": {"en-de": "1"}}
    sentence = validation_warning({"best": None}, old, new)
    assert sentence == f"the validation text of en-de has changed {LATER}"
