"""`key+=value` appends to a list: of the file, of its schedule, or of the default."""

from __future__ import annotations

import pytest

from polyglot.config.loading import load_config
from polyglot.config.overrides import override_key
from polyglot.core.errors import ConfigError

CONFIG = """\
languages: [en, de, fr]
data: {train: [{type: text, path: "a.{language}"}]}
training: {steps: 10}
"""


@pytest.fixture
def load(tmp_path):
    path = tmp_path / "mine.yaml"

    def loaded(*overrides, more=""):
        path.write_text(CONFIG + more)
        return load_config(path, overrides)

    return loaded


def paths(corpora):
    return [corpus.path for corpus in corpora]


def test_a_corpus_is_appended(load):
    one = "data.train+={type: text, path: 'b.{language}'}"
    two = "data.train+=[{type: text, path: 'c.{language}'}, {type: text, path: 'd.{language}'}]"
    expected = [f"{name}.{{language}}" for name in "abcd"]
    assert paths(load(one, two).data.train) == expected
    assert paths(load(one).data.train) == expected[:2]


def test_a_key_that_the_file_does_not_have(load):
    config = load("data.valid+={type: text, path: 'b.{language}'}", "freeze+=bridge")
    assert paths(config.data.valid) == ["b.{language}"]
    assert config.freeze == ["bridge"]


def test_languages_and_steps_of_text(load):
    config = load("languages+=es", "text.steps+=lowercase", "text.steps+=tokenize")
    assert config.languages == ["en", "de", "fr", "es"]
    assert [step.type for step in config.text.steps] == ["lowercase", "tokenize"]


@pytest.mark.parametrize(
    ("more", "override", "key", "expected"),
    [
        ("", "schedule.pairs+=de-fr", "pairs", ["*-*", "de-fr"]),
        ("schedule: bilingual\n", "schedule.pairs+=fr-en", "pairs", ["de-en", "fr-en"]),
        ("schedule: {pairs: [de-en]}\n", "schedule.pairs+=fr-en", "pairs", ["de-en", "fr-en"]),
        ("schedule: leave_out_de_fr\n", "schedule.exclude+=en-fr", "exclude", None),
        ("", "schedule.copies+=[de, fr]", "copies", ["de", "fr"]),
        ("schedule: {copies: [de]}\n", "schedule.copies+=fr", "copies", ["de", "fr"]),
    ],
)
def test_lists_of_a_schedule(more, override, key, expected, load):
    before = getattr(load(more=more).schedule, key)
    after = getattr(load(override, more=more).schedule, key)
    if expected is None:
        expected = [*before, "en-fr"]
    assert after == expected


def test_a_list_after_another_schedule(load):
    config = load("schedule=bilingual", "schedule.pairs+=fr-en")
    assert config.schedule.pairs == ["de-en", "fr-en"]


def test_an_item_of_a_list_can_be_changed_after_it_was_appended(load):
    config = load("data.train+={type: text, path: x}", "data.train.1.path='b.{language}'")
    assert paths(config.data.train) == ["a.{language}", "b.{language}"]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "training.steps+=5",
            "training.steps: += appends to a list, and this is 10; write training.steps=…",
        ),
        (
            "training+={steps: 5}",
            "training: += appends to a list, and this is {steps: 10}; set its keys instead",
        ),
        ("run+=runs/x", "run: += appends to a list, and this key holds none; write run=…"),
        ("seed+=2", "seed: += appends to a list, and this key holds none; write seed=…"),
        ("data.train.0.path+=x", "+= appends to a list, and this is 'a.{language}'"),
        ("data.train.0+=x", "data.train.0: += appends to a list, and this is {path:"),
        ("data.train.7+=x", "data.train.7: '7' is no item of a list of 1; they count from 0"),
        ("data.train+=", "data.train: nothing to append; write an item or a list"),
        ("data.train+", "data.train: an override is written key=value"),
        ("data.train+=[1", "data.train: '[1': no valid YAML"),
        ("data.train+={type:", "no valid YAML; the shell divides it at the spaces, so put"),
        ("+=5", "'+=5': an override is written key=value"),
        ("data.trian+=[]", "data.trian: no key named 'trian'. Did you mean 'train'?"),
        ("data.train+=b.txt", "data.train.1.type: no type named 'b.txt'"),
        ("languages+=en", "languages: en named twice"),
        ("schedule.copies+=xx", "no language named 'xx'"),
    ],
)
def test_an_append_that_cannot_be_meant(override, message, load):
    with pytest.raises(ConfigError) as error:
        load(override)
    assert message in str(error.value), error.value


def test_copies_of_all_languages(load):
    with pytest.raises(
        ConfigError, match="schedule.copies: \\+= appends to a list, and this is tr"
    ):
        load("schedule.copies+=de", more="schedule: {copies: true}\n")


@pytest.mark.parametrize(
    ("override", "key"),
    [("a.b=c", "a.b"), ("a.b+=c", "a.b"), ("a.b", "a.b"), ("a=b+=c", "a"), ("a+b=c", "a+b")],
)
def test_the_key_of_an_override(override, key):
    assert override_key(override) == key
