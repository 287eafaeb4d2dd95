"""A new language does not change the translations between the other languages."""

from __future__ import annotations

import pytest
import torch

from polyglot.core.errors import ConfigError
from polyglot.inference.translator import Translator
from polyglot.runs import checkpoint as checkpoints
from polyglot.runs.add_language import config_with_language
from polyglot.runs.run import Run
from tests.builders.runs import sample_sentences, tiny_run, train


def translations(run, pairs):
    """Exact texts and scores."""
    translator = Translator.load(run.path)
    hypotheses = {}
    for source, target in pairs:
        lines = sample_sentences(source, seed=7, lines=6)
        hypotheses[source, target] = translator.hypotheses(
            lines, source=source, target=target, beam=3
        )
    german = sample_sentences("de", seed=7, lines=6)
    english = sample_sentences("en", seed=7, lines=6)
    scores = translator.score(german, english, source="de", target="en")
    return hypotheses, scores


def changed_components(before, after):
    """Names of the components of a run that differ in the new run."""
    (old,) = checkpoints.choose(before.checkpoints, "last")
    (new,) = checkpoints.choose(after.checkpoints, "last")
    changed = set()
    for component in old.components:
        tensors = new.component(component)
        for name, tensor in old.component(component).items():
            if not torch.equal(tensor, tensors[name]):
                changed.add(component)
    return changed


@pytest.fixture(scope="module")
def with_french(english_german):
    config = config_with_language(
        english_german, "fr", ["training.steps=4"], partners=["en"], checkpoint="last"
    )
    run = Run.create(config)
    train(run)
    return run


def test_old_translations_do_not_change(english_german, with_french):
    pairs = [("en", "de"), ("de", "en"), ("en", "en"), ("de", "de")]
    assert translations(with_french, pairs) == translations(english_german, pairs)
    assert changed_components(english_german, with_french) == set()


def test_the_new_language_has_its_own_components(english_german, with_french):
    (old,) = checkpoints.choose(english_german.checkpoints, "last")
    (new,) = checkpoints.choose(with_french.checkpoints, "last")
    assert set(new.components) - set(old.components) == {"encoder.fr", "decoder.fr"}
    assert with_french.path == english_german.path.with_name("run-fr")


def test_the_new_language_trains_with_its_partners_and_itself(with_french):
    config = with_french.config
    assert [task.name for task in config.tasks] == ["fr-en", "en-fr", "fr-fr"]
    pairs = {"en-de", "de-en", "en-en", "de-de", "en-fr", "fr-en", "fr-fr"}
    assert set(map(str, config.pairs)) == pairs


def test_the_new_language_translates_zero_shot(with_french):
    translations = Translator.load(with_french.path).translate(
        ["un deux"], source="fr", target="de"
    )
    assert translations != [""]


def test_without_partners_the_new_language_trains_with_all(english_german):
    config = config_with_language(english_german, "fr")
    names = {task.name for task in config.tasks}
    assert names == {"fr-en", "fr-de", "en-fr", "de-fr", "fr-fr"}


def test_partners_train_only_the_directions_that_they_have(tmp_path):
    run = tiny_run(tmp_path, languages=["en", "de"], schedule={"pairs": ["de-en"]})
    config = config_with_language(run, "fr")
    assert {task.name for task in config.tasks} == {"fr-en", "de-fr"}


def test_components_start_from_the_chosen_checkpoint(english_german):
    config = config_with_language(
        english_german, "fr", ["initialize.bridge.checkpoint=1"], checkpoint="average:2"
    )
    assert config.initialize["bridge"].checkpoint == 1
    assert config.initialize["encoder.de"].checkpoint == "average:2"
    assert config.initialize["encoder.de"].run == str(english_german.path)


def test_free_components_are_trained(english_german):
    config = config_with_language(
        english_german,
        "fr",
        ["training.steps=12", f"run={english_german.path}-free"],
        free=["bridge", "decoder.*"],
    )
    run = Run.create(config)
    train(run)
    changed = {"bridge", "decoder.de", "decoder.en"}
    assert changed_components(english_german, run) == changed


def test_a_new_language_does_not_join_languages_that_share_everything(tmp_path):
    run = tiny_run(
        tmp_path,
        languages=["en", "de"],
        sharing="all",
        schedule={"pairs": ["*-*"]},
        training={"steps": 2},
    )
    train(run)
    new = Run.create(config_with_language(run, "fr", ["training.steps=2"]))
    train(new)
    assert translations(new, [("de", "en")]) == translations(run, [("de", "en")])
    components = {"encoder.fr", "decoder.fr", "encoder.all", "decoder.all"}
    assert components.issubset(new.config.components)


@pytest.mark.parametrize(
    ("language", "settings", "message"),
    [
        ("de", {}, "has de already"),
        ("fr", {"partners": ["nl"]}, "no language named 'nl'. Known: de, en"),
        ("fr", {"free": ["encoder.nl"]}, "no component named 'encoder.nl'"),
        ("f-r", {}, "'f-r' is no language code"),
    ],
)
def test_invalid_arguments_are_an_error(english_german, language, settings, message):
    with pytest.raises(ConfigError, match=message):
        config_with_language(english_german, language, **settings)
