"""Settings without effect beside the others: refused where a user wrote them, else left alone."""

from __future__ import annotations

import pytest
import yaml

from polyglot.config.loading import load_config
from polyglot.config.unused import reported_settings
from polyglot.core.errors import ConfigError
from polyglot.runs.run import Run
from tests.builders.runs import tiny_run, tiny_settings

REFUSED = [
    (
        {"model": {"options": {"encoder": [{"type": "roles", "temperature": {"start": 3.0}}]}}},
        "model.options.encoder.0.temperature: no effect: needs assignment 'onehot', "
        "found 'softmax'; leave it out",
    ),
    (
        {"model": {"options": {"decoder": [{"type": "roles", "width": 5}]}}},
        "model.options.decoder.0.width: no effect: needs context 'cnn', found 'lstm'; leave it out",
    ),
    (
        {
            "model": {
                "options": {"encoder": [{"type": "latent_graph", "edges": "none", "head_size": 8}]}
            }
        },
        "model.options.encoder.0.head_size: no effect: needs edges 'latent', found 'none'; "
        "leave it out",
    ),
    (
        {
            "model": {
                "options": {
                    "encoder": [{"type": "roles", "combination": "additive", "residual": False}]
                }
            }
        },
        "model.options.encoder.0.residual: 'additive' adds the roles to the word, "
        "so it needs residual: true; leave it out",
    ),
    (
        {"model": {"languages": {"de": {"encoder": {"type": "cnn", "longest": 100}}}}},
        "model.languages.de.encoder.longest: no effect: needs positions 'learned', "
        "found 'sinusoidal'; leave it out",
    ),
    (
        {"model": {"options": {"encoder": [{"type": "roles", "target_context": "before_word"}]}}},
        "model.options.encoder.0.target_context: no effect in an encoder, only in a decoder; "
        "leave it out",
    ),
    (
        {
            "model": {
                "options": {"encoder": [{"type": "state_roles", "target_context": "before_word"}]}
            }
        },
        "model.options.encoder.0.target_context: no effect in an encoder, only in a decoder; "
        "leave it out",
    ),
    (
        {
            "model": {
                "options": {
                    "encoder": [{"type": "context_gate", "hidden_size": 5}],
                    "decoder": [{"type": "context_gate", "hidden_size": 5}],
                }
            }
        },
        "model.options.decoder.0.hidden_size: no effect: needs context 'network' or 'source', "
        "found 'rows'; leave it out",
    ),
    (
        {"model": {"encoder": {"layers": 1, "dropout": 0.5, "states_dropout": 0.1}}},
        "model.encoder.dropout: no effect: a single layer has no dropout between layers, and "
        "states_dropout replaces it on the states; leave it out",
    ),
    (
        {"model": {"encoder": {"type": "onmt_rnn", "layers": 1, "dropout": 0.5}}},
        "model.encoder.dropout: no effect: a single layer has no dropout between layers; "
        "leave it out",
    ),
    (
        {"vocabulary": {"type": "word", "byte_fallback": False}},
        "vocabulary.byte_fallback: no effect: needs type 'unigram' or 'bpe', found 'word'; "
        "leave it out",
    ),
    (
        {"schedule": {"copy_noise": {"drop": 0.1}}},
        "schedule.copy_noise: no effect: needs copies, found none; leave it out",
    ),
    (
        {"search": {"select_by": "shortlist"}},
        "search.select_by: no effect: needs a number in select (vocabulary selection), found null; "
        "leave it out",
    ),
    (
        {"search": {"length_penalty": 0.0, "length_normalisation": "gnmt"}},
        "search.length_normalisation: no effect: needs a length_penalty above 0, found 0; "
        "leave it out",
    ),
    (
        {"model": {"bridge": {"type": "none"}}, "losses": {"bridge": {"weight": 0.5}}},
        "losses.bridge.weight: no effect: needs a bridge with attention weights, found 'none'; "
        "leave it out",
    ),
    (
        {"losses": {"initial_words": {"weight": 0.5}}},
        "losses.initial_words.weight: no effect: needs a decoder with word_prediction that "
        "predicts more than 'states'; leave it out",
    ),
]


@pytest.fixture
def load(tmp_path):
    def loaded(sections, *overrides):
        file = tmp_path / "mine.yaml"
        settings = tiny_settings(tmp_path, **sections)
        file.write_text(yaml.safe_dump(settings), encoding="utf-8")
        return load_config(file, overrides)

    return loaded


@pytest.mark.parametrize(("sections", "message"), REFUSED)
def test_a_written_setting_without_effect_is_refused(load, sections, message):
    with pytest.raises(ConfigError) as error:
        load(sections)
    assert [str(problem) for problem in error.value.problems] == [message]


def test_a_setting_from_the_command_line_is_refused_too(load):
    options = {"model": {"options": {"encoder": ["roles"]}}}
    with pytest.raises(ConfigError, match=r"encoder\.0\.width: no effect"):
        load(options, "model.options.encoder.0={type: roles, width: 5}")


def test_an_override_may_take_away_the_use_of_a_setting_of_the_file(load):
    graph = {"type": "latent_graph", "head_size": 8}
    config = load(
        {"model": {"options": {"encoder": [graph]}}},
        "model.options.encoder.0.edges=none",
    )
    assert reported_settings(config) == [
        "model.options.encoder.0.head_size: no effect: needs edges 'latent', found 'none'"
    ]


@pytest.mark.parametrize("override", ["layers=1", "states_dropout=0"])
def test_one_of_two_causes_may_be_an_override(load, override):
    """Dropout between layers needs two layers, or the same dropout on the states."""
    encoder = {"layers": 1, "dropout": 0.5}
    if override == "layers=1":
        encoder = {"layers": 2, "dropout": 0.5, "states_dropout": 0.0}
    config = load({"model": {"encoder": encoder}}, f"model.encoder.{override}")
    [message] = reported_settings(config)
    assert message.startswith("model.encoder.dropout: no effect")


def test_an_override_may_take_away_the_use_of_an_earlier_one_only(load):
    option = {"model": {"options": {"encoder": ["latent_graph"]}}}
    overrides = ["model.options.encoder.0={type: latent_graph, head_size: 8}"]
    overrides.append("model.options.encoder.0.edges=none")
    load(option, *overrides)
    with pytest.raises(ConfigError, match=r"encoder\.0\.head_size: no effect"):
        load(option, *overrides, "model.options.encoder.0.head_size=9")


def test_defaults_of_a_run_directory_are_not_written_by_the_user(tmp_path):
    options = {"encoder": [{"type": "roles", "roles": 2, "context_size": 4, "width": 9}]}
    run = tiny_run(tmp_path, model={"options": options})
    config_file = run.path / "config.yaml"
    assert "width: 9" in config_file.read_text(encoding="utf-8")
    (run.path / "vocabulary").mkdir(exist_ok=True)

    load_config(config_file, ["training.steps=7"])
    Run.open(run.path)
    with pytest.raises(ConfigError, match=r"encoder\.0\.width: no effect"):
        load_config(config_file, ["model.options.encoder.0.width=5"])


def test_a_common_setting_may_have_its_effect_for_one_language(load):
    sections = {
        "model": {
            "encoder": {"type": "cnn", "longest": 100},
            "languages": {"de": {"encoder": {"positions": "learned"}}},
        }
    }
    assert load(sections).model.for_language("de").encoder.longest == 100


def test_a_default_may_be_written_in_full(load):
    config = load({"model": {"options": {"encoder": [{"type": "roles", "width": 7}]}}})
    assert reported_settings(config) == []
