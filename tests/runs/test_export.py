"""Runs made of runs: a new language changes no old translation, a mean is one, and a part is all that another run needs."""

from __future__ import annotations

import pytest
import torch

from polyglot.core.errors import CheckpointError, ConfigError
from polyglot.inference.translator import Translator
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.add_language import config_with_language
from polyglot.runs.export import export
from polyglot.runs.run import Run
from tests.builders.runs import WORDS, make_trainer, sample_sentences, tiny_run, train


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """English and German, both ways, with checkpoints of three steps."""
    run = tiny_run(
        tmp_path_factory.mktemp("derive"),
        languages=["en", "de"],
        schedule={"pairs": ["*-*"], "copies": True},
        training={"steps": 3, "checkpoint": {"every": 1}},
    )
    train(run)
    return run


def translations(run, pairs):
    """Texts and scores, to the bit."""
    translator = Translator.load(run.path)
    text = {language: sample_sentences(language, seed=7, lines=6) for language in WORDS}
    found = {
        pair: translator.hypotheses(text[pair[0]], source=pair[0], target=pair[1], beam=3)
        for pair in pairs
    }
    return found, translator.score(text["de"], text["en"], source="de", target="en")


def test_a_new_language_changes_no_old_translation(run):
    added = Run.create(config_with_language(run, "fr", ["training.steps=4"], partners=["en"]))
    train(added)
    old = [("en", "de"), ("de", "en"), ("en", "en"), ("de", "de")]
    assert translations(added, old) == translations(run, old)
    before, after = (
        checkpoints.choose(run.checkpoints, "last")[0],
        checkpoints.choose(added.checkpoints, "last")[0],
    )
    for name in before.components:
        assert all(
            torch.equal(value, after.component(name)[key])
            for key, value in before.component(name).items()
        ), name
    assert set(after.components) - set(before.components) == {"encoder.fr", "decoder.fr"}
    assert [task.name for task in added.config.tasks] == ["fr-en", "en-fr", "fr-fr"]
    assert set(map(str, added.config.pairs)) == {
        "en-de",
        "de-en",
        "en-en",
        "de-de",
        "en-fr",
        "fr-en",
        "fr-fr",
    }
    assert Translator.load(added.path).translate(["un deux"], source="fr", target="de") != [
        ""
    ]  # zero-shot: they never met
    assert added.path == run.path.with_name("run-fr")


def test_what_is_free_learns_as_well(run):
    added = Run.create(
        config_with_language(
            run, "fr", ["training.steps=12", f"run={run.path}-free"], free=["bridge", "decoder.*"]
        )
    )
    train(added)
    before, after = (
        checkpoints.choose(run.checkpoints, "last")[0],
        checkpoints.choose(added.checkpoints, "last")[0],
    )
    moved = {
        name
        for name in before.components
        if any(
            not torch.equal(one, after.component(name)[key])
            for key, one in before.component(name).items()
        )
    }
    assert moved == {"bridge", "decoder.de", "decoder.en"}


def test_a_new_language_beside_those_that_share_everything(tmp_path):
    run = tiny_run(
        tmp_path,
        languages=["en", "de"],
        sharing="all",
        schedule={"pairs": ["*-*"]},
        training={"steps": 2},
    )
    train(run)
    added = Run.create(config_with_language(run, "fr", ["training.steps=2"]))
    train(added)
    assert translations(added, [("de", "en")]) == translations(run, [("de", "en")])
    assert {"encoder.fr", "decoder.fr", "encoder.all", "decoder.all"} <= set(
        added.config.components
    )


@pytest.mark.parametrize(
    ("language", "given", "sentence"),
    [
        ("de", {}, "has de already"),
        ("fr", {"partners": ["nl"]}, "no language named 'nl'. Known: de, en"),
        ("fr", {"free": ["encoder.nl"]}, "no component named 'encoder.nl'"),
        ("f-r", {}, "'f-r' is no language code"),
    ],
)
def test_what_cannot_be_added_is_said(run, language, given, sentence):
    with pytest.raises(ConfigError, match=sentence):
        config_with_language(run, language, **given)


def test_the_mean_is_a_run_that_translates_as_averaging_on_the_fly_does(run, tmp_path):
    mean, taken = export(run, tmp_path / "mean", checkpoint="average:3")
    assert taken == ["bridge", "decoder.de", "decoder.en", "encoder.de", "encoder.en"]
    text = {"source": "de", "target": "en"}
    on_the_fly = Translator.load(run, checkpoint="average:3").hypotheses(["ein Hund singt"], **text)
    assert Translator.load(mean.path).hypotheses(["ein Hund singt"], **text) == on_the_fly
    assert mean.choose_checkpoints("last")[0].training_state() == {
        "taken_from": {"run": "run", "steps": [1, 2, 3]}
    }
    with pytest.raises(
        CheckpointError,
        match="was taken out of another run and has no training state to resume; start a new run with `initialize`",
    ):
        make_trainer(Run.open(mean.path))


def test_a_part_has_its_vocabulary_and_can_be_started_from(run, tmp_path):
    part, taken = export(run, tmp_path / "part", checkpoint="last", components=["encoder.de"])
    assert taken == ["encoder.de"] == part.choose_checkpoints("best")[0].components
    assert [path.name for path in (part.path / "vocabulary").iterdir()] == ["de.model"]
    started = make_trainer(tiny_run(tmp_path, "started", initialize={"encoder.de": str(part.path)}))
    tensors = checkpoints.choose(run.checkpoints, "last")[0].component("encoder.de")
    assert all(
        torch.equal(tensors[key], one) for key, one in started.parameters["encoder.de"].items()
    )
    with pytest.raises(
        CheckpointError,
        match="en.model: this vocabulary is missing, so en cannot be translated",
    ):
        Translator.load(part.path)


def test_a_part_that_is_not_there_leaves_nothing_behind(run, tmp_path):
    with pytest.raises(
        ConfigError, match="no component named 'encoder.nl'. Did you mean 'encoder.en'"
    ):
        export(run, tmp_path / "none", checkpoint="best", components=["encoder.nl"])
    assert not (tmp_path / "none").exists()
